"""Predictions taken apart: some that DAT mends and some that it breaks."""

from collections.abc import Iterator, Sequence

from data_catalog.errors import DamagedError, UserError
from data_catalog.home import Home
from tasks.reporting.document import Column, Example, Picture, Section
from tasks.reporting.explanation import Explanation, explain, files_of, stored_predictions
from tasks.reporting.scope import Scope
from tasks.reporting.thumbnails import thumbnails

_MOST_PAIRS = 6
_EACH = 2
_SHOWN_GROUPS = 2

_CHOICE = """SELECT sample_id, d.prediction = d.label AS mended
FROM read_parquet(?) d JOIN read_parquet(?) z USING (sample_id)
WHERE (d.prediction = d.label) <> (z.prediction = z.label)
QUALIFY row_number() OVER (PARTITION BY mended ORDER BY z.margin DESC, sample_id) <= ?
ORDER BY mended DESC, sample_id"""

COLUMNS = (
    Column("name", "Group"),
    Column("similarity", "Similarity", "number", hint="Cosine with the prompt of the group"),
    Column("density", "Density", "number", hint="How sparse the references of the group are around the image"),
    Column("score", "Translated", "number", hint="Similarity translated by density: the largest decides"),
)


def examples_section(scope: Scope) -> Section:
    """Return, for some datasets and backbones, predictions in which DAT and zero-shot differ."""
    title = "Predictions explained"
    pairs = [pair for pair in scope.pairs if {(*pair, "dat", "", 0), (*pair, "zero_shot", "", 0)} <= scope.results]
    examples: list[Example] = []
    for dataset, backbone in pairs[:_MOST_PAIRS]:
        try:
            chosen = _chosen(scope, dataset, backbone)
            explained = [explain(scope.questions, dataset, backbone, sample) for sample in chosen]
        except (UserError, DamagedError):  # what stands behind an old prediction may have been collected or damaged
            continue
        examples += illustrated(scope.home, explained)
    if not examples:
        remark = "There are no predictions of DAT and zero-shot to take apart. `dat explain` does it for one sample."
        return Section("examples", title, remark=remark)
    text = [
        "Samples that zero-shot was surest of and that DAT decides otherwise: mended first, then broken. "
        "`dat explain DATASET BACKBONE SAMPLE` takes any other apart."
    ]
    return Section("examples", title, text, examples=examples)


def _chosen(scope: Scope, dataset: str, backbone: str) -> list[str]:
    """Return samples on which DAT and zero-shot differ."""
    ours, theirs = (
        stored_predictions(scope.questions, (dataset, backbone, method, "")) for method in ("dat", "zero_shot")
    )
    if ours is None or theirs is None:
        return []
    files = [files_of(scope.questions, made) for made in (ours, theirs)]
    return [str(row[0]) for row in scope.questions.ask(_CHOICE, [*files, _EACH]).rows]


def illustrated(home: Home, explanations: Sequence[Explanation]) -> Iterator[Example]:
    """Yield explanations with the pictures of their images and nearest references, where there are any."""
    for explained in explanations:
        best = sorted(explained.groups, key=lambda group: -(group.score if group.score is not None else float("-inf")))
        shown = [group for group in best if group.neighbours][:_SHOWN_GROUPS]
        names = [neighbour.sample_id for group in shown for neighbour in group.neighbours]
        pictures = thumbnails(home, explained.files_key, [explained.sample_id, *names])
        own = pictures.get(explained.sample_id)
        verdict = "right" if explained.right else "wrong"
        yield Example(
            title=f"{explained.sample_id} of {explained.dataset} × {explained.backbone}",
            text=f"It is {explained.truth}. Zero-shot says {explained.zero_shot}; {explained.method} says "
            f"{explained.prediction}, which is {verdict}.",
            picture=Picture(own, f"{explained.sample_id}: {explained.truth}") if own else None,
            columns=COLUMNS,
            records=[vars(group) for group in best],
            neighbours={
                f"Nearest references of {group.name}": [
                    Picture(pictures.get(n.sample_id, ""), f"{n.sample_id}, distance {n.distance:.3f}")
                    for n in group.neighbours
                ]
                for group in shown
            },
        )
