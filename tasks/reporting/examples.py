"""Predictions taken apart: some that DAT mends and some that it breaks."""

from collections.abc import Iterator, Sequence

from data_catalog.errors import DamagedError, UserError
from data_catalog.home import Home
from tasks.reporting.document import Column, Example, Picture, Section
from tasks.reporting.explaining import Explanation, explain
from tasks.reporting.scope import Scope, literal
from tasks.reporting.thumbnails import thumbnails

_MOST_PAIRS = 6
_EACH = 2
_SHOWN_GROUPS = 2

_CHOICE = """SELECT d.sample_id, d.correct AS mended
FROM predictions d
JOIN predictions z USING (dataset, backbone, variant, seed, sample_id)
WHERE d.dataset = {dataset} AND d.backbone = {backbone} AND d.variant = '' AND d.seed = 0
    AND d.method = 'dat' AND z.method = 'zero_shot' AND d.correct <> z.correct
QUALIFY row_number() OVER (PARTITION BY d.correct ORDER BY z.margin DESC, d.sample_id) <= {each}
ORDER BY mended DESC, d.sample_id"""

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
        sql = _CHOICE.format(dataset=literal(dataset), backbone=literal(backbone), each=_EACH)
        try:
            explained = [explain(scope.questions, dataset, backbone, str(row["sample_id"])) for row in scope.ask(sql)]
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
