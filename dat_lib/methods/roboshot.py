"""ROBOSHOT: image embeddings without harmful and with more of helpful directions (Adila et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dat_lib.applicability import directions
from dat_lib.arrays import FloatArray, normalise
from dat_lib.methods.support.contract import Needs, Prediction, Problem
from dat_lib.methods.support.settings import check_settings
from dat_lib.methods.support.subspace import orthonormal_basis, project_out


@dataclass(frozen=True)
class RoboShot:
    """Insight pairs of texts give directions e(s_1) - e(s_2), taken between raw, not unit, embeddings.

    With orthonormal Q_h spanning the harmful ("reject") and Q_u the helpful ("accept") directions, as in
    the published code: z <- normalise(z - Q_h Q_h^T z), then z <- normalise(z + Q_u Q_u^T z), and
    prediction = argmax_y <z, w_y>. One projection equals the code's loop over the columns, which are
    orthonormal.

    `variant` does both steps, only "reject" or only "accept". `accept_along` = "pairs" is the published
    paper's formula for the helpful directions: one after the other, each of unit length, without
    orthogonalisation.
    """

    name: ClassVar[str] = "roboshot"
    title: ClassVar[str] = "ROBOSHOT"

    variant: Literal["both", "reject", "accept"] = "both"
    accept_along: Literal["basis", "pairs"] = "basis"

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def needs(self) -> Needs:
        """Class prompts and the insight pairs, [P, 2] texts of each role that the variant uses."""
        pairs = ("reject", "accept") if self.variant == "both" else (self.variant,)
        return Needs(text=("class", *pairs), one_by_one=True)

    def predict(self, problem: Problem) -> Prediction:
        """Classify the changed image embeddings by the nearest class prompt."""
        queries = normalise(problem.queries, "queries")
        notes = {}
        if self.variant != "accept":
            harmful = orthonormal_basis(_directions(problem, "reject"))
            notes["reject_rank"] = len(harmful)
            queries = directions(project_out(queries, harmful), "queries without the harmful directions", 1.0)
        if self.variant != "reject":
            helpful = _directions(problem, "accept")
            if self.accept_along == "basis":
                basis = orthonormal_basis(helpful).astype(queries.dtype)
                notes["accept_rank"] = len(basis)
                queries = normalise(queries + (queries @ basis.T) @ basis, "queries")
            else:
                for direction in normalise(helpful, "helpful directions").astype(queries.dtype):
                    queries = normalise(queries + (queries @ direction)[:, None] * direction, "queries")
        scores = queries @ normalise(problem.text["class"], "class prompts").T
        return Prediction(scores.argmax(axis=1), scores, notes)


def _directions(problem: Problem, role: str) -> FloatArray:
    """[P, d] differences of the pairs of a role."""
    pairs = problem.text[role]
    if pairs.ndim != 3 or pairs.shape[1] != 2:
        raise ValueError(f"{role} prompts have the shape {pairs.shape[:-1]}, expected (pairs, 2)")
    return pairs[:, 0] - pairs[:, 1]


METHODS = (RoboShot,)
