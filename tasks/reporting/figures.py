"""Drawings, as SVG that takes on the page's colours and as PDF for papers."""

import io
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any

from tasks.reporting.document import Figure, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1f2328"
"""Text and axes; in the page they take the colour of its text."""
LINE = "#d1d9e0"
"""Grid lines; in the page they take the colour of its lines."""
ACCENT = "#0969da"
QUIET = "#8c959f"
PRINTED = " (paper)"
"""How the name of a curve ends whose points the paper prints."""
SERIES = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#9a6700")
_LONGEST = 32
_NOT_DRAWN = ("Cc", "Cf", "Cs")
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Curve:
    """Points of a sweep, with a band around them where it is known."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = field(default=())
    high: Sequence[float] = field(default=())


@dataclass(frozen=True)
class Bar:
    """Worst group and gap with one value of a setting on one backbone, and the paper's where it prints them."""

    backbone: str
    value: str
    wg: float
    gap: float
    paper_wg: float | None = None
    paper_gap: float | None = None


def draw_ranking(dataset: str, backbone: str, rows: Sequence[Record]) -> Figure:
    """Draw the worst-group accuracy of each method as a dot with its interval, and the average as a ring."""
    rows = [row for row in rows if row["differs"] is None]
    names = [f"{row['method']} ({row['variant']})" if row["variant"] else str(row["method"]) for row in rows]

    def paint(axes: "Axes") -> None:
        for position, row in enumerate(rows):
            colour = ACCENT if row["method"].startswith("dat") else QUIET
            axes.plot([row["wg"], row["avg"]], [position] * 2, color=LINE, linewidth=1, zorder=1)
            if row["wg_low"] is not None:
                axes.plot([row["wg_low"], row["wg_high"]], [position] * 2, color=colour, linewidth=3, alpha=0.45)
            axes.plot(row["wg"], position, "o", color=colour, markersize=6)
            axes.plot(row["avg"], position, "o", markerfacecolor="none", markeredgecolor=colour, markersize=6)
        axes.set_yticks(range(len(rows)), list(map(shortened, names)))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("percent: ● worst group, ○ average")

    title = f"Worst group and average, {dataset} × {backbone}"
    best, last = rows[0], rows[-1]
    words = (
        f"Worst-group accuracy of {len(rows)} methods on {dataset} with {backbone}, best first, from "
        f"{names[0]} ({best['wg']:.1f} %) to {names[-1]} ({last['wg']:.1f} %); averages lie to the right. "
        "The table below has the numbers."
    )
    return draw(f"ranking-{_plain(dataset)}-{_plain(backbone)}", title, words, (4.8, 0.8 + 0.24 * len(rows)), paint)


def draw_heat_map(slug: str, what: str, over: str, title: str, groups: Sequence[str], rows: Sequence[Record]) -> Figure:
    """Draw a percentage of each method in each group, or with each of some other things, as a coloured field."""
    import numpy as np

    values = np.array(
        [[row[group] if row[group] is not None else np.nan for group in groups] for row in rows], dtype=float
    )
    names = [f"{row['method']} ({row['variant']})" if row.get("variant") else str(row["method"]) for row in rows]

    def paint(axes: "Axes") -> None:
        axes.pcolormesh(values, cmap="cividis", vmin=0, vmax=100, edgecolors="none")
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value) and len(groups) <= 12:
                colour = "#ffffff" if value < 55 else "#000000"
                axes.text(column + 0.5, row + 0.5, f"{value:.0f}", ha="center", va="center", color=colour, fontsize=8)
        axes.set_yticks(np.arange(len(names)) + 0.5, list(map(shortened, names)))
        turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if len(groups) > 3 else {}
        axes.set_xticks(np.arange(len(groups)) + 0.5, list(map(shortened, groups)), **turned)
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)

    row, column = divmod(int(np.nanargmin(values)), len(groups))
    words = (
        f"{what} of {len(rows)} methods over {len(groups)} {over}, {title}. The lowest is "
        f"{values[row, column]:.0f} %: {names[row]}, {groups[column]}. The table below has the numbers."
    )
    width = min(10.0, 1.6 + 0.8 * len(groups)) if len(groups) <= 5 else min(12.0, 2.2 + 0.6 * len(groups))
    return draw(slug, f"{what}, {title}", words, (width, 0.8 + 0.25 * len(rows)), paint)


def draw_curves(
    slug: str, title: str, setting: str, curves: Sequence[Curve], levels: Mapping[str, float] | None = None
) -> Figure:
    """Draw worst-group accuracy over a setting, with bands for 95 % intervals and the paper's points dashed.

    `levels` are methods that do not have the setting, drawn as lines across.
    """
    levels = levels or {}
    colours = dict(zip(dict.fromkeys(curve.name.removesuffix(PRINTED) for curve in curves), cycle(SERIES)))

    def paint(axes: "Axes") -> None:
        for curve in curves:
            colour = colours[curve.name.removesuffix(PRINTED)]
            printed = curve.name.endswith(PRINTED)
            style: dict[str, Any] = {"linestyle": "--", "marker": "x"} if printed else {"marker": "o", "markersize": 4}
            axes.plot(curve.x, curve.y, color=colour, label=curve.name, linewidth=1.6, **style)
            if curve.low:
                axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
        for (name, level), dashes in zip(levels.items(), cycle((":", "-."))):
            axes.axhline(level, color=QUIET, linestyle=dashes, linewidth=1.4, label=name)
        axes.set_xlabel(setting)
        axes.set_ylabel("worst group, percent")
        legend_above(axes, columns=3 if max(len(curve.name) for curve in curves) < 16 else 2)

    ends = "; ".join(
        f"{curve.name} goes from {curve.y[0]:.1f} % at {curve.x[0]:g} to {curve.y[-1]:.1f} % at {curve.x[-1]:g}"
        for curve in curves
    )
    across = "".join(f" {name} is at {level:.1f} %." for name, level in levels.items())
    words = f"Worst-group accuracy over {setting}, {title}: {ends}. Bands are 95 % intervals.{across}"
    return draw(slug, f"Worst group over {setting}, {title}", words, (4.8, 3.4), paint)


def draw_bars(slug: str, title: str, setting: str, bars: Sequence[Bar]) -> Figure:
    """Draw worst group and gap of each value of a setting, backbone by backbone, as the paper does its aggregation."""
    values = list(dict.fromkeys(bar.value for bar in bars))
    backbones = list(dict.fromkeys(bar.backbone for bar in bars))
    width = 0.8 / len(values)
    colours = dict(zip(values, cycle(SERIES)))

    def place(bar: Bar, quantity: int) -> float:
        return 2.4 * backbones.index(bar.backbone) + quantity + (values.index(bar.value) + 0.5) * width - 0.4

    def paint(axes: "Axes") -> None:
        for bar in bars:
            for quantity, (ours, printed) in enumerate(((bar.wg, bar.paper_wg), (bar.gap, bar.paper_gap))):
                at = place(bar, quantity)
                axes.bar(at, ours, width * 0.92, color=colours[bar.value])
                axes.text(at, max(ours, printed or 0.0) + 2, f"{ours:.1f}", ha="center", va="bottom", fontsize=8)
                if printed is not None:
                    axes.plot(at, printed, "x", color=INK, markersize=5)
        axes.set_xticks(
            [2.4 * number + quantity for number in range(len(backbones)) for quantity in (0, 1)],
            [f"{label}\n{backbone}" for backbone in map(shortened, backbones) for label in ("WG", "Gap")],
        )
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("percent; × the paper's" if any(bar.paper_wg is not None for bar in bars) else "percent")
        axes.legend(
            handles=[axes.bar(0, 0, color=colours[value], label=f"{setting}={value}") for value in values],
            loc="lower left", bbox_to_anchor=(0, 1.02), ncols=3, borderaxespad=0.2, columnspacing=1,
        )  # fmt: skip

    told = "; ".join(f"{bar.value} {bar.wg:.1f} and {bar.gap:.1f} on {bar.backbone}" for bar in bars)
    words = f"Worst group and gap in percent over {setting}, {title}: {told}."
    return draw(slug, f"Worst group and gap over {setting}, {title}", words, (3.0 + 1.8 * len(backbones), 3.4), paint)


def draw_agreement(rows: Sequence[Record]) -> Figure:
    """Draw our worst-group accuracies over the paper's; on the diagonal they agree."""

    def paint(axes: "Axes") -> None:
        axes.plot([0, 100], [0, 100], color=QUIET, linewidth=1, linestyle="--")
        for comparable, colour, label in ((True, ACCENT, "comparable"), (False, SERIES[1], "not comparable")):
            chosen = [row for row in rows if bool(row["comparable"]) is comparable]
            if chosen:
                ours = [row["wg"] for row in chosen]
                errors = [
                    [row["wg"] - row["wg_low"] for row in chosen],
                    [row["wg_high"] - row["wg"] for row in chosen],
                ]
                theirs = [row["paper_wg"] for row in chosen]
                axes.errorbar(theirs, ours, [[max(0.0, e) for e in side] for side in errors], fmt="o", color=colour,
                              markersize=4, elinewidth=1, label=label)  # fmt: skip
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 100)
        axes.set_aspect("equal")
        axes.set_xlabel("the paper's worst group, percent")
        axes.set_ylabel("ours, percent")
        axes.legend(loc="lower right")

    inside = sum(bool(row["wg_in_interval"]) for row in rows)
    words = (
        f"Our worst-group accuracies over the paper's, {len(rows)} of them; {inside} of the paper's lie in our 95 % "
        "interval. The table below has the numbers."
    )
    return draw("agreement", "Ours over the paper's", words, (4.6, 4.6), paint)


def draw(slug: str, title: str, words: str, size: tuple[float, float], paint: "Callable[[Axes], None]") -> Figure:
    """Have `paint` draw on axes of a size in inches, and return the figure; `words` say what it shows."""
    import matplotlib
    from matplotlib.figure import Figure as Drawing

    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": slug}):
        drawing: Drawing = Drawing(figsize=size, layout="constrained")
        paint(drawing.add_subplot())
        svg, pdf = io.StringIO(), io.BytesIO()
        drawing.savefig(svg, format="svg", metadata={"Date": None, "Title": title})
        drawing.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Title": title})
    return Figure(slug, title, words, svg.getvalue(), pdf.getvalue())


def legend_above(axes: "Axes", columns: int = 3) -> None:
    """Name the series above the axes, where they hide nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, columnspacing=1)


def for_page(figure: Figure) -> str:
    """Return the SVG to stand in a page: in its colours, with ids of its own, and named for those who cannot see it."""
    from html import escape

    svg = figure.svg[figure.svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{figure.slug}-", svg)
    svg = svg.replace(INK, "currentColor").replace(LINE, "var(--line)")
    svg = re.sub(r"font: ([\d.]+)px [^;\"]+", r"font: \1px var(--sans)", svg)
    width = re.search(r'width="([\d.]+)pt"', svg)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    shown = f'style="width: {float(width.group(1)) / 72 * 96:.0f}px" ' if width else ""
    label = escape(figure.alternative, quote=True)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" {shown}', 1)


def shortened(text: str) -> str:
    """Return a label that leaves room for what it labels, of characters that matplotlib can draw in every format."""
    composed = unicodedata.normalize("NFC", " ".join(text.split()))
    # Control characters, and those that only shape their neighbours: it stops at some of them.
    text = "".join(letter for letter in composed if unicodedata.category(letter) not in _NOT_DRAWN)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plain(text: str) -> str:
    from tasks.reporting.scope import slugged

    return slugged(text)
