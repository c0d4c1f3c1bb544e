"""Why DAT says what it says of one image: similarity, density and translated score of each group, and the nearest
references, recomputed from what is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import normalise
from dat_lib.translation import similarities, translate
from data_catalog.errors import FailureError, UserError
from data_catalog.index.reader import Questions
from data_catalog.index.step_views import unpatterned
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest
from tasks.tables.prompt_vectors import prompt_vectors
from tasks.tables.reference_table import references_of

EXPLAINED = ("dat", "dat_star")
"""Methods whose scores are taken apart."""
_PARENTS = ("densities", "references", "image_embeddings", "text_embeddings")


@dataclass(frozen=True)
class Neighbour:
    """A reference, and how far it is from the image, both of unit length."""

    sample_id: str
    distance: float


@dataclass(frozen=True)
class Group:
    """What one group says of the image; without references it has neither density nor score."""

    name: str
    label: int
    similarity: float
    density: float | None
    score: float | None
    neighbours: tuple[Neighbour, ...]


@dataclass(frozen=True)
class ClassScore:
    """What is said of a class: its own similarity, by which zero-shot goes, and the score by which DAT goes."""

    name: str
    similarity: float
    score: float


@dataclass(frozen=True)
class Explanation:
    """One prediction taken apart. `zero_shot` is the class whose prompt is most similar."""

    dataset: str
    backbone: str
    method: str
    sample_id: str
    truth: str
    prediction: str
    zero_shot: str
    settings: Mapping[str, Any]
    groups: Sequence[Group]
    classes: Sequence[ClassScore]
    files_key: str | None

    @property
    def right(self) -> bool:
        """Whether the method is right."""
        return self.truth.partition(", ")[0] == self.prediction


def explain(
    questions: Questions,
    dataset: str,
    backbone: str,
    sample_id: str,
    *,
    method: str = "dat",
    variant: str = "",
    nearest: int = 5,
) -> Explanation:
    """Take the stored prediction of a test sample apart; a `UserError` where there is none."""
    if method not in EXPLAINED:
        raise UserError(f"{method} cannot be explained", remedy=f"choose one of: {', '.join(EXPLAINED)}")
    made, found = _prediction(questions, (dataset, backbone, method, variant), sample_id)
    if not made.parents.keys() >= set(_PARENTS):
        raise UserError(
            "these predictions were made by an earlier version, which kept no densities",
            remedy=f"compute them anew: dat run --dataset {dataset} --backbone {backbone} --method {method}",
        )
    store = Store(questions.home)
    params, settings = made.params, made.params["settings"]
    densities, references, images, texts = (_manifest(store, role, made.parents[role].key) for role in _PARENTS)
    chosen = references_of(store.read(references), params).first(settings["n"], settings["k"], settings["shortage"])
    assert chosen.ids is not None
    wanted = [sample_id, *chosen.ids.tolist()]
    vectors = {row["sample_id"]: row["embedding"] for row in _rows(questions, images, wanted)}
    query_vector = np.asarray([vectors[sample_id]], dtype=np.float32)
    text = prompt_vectors(params["text"], store.read(texts))
    similarity = similarities(query_vector, text["class"], text["group"])
    (row,) = _rows(questions, densities, [sample_id])
    shape = (1, params["n_classes"], params["n_attributes"])
    log_density = np.asarray(row["log_density"], dtype=np.float32).reshape(shape)
    temperature = settings["temperature"] or 1 / _logit_scale(store, made)
    by_class = translate(
        similarity,
        log_density,
        strength=settings["strength"],
        terms=settings["terms"],
        score=settings["score"],
        epsilon=settings["epsilon"],
        temperature=temperature,
    )[0]
    classes, attributes = _words(questions, (dataset, backbone, method, variant))
    terms = _group_terms(similarity.groups[0], log_density[0], settings, temperature)
    near = _nearest(query_vector, sample_id, chosen, vectors, nearest)
    groups = [
        Group(
            name=f"{classes[y]}, {attributes[a]}",
            label=y,
            similarity=float(similarity.groups[0, y, a]),
            density=float(np.exp(log_density[0, y, a])) if np.isfinite(log_density[0, y, a]) else None,
            score=float(terms[y, a]) if np.isfinite(log_density[0, y, a]) else None,
            neighbours=near.get((y, a), ()),
        )
        for y, a in np.ndindex(shape[1:])
    ]
    of_class = similarity.classes[0]
    where = attributes[found["attribute"]] if found["attribute"] >= 0 else "other"
    return Explanation(
        dataset,
        backbone,
        method,
        sample_id,
        truth=f"{classes[found['label']]}, {where}",
        prediction=classes[found["prediction"]],
        zero_shot=classes[int(np.argmax(of_class))],
        settings=settings,
        groups=groups,
        classes=[ClassScore(classes[y], float(of_class[y]), float(by_class[y])) for y in range(shape[1])],
        files_key=images.parents["files"].key if "files" in images.parents else None,
    )


def stored_predictions(questions: Questions, address: tuple[str, str, str, str]) -> Manifest | None:
    """Return the current predictions of (dataset, backbone, method, variant), of the first seed.

    The view `predictions` would look into the files of all results.
    """
    sql = (
        "SELECT key FROM store.cells WHERE step = 'predictions' "
        "AND dataset = ? AND backbone = ? AND method = ? AND variant = ? ORDER BY seed LIMIT 1"
    )
    keys = questions.ask(sql, [*address]).rows
    return Store(questions.home).find("predictions", keys[0][0]) if keys else None


def _prediction(
    questions: Questions, address: tuple[str, str, str, str], sample_id: str
) -> tuple[Manifest, dict[str, Any]]:
    dataset, backbone, method, variant = address
    made = stored_predictions(questions, address)
    if made is None:
        settings = f" --set {variant}" if variant else ""
        raise UserError(
            f"there are no predictions of {method} for {dataset} × {backbone}{f' with {variant}' if variant else ''}",
            remedy=f"compute them: dat run --dataset {dataset} --backbone {backbone} --method {method}{settings}",
        )
    if reason := made.summary.get("not_applicable"):
        raise UserError(f"{method} is not applicable to {dataset} × {backbone}: {reason}")
    found = _rows(questions, made, [sample_id])
    if not found:
        sql = "SELECT sample_id FROM read_parquet(?) ORDER BY sample_id LIMIT 3"
        some = ", ".join(row[0] for row in questions.ask(sql, [files_of(questions, made)]).rows)
        raise UserError(f"{dataset} has no test sample {sample_id}", remedy=f"its samples are named as {some}")
    return made, found[0]


def _words(questions: Questions, address: tuple[str, str, str, str]) -> tuple[list[str], list[str]]:
    """Return the names of classes and attributes."""
    import json

    sql = (
        "SELECT a.params FROM results r JOIN artifacts a USING (key) "
        "WHERE r.dataset = ? AND r.backbone = ? AND r.method = ? AND r.variant = ? LIMIT 1"
    )
    rows = questions.ask(sql, [*address]).rows
    if not rows:
        raise UserError(f"the predictions of {address[2]} have no metrics yet", remedy="`dat run` computes them")
    params = json.loads(rows[0][0])
    return params["classes"], params["attributes"]


def _manifest(store: Store, step: str, key: str) -> Manifest:
    manifest = store.find(step, key)
    if manifest is None:
        raise FailureError(f"the {step} behind this prediction are gone", remedy="`dat run` computes them again")
    return manifest


def _rows(questions: Questions, manifest: Manifest, sample_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of some samples, without reading those of all others into memory."""
    sql = "SELECT * FROM read_parquet(?) WHERE list_contains(?, sample_id)"
    return questions.ask(sql, [files_of(questions, manifest), list(sample_ids)]).records()


def files_of(questions: Questions, manifest: Manifest) -> list[str]:
    """Return the Parquet files of an artifact, for DuckDB to read."""
    return [unpatterned(questions.home.root / file.path) for file in manifest.files]


def _logit_scale(store: Store, made: Manifest) -> float:
    if "weights" not in made.parents:
        return float(made.params["logit_scale"])
    facts = store.read(_manifest(store, "weights", made.parents["weights"].key)).to_pydict()
    return float(dict(zip(*facts.values(), strict=True))["logit_scale"])


def _group_terms(
    similarity: npt.NDArray[Any], log_density: npt.NDArray[Any], settings: Mapping[str, Any], temperature: float
) -> npt.NDArray[np.float64]:
    """Return s~_{y,a} [K, M], as `dat_lib.translation.translate` defines it."""
    logarithm = np.logaddexp(log_density.astype(np.float64), np.log(settings["epsilon"]))
    if settings["score"] == "logit":
        return np.asarray(similarity / temperature - settings["strength"] * logarithm)
    return np.asarray(similarity * np.exp(-settings["strength"] * logarithm))


def _nearest(
    query_vector: npt.NDArray[Any], sample_id: str, references: Any, vectors: Mapping[str, Any], count: int
) -> dict[tuple[int, int], tuple[Neighbour, ...]]:
    """Return the nearest references of each group; a reference that is the image itself is left out, as in scoring."""
    unit = normalise(query_vector.astype(np.float64), "queries")[0]
    found = {}
    for group in references.groups:
        ids = [name for name in references.ids[references.rows(*group)].tolist() if name != sample_id]
        points = normalise(np.asarray([vectors[name] for name in ids], dtype=np.float64), "references")
        distances = np.linalg.norm(points - unit, axis=1)
        order = np.argsort(distances, kind="stable")[:count]
        found[group] = tuple(Neighbour(ids[place], float(distances[place])) for place in order)
    return found
