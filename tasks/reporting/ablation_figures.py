"""Figures of swept settings: curves over numbers, bars and heat maps over words, beside the paper's points."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.reporting.document import Figure, Record
from tasks.reporting.figures import PRINTED, Bar, Curve, draw_bars, draw_curves, draw_heat_map
from tasks.reporting.scope import Scope, literal, slugged

_RESULTS = """SELECT l.dataset, l.backbone, l.method, l.variant, l.wg, l.wg_low, l.wg_high, l.gap,
    any_value(a.params -> 'settings') AS settings
FROM leaderboard l
-- By cell: a swept setting that equals the usual one has no artifact of its own.
JOIN store.cells c USING (dataset, backbone, method, variant)
JOIN artifacts a USING (key)
WHERE c.step = 'predictions' AND l.differs IS NULL AND {where}
GROUP BY ALL
ORDER BY l.dataset, l.backbone, l.method, l.variant"""
_OWN = "own"
"""What the dataset's own prompts are called among others."""
_BESIDE = ("zero_shot", "tie")
"""Methods whose level the paper draws through its sweeps."""


@dataclass(frozen=True)
class _Variant:
    """A result, and what its settings say: those that are words, and those that are numbers."""

    row: Record
    words: Mapping[str, str]
    numbers: Mapping[str, float]
    all_settings: Mapping[str, object]

    @classmethod
    def of(cls, row: Record) -> "_Variant":
        words, numbers = {}, {}
        for pair in filter(None, str(row["variant"]).split(", ")):
            name, _, value = pair.partition("=")
            try:
                numbers[name] = float(value)
            except ValueError:
                words[name] = value
        return cls(row, words, numbers, json.loads(row["settings"]) if row.get("settings") else {})

    @property
    def method(self) -> str:
        return str(self.row["method"])

    def number(self, name: str) -> float | None:
        """Return the value of a swept number: its own, or the usual one; None where other numbers are set."""
        if self.numbers.keys() - {name}:
            return None
        value = self.numbers.get(name, self.all_settings.get(name))
        return float(value) if isinstance(value, int | float) else None

    def word(self, name: str) -> str | None:
        """Return the value of a swept word: its own, or the usual one; None where anything else is set."""
        if self.numbers or self.words.keys() - {name}:
            return None
        usual = _OWN if name == "prompts" else self.all_settings.get(name)
        value = self.words.get(name, usual)
        return value if isinstance(value, str) else None


def ablation_figures(scope: Scope) -> Iterator[Figure]:
    """Yield a figure for each swept setting of each dataset."""
    found = [_Variant.of(row) for row in scope.ask(_RESULTS.format(where=scope.where(of="l")))]
    for dataset in scope.datasets:
        here = [variant for variant in found if variant.row["dataset"] == dataset]
        printed = [
            _Variant.of(row)
            for row in scope.ask(
                "SELECT backbone, method, variant, wg, gap, source FROM paper "
                f"WHERE source LIKE 'figure:%' AND wg IS NOT NULL AND dataset = {literal(dataset)}"
            )
        ]
        for name in sorted({name for variant in here for name in variant.numbers}):
            yield from _curves(dataset, name, here, printed)
        for name in sorted({name for variant in here for name in variant.words}):
            yield from _by_word(dataset, name, here, printed)


def _curves(dataset: str, name: str, here: Sequence[_Variant], printed: Sequence[_Variant]) -> Iterator[Figure]:
    """Yield curves over a number: one figure for the plain sweeps, one a method for those that also set words."""
    for backbone in sorted({str(variant.row["backbone"]) for variant in here}):
        near = [variant for variant in here if variant.row["backbone"] == backbone]
        levels = {v.method: float(v.row["wg"]) for v in near if v.method in _BESIDE and not v.row["variant"]}
        title = f"{dataset} × {backbone}"
        plain = [
            curve
            for method in sorted({variant.method for variant in near})
            for curve in _curve(method, name, [v for v in near if v.method == method and not v.words])
        ]
        if plain:
            drawn = {curve.name for curve in plain}
            paper = [
                curve
                for method in sorted(drawn)
                for curve in _curve(
                    method + PRINTED,
                    name,
                    [v for v in printed if v.method == method and v.row["backbone"] == backbone and name in v.numbers],
                )
            ]
            beside = {method: level for method, level in levels.items() if method not in drawn}
            yield draw_curves(slugged("sweep", name, dataset, backbone), title, name, [*plain, *paper], beside)
        for method in sorted({v.method for v in near if v.words and name in v.numbers}):
            own = [v for v in near if v.method == method and v.words]
            by_words = [
                curve
                for words in dict.fromkeys(_spoken(v.words) for v in own)
                for curve in _curve(words, name, [v for v in own if _spoken(v.words) == words])
            ]
            if by_words:
                slug = slugged("sweep", name, method, dataset, backbone)
                yield draw_curves(slug, f"{method}, {title}", name, by_words, levels)


def _curve(label: str, name: str, variants: Sequence[_Variant]) -> Iterator[Curve]:
    """Yield the curve of some variants over a number, if they really sweep it."""
    # The usual settings are a point of the sweep; where the sweep names the same value, that is the same point.
    points = {x: v.row for v in sorted(variants, key=lambda v: name in v.numbers) if (x := v.number(name)) is not None}
    if len(points) > 1:
        xs = sorted(points)
        low, high = ([points[x].get(end) for x in xs] for end in ("wg_low", "wg_high"))
        band = (low, high) if None not in low + high else ()
        yield Curve(label, xs, [points[x]["wg"] for x in xs], *band)


def _by_word(dataset: str, name: str, here: Sequence[_Variant], printed: Sequence[_Variant]) -> Iterator[Figure]:
    """Yield what the values of a word do: bars where one method was tried, else a heat map of methods and values."""
    swept = [v for v in here if v.word(name) is not None]
    methods = sorted({v.method for v in swept if name in v.words})
    swept = [v for v in swept if v.method in methods]
    values = list(dict.fromkeys(str(v.word(name)) for v in swept))
    if len(values) < 2:
        return
    if len(methods) == 1:
        sources = {v.row["source"] for v in printed if name in v.words}
        usual = next((v.word(name) for v in swept if not v.row["variant"]), None)
        theirs = {
            (v.row["backbone"], v.words.get(name, usual)): v.row
            for v in printed
            if v.method == methods[0] and v.row["source"] in sources
        }
        # A suite may list the usual value among the others: the same bar.
        bars = {
            place: _bar(v, name, theirs.get(place, {})) for v in swept if (place := (v.row["backbone"], v.word(name)))
        }
        yield draw_bars(slugged("bars", name, dataset), f"{methods[0]}, {dataset}", name, list(bars.values()))
        return
    for backbone in dict.fromkeys(str(v.row["backbone"]) for v in swept):
        rows: dict[str, dict[str, object]] = {}
        for v in swept:
            if v.row["backbone"] == backbone:
                rows.setdefault(v.method, {"method": v.method, **dict.fromkeys(values)})[str(v.word(name))] = v.row[
                    "wg"
                ]
        if len(rows) > 1:
            title = f"{dataset} × {backbone}"
            slug = slugged("heat", name, dataset, backbone)
            yield draw_heat_map(slug, "Worst group", f"values of {name}", title, values, list(rows.values()))


def _bar(variant: _Variant, name: str, paper: Record) -> Bar:
    row = variant.row
    return Bar(str(row["backbone"]), str(variant.word(name)), row["wg"], row["gap"], paper.get("wg"), paper.get("gap"))


def _spoken(words: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in words.items())
