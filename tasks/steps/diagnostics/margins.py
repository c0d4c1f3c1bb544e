"""How far apart scores lie, with DAT and with zero-shot."""

from dat_lib.arrays import IdArray
from dat_lib.diagnostics.margins import margin_histograms, score_margins
from tasks.step import Output, Work
from tasks.steps.diagnostics.density_inputs import measured, translation
from tasks.steps.diagnostics.inputs import group_names, in_one_go
from tasks.tables.logit_scales import logit_scale
from tasks.tables.result_table import result_table


def compute(work: Work) -> Output:
    """Return one row a test sample and method, or one a bin of the margins of a method."""
    found, similarity, log_density = measured(work)
    margins = score_margins(
        similarity,
        log_density,
        found.labels,
        found.attributes,
        **translation(work, "strength", "terms", "score", "epsilon"),
        temperature=work.params["settings"]["temperature"] or 1 / logit_scale(work),
    )
    histograms = margin_histograms(margins, work.params["bins"])
    return in_one_go(
        work,
        {
            "diagnostic_margins": lambda: result_table(
                margins,
                {
                    "scored_by": _scored_by(work, margins.method),
                    "sample_id": found.ids[margins.row],
                    "group_name": group_names(work, margins.label.tolist(), margins.attribute.tolist()),
                },
                leave_out=("row", "method"),
            ),
            "diagnostic_margin_histograms": lambda: result_table(
                histograms, {"scored_by": _scored_by(work, histograms.series)}, leave_out=("series",)
            ),
        },
    )


def _scored_by(work: Work, names: IdArray) -> list[str]:
    """Return `zero_shot` or the method, which the library calls `dat` whatever its references."""
    return [work.params["method"] if name == "dat" else name for name in names.tolist()]
