"""The headline, the ranking of methods, and a table a dataset as papers print it."""

import json
from collections.abc import Iterator, Sequence

from tasks.reporting.document import Column, Record, Section, Table
from tasks.reporting.figures import draw_ranking
from tasks.reporting.scope import Scope, identifier, literal, slugged

_RANKING = """SELECT
    dataset, backbone, rank() OVER (PARTITION BY dataset, backbone, basis ORDER BY wg DESC) AS place,
    method, variant, wg, wg_low, wg_high, avg, avg_low, avg_high, gap,
    over_zero_shot, over_zero_shot_low, over_zero_shot_high, over_tie, over_tie_low, over_tie_high,
    avg_adjusted, seeds, differs, notes
FROM leaderboard
WHERE {where}
ORDER BY dataset, backbone, differs IS NOT NULL, place, method, variant"""

_COLUMNS = (
    Column("dataset", "Dataset"),
    Column("backbone", "Backbone"),
    Column("place", "#", "count", hint="Place by worst-group accuracy"),
    Column("method", "Method"),
    Column("wg", "WG ↑", "percent", "highest", ("wg_low", "wg_high"), hint="Accuracy of the worst group, in percent"),
    Column("avg", "Avg ↑", "percent", "highest", ("avg_low", "avg_high"), hint="Share of test samples that are right"),
    Column("gap", "Gap ↓", "percent", "lowest", hint="Avg minus WG"),
    Column(
        "over_zero_shot",
        "WG over zero-shot",
        "points",
        interval=("over_zero_shot_low", "over_zero_shot_high"),
        hint="Points, with a 95 % interval paired by sample",
    ),
    Column(
        "over_tie",
        "WG over TIE",
        "points",
        interval=("over_tie_low", "over_tie_high"),
        hint="Points, with a 95 % interval paired by sample",
    ),
)
_VARIANT = Column("variant", "Settings")
_DIFFERS = Column("differs", "Rests on other", hint="In what it rests on something else than the newest result")


def ranking(scope: Scope) -> list[Record]:
    """Return the methods ranked, with each dataset's own settings or, where there are none, with those there are."""
    return scope.ask(_ranking_sql(scope))


def results_section(scope: Scope, ranked: Sequence[Record]) -> Section:
    """Return the ranking, drawn and as tables."""
    if not ranked:
        return Section("results", "Results", remark="No result is there yet. `dat run` computes them.")
    columns = [*_COLUMNS]
    if any(row["variant"] for row in ranked):
        columns.insert(4, _VARIANT)
    if any(row["differs"] for row in ranked):
        columns.append(_DIFFERS)
    whole = scope.table(
        "ranking",
        "All methods",
        _ranking_sql(scope),
        columns,
        caption="Below each figure its 95 % bootstrap interval. Bold is best, underlined second best, for each dataset "
        "and backbone. Differences are paired: both methods are resampled on the same samples.",
        within=("dataset", "backbone", "differs"),
    )
    papers = [_as_printed(scope, dataset, ranked) for dataset in sorted({str(row["dataset"]) for row in ranked})]
    notes = list(_remarks(ranked))
    return Section(
        "results",
        "Results",
        text=notes,
        tables=[*papers, whole],
        figures=[draw_ranking(*pair, [row for row in ranked if _pair(row) == pair]) for pair in _pairs(ranked)],
    )


def headline(ranked: Sequence[Record]) -> list[str]:
    """Return who wins on the worst group, by how much, and how sure that is, a sentence a dataset and backbone."""
    return [_sentence(pair, [row for row in ranked if _pair(row) == pair]) for pair in _pairs(ranked)]


def _sentence(pair: tuple[str, str], rows: Sequence[Record]) -> str:
    newest = [row for row in rows if row["differs"] is None]
    best = [row for row in newest if row["place"] == 1]
    names = " and ".join(_name(row) for row in best)
    first = best[0]
    verb = "wins" if len(best) == 1 else "share the lead"
    parts = [f"On {pair[0]} × {pair[1]}, {names} {verb} with {first['wg']:.2f} % on the worst group"]
    if first["wg_low"] is not None:
        parts[0] += f" (95 % interval {first['wg_low']:.1f} to {first['wg_high']:.1f})"
    if first["over_zero_shot_low"] is not None:
        low, high = first["over_zero_shot_low"], first["over_zero_shot_high"]
        sure = "which leaves out 0" if low > 0 or high < 0 else "which does not leave out 0"
        parts.append(
            f"that is {first['over_zero_shot']:+.1f} points over zero-shot "
            f"(paired 95 % interval {low:+.1f} to {high:+.1f}, {sure})"
        )
    others = [row for row in newest if row["place"] > 1]
    if others and first["wg_low"] is not None:
        second = others[0]
        apart = "do not overlap" if second["wg_high"] < first["wg_low"] else "overlap, so their order is not sure"
        parts.append(f"the runner-up is {_name(second)} with {second['wg']:.2f} %, and their intervals {apart}")
    return "; ".join(parts) + "."


def _as_printed(scope: Scope, dataset: str, ranked: Sequence[Record]) -> Table:
    """Return methods down and backbones across, with worst group, average and gap, as the paper sets it."""
    rows = [row for row in ranked if row["dataset"] == dataset and row["differs"] is None]
    backbones = sorted({str(row["backbone"]) for row in rows})
    figures = (("wg", "WG ↑", "highest"), ("avg", "Avg ↑", "highest"), ("gap", "Gap ↓", "lowest"))
    chosen, columns = [], [Column("method", "Method")]
    if any(row["variant"] for row in rows):
        columns.append(_VARIANT)
    for backbone in backbones:
        for figure, title, best in figures:
            name = f"{backbone} {figure}"
            chosen.append(f"any_value({figure}) FILTER (backbone = {literal(backbone)}) AS {identifier(name)}")
            columns.append(Column(name, f"{backbone} {title}", "percent", best))  # type: ignore[arg-type]
    sql = (
        "SELECT method, variant,\n    "
        + ",\n    ".join(chosen)
        + f"\nFROM leaderboard\nWHERE {_condition(scope)} AND dataset = {literal(dataset)} AND differs IS NULL\n"
        f"GROUP BY method, variant\nORDER BY max(wg) DESC, method, variant"
    )
    title = f"{dataset}, method by backbone" if len(backbones) > 1 else f"{dataset}, as in a paper"
    return scope.table(slugged("results", dataset), title, sql, columns, caption=f"Accuracy on {dataset}, in percent.")


def _condition(scope: Scope) -> str:
    """Return the condition for main settings; where a request has only variants, for those."""
    has_main = any(not result[3] for result in scope.results)
    return scope.where(variants=False) if has_main else scope.where()


def _ranking_sql(scope: Scope) -> str:
    return _RANKING.format(where=_condition(scope))


def _remarks(ranked: Sequence[Record]) -> Iterator[str]:
    """Say what must be known beside the numbers."""
    for row in ranked:
        notes = json.loads(row["notes"] or "{}")
        who = f"{_name(row)} on {row['dataset']} × {row['backbone']}"
        if dropped := notes.get("dropped_groups"):
            yield f"{who}: {len(dropped)} groups were dropped for lack of references."
        if notes.get("negative_similarity_share", 0) >= 0.001:
            share = 100 * notes["negative_similarity_share"]
            yield f"{who}: {share:.1f} % of similarities are negative, where the quotient reverses its meaning."
        if without := notes.get("samples_without_embedding"):
            counts = ", ".join(f"{count} of {split}" for split, count in without.items())
            yield f"{who}: samples left out because their images could not be read: {counts}."
        if tested := notes.get("queries_among_references"):
            yield f"{who}: {tested} test samples are references themselves."
        if known := notes.get("test_samples_in_pool"):
            yield f"{who}: {known} test samples are among the images it may learn from."
    if any(row["differs"] for row in ranked):
        yield "Some rows rest on other data or weights than the newest result: they are ranked apart."


def _pairs(ranked: Sequence[Record]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(map(_pair, ranked)))


def _pair(row: Record) -> tuple[str, str]:
    return str(row["dataset"]), str(row["backbone"])


def _name(row: Record) -> str:
    return f"{row['method']} ({row['variant']})" if row["variant"] else str(row["method"])
