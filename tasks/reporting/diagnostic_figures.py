"""The paper's diagnostic figures, redrawn from our tables: shell, tangent distances, triptych and margins."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tasks.reporting.contact_sheets import contact_sheets
from tasks.reporting.document import Figure, Record
from tasks.reporting.figures import ACCENT, QUIET, SERIES, draw, legend_above, shortened
from tasks.reporting.scope import Scope, literal, slugged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 4000
_MOST_PAIRS = 6
_ENOUGH = 50
"""Values that make a histogram; fewer are drawn one by one."""


def diagnostic_figures(scope: Scope) -> Iterator[Figure]:
    """Yield, for some datasets and backbones, the figures whose tables are there."""
    for dataset, backbone in scope.pairs[:_MOST_PAIRS]:
        where = f"dataset = {literal(dataset)} AND backbone = {literal(backbone)} AND variant = '' AND seed = 0"
        title, slug = f"{dataset} × {backbone}", slugged(dataset, backbone)
        yield from _shell(scope, where, title, slug)
        yield from _prompt_distances(scope, where, title, slug)
        yield from _triptych(scope, where, title, slug)
        yield from _margins(scope, where, title, slug)
        yield from contact_sheets(scope, dataset, backbone)


def _shell(scope: Scope, where: str, title: str, slug: str) -> Iterator[Figure]:
    """Figure 1a: embeddings lie on a thin shell around the mean of their modality."""
    rows = scope.ask(f"SELECT modality, distance FROM diagnostic_shell_samples WHERE {where} LIMIT {_MOST_POINTS}")
    if not rows:
        return
    parts = {name: [row["distance"] for row in rows if row["modality"] == name] for name in ("image", "text")}

    def paint(axes: "Axes") -> None:
        for (name, values), colour in zip(parts.items(), SERIES, strict=False):
            label = f"{name} ({len(values)})"
            if len(values) >= _ENOUGH:
                axes.hist(values, bins=40, density=True, color=colour, alpha=0.55, label=label)
            elif values:
                top = axes.get_ylim()[1]
                axes.vlines(values, 0, top * 0.3, color=colour, linewidth=1.5, label=label)
        axes.set_xlabel("distance from the mean of the modality")
        axes.set_ylabel("density")
        legend_above(axes)

    spans = "; ".join(f"{name}s from {min(v):.2f} to {max(v):.2f}" for name, v in parts.items() if v)
    words = f"How far embeddings lie from the mean of their modality, {title}: {spans}."
    yield draw(f"shell-{slug}", f"Embedding shell (Figure 1a), {title}", words, (4.8, 3.2), paint)


def _prompt_distances(scope: Scope, where: str, title: str, slug: str) -> Iterator[Figure]:
    """Figure 1b: how far each kind of prompt is from each group, in the group's tangent space."""
    rows = scope.ask(
        "SELECT group_name, role, label, attribute, avg(distance) AS distance FROM diagnostic_prompt_distances "
        f"WHERE {where} GROUP BY ALL ORDER BY label, attribute, role"
    )
    if not rows:
        return
    groups, roles = (list(dict.fromkeys(str(row[name]) for row in rows)) for name in ("group_name", "role"))
    values = {(str(row["group_name"]), str(row["role"])): row["distance"] for row in rows}

    def paint(axes: "Axes") -> None:
        width = 0.8 / len(roles)
        for number, role in enumerate(roles):
            places = [place + number * width for place in range(len(groups))]
            heights = [values.get((group, role), float("nan")) for group in groups]
            axes.bar(places, heights, width * 0.95, color=SERIES[number % len(SERIES)], label=role)
        axes.set_xticks([place + 0.4 - width / 2 for place in range(len(groups))], list(map(shortened, groups)))
        axes.tick_params(axis="x", rotation=20)
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("tangent distance of prompts")
        legend_above(axes)

    near, far = min(values.values()), max(values.values())
    words = (
        f"Mean distance of prompts from {len(groups)} groups of images in each group's tangent space, {title}: "
        f"from {near:.1f} to {far:.1f} spreads."
    )
    yield draw(f"tangent-{slug}", f"Prompts and groups (Figure 1b), {title}", words, (4.8, 3.4), paint)


def _triptych(scope: Scope, where: str, title: str, slug: str) -> Iterator[Figure]:
    """Cosine, density and score of a group and its spurious counterpart: what density tells apart."""
    groups = scope.ask(
        "SELECT group_name, max(overlap) AS overlap FROM diagnostic_triptych_summary "
        f"WHERE {where} AND method = 'dat' AND quantity = 'cosine' GROUP BY group_name "
        "ORDER BY overlap DESC, group_name"
    )
    if not groups:
        return
    name = str(groups[0]["group_name"])
    rows = scope.ask(
        "SELECT against_own, cosine, density, score FROM diagnostic_triptych "
        f"WHERE {where} AND method = 'dat' AND group_name = {literal(name)} AND of_group LIMIT {_MOST_POINTS}"
    )
    for quantity, label in (("cosine", "similarity"), ("density", "density"), ("score", "translated score")):

        def paint(axes: "Axes", quantity: str = quantity, label: str = label) -> None:
            for own, colour, whose in (
                (True, ACCENT, "against its own group"),
                (False, SERIES[1], "against the other"),
            ):
                values = [row[quantity] for row in rows if row["against_own"] is own and row[quantity] is not None]
                axes.hist(values, bins=40, density=True, color=colour, alpha=0.55, label=whose)
            axes.set_xlabel(label)
            legend_above(axes, columns=1)

        words = f"The {label} of test samples of {name} against their own group and against its counterpart, {title}."
        yield draw(f"triptych-{quantity}-{slug}", f"{label.capitalize()} of {name}, {title}", words, (3.4, 2.9), paint)


def _margins(scope: Scope, where: str, title: str, slug: str) -> Iterator[Figure]:
    """Margins between the true class and the best other, under zero-shot and under DAT."""
    rows = scope.ask(
        "SELECT scored_by, low, high, density FROM diagnostic_margin_histograms "
        f"WHERE {where} AND method = 'dat' ORDER BY low"
    )
    if not rows:
        return
    series: dict[str, Sequence[Record]] = {}
    for who in dict.fromkeys(str(row["scored_by"]) for row in rows):
        series[who] = [row for row in rows if row["scored_by"] == who]

    def paint(axes: "Axes") -> None:
        for (who, bins), colour in zip(series.items(), (QUIET, ACCENT, *SERIES[1:]), strict=False):
            edges = [bins[0]["low"], *(row["high"] for row in bins)]
            axes.stairs([row["density"] for row in bins], edges, fill=True, color=colour, alpha=0.45, label=who)
        axes.axvline(0, color=QUIET, linewidth=1, linestyle="--")
        axes.set_xlabel("standardised margin of the true class")
        axes.set_ylabel("density")
        legend_above(axes)

    below = {
        who: sum((min(row["high"], 0) - row["low"]) * row["density"] for row in bins if row["low"] < 0)
        for who, bins in series.items()
    }
    shares = ", ".join(f"{100 * share:.0f} % of those of {who}" for who, share in below.items())
    words = (
        f"Margins between the true class and the best other, {title}; below 0, where the answer is wrong, lie {shares}."
    )
    yield draw(f"margins-{slug}", f"Margins, {title}", words, (4.8, 3.2), paint)
