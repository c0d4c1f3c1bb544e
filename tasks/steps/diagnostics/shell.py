"""Figure 1a: the shape of the shell that embeddings lie on."""

from dat_lib.diagnostics.shell import embedding_shell
from tasks.step import Output, Work
from tasks.steps.diagnostics.inputs import group_names, in_one_go, prompt_rows, samples_of
from tasks.tables.result_table import result_table


def compute(work: Work) -> Output:
    """Return one row a sample, an axis, or a modality and group, as the table asked for has them."""
    found = samples_of(work, work.params["split"])
    _, words, vectors = prompt_rows(work)
    shell = embedding_shell(found.vectors, found.labels, found.attributes, vectors)
    names = {"image": found.ids.tolist(), "text": words}
    parts, groups = shell.samples, shell.summary
    return in_one_go(
        work,
        {
            "diagnostic_shell_samples": lambda: result_table(
                parts,
                {
                    "name": [
                        names[kind][row] for kind, row in zip(parts.modality.tolist(), parts.row.tolist(), strict=True)
                    ],
                    "group_name": group_names(work, parts.label.tolist(), parts.attribute.tolist()),
                },
                leave_out=("row",),
            ),
            "diagnostic_shell_spectrum": lambda: result_table(shell.spectrum),
            "diagnostic_shell_summary": lambda: result_table(
                groups, {"group_name": group_names(work, groups.label.tolist(), groups.attribute.tolist())}
            ),
        },
    )
