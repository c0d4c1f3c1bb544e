"""The cells of comparisons: which results are set beside which baselines."""

from collections.abc import Iterable, Iterator

from data_catalog.planning.cell import Cell

BASELINES = ("zero_shot", "tie")
"""Methods that others are compared with, where both are asked for: doing nothing, and the paper's strongest rival."""


def comparison_cells(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Yield a comparison of each result with each baseline of the same dataset, backbone and seed among the cells.

    Settings other than a dataset's own are not compared: sweeps have hundreds, and curves show them better.
    """
    cells = list(cells)
    predictions = {_place(cell, str(cell.address["method"])): cell for cell in cells if _is_main(cell, "predictions")}
    for metrics in cells:
        if not _is_main(metrics, "metrics"):
            continue
        ours = predictions[_place(metrics, str(metrics.address["method"]))]
        for baseline in BASELINES:
            theirs = predictions.get(_place(metrics, baseline))
            if theirs is not None and theirs is not ours:
                yield Cell(
                    step=f"over_{baseline}",
                    address=metrics.address,
                    modules=("tasks.steps.comparisons",),
                    params=metrics.params,
                    parents={"predictions": ours.name, "baseline": theirs.name},
                )


def _is_main(cell: Cell, step: str) -> bool:
    return cell.step == step and not cell.address["variant"]


def _place(cell: Cell, method: str) -> tuple[str | int, ...]:
    return cell.address["dataset"], cell.address["backbone"], method, cell.address["seed"]
