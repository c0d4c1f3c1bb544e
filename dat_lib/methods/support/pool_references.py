"""The herded references that DAT and its controls share."""

from __future__ import annotations

from dat_lib.methods.support.contract import NotApplicableError, Problem, no_references
from dat_lib.references import GroupReferences, Shortage, select_references


def pool_references(problem: Problem, *, n: int, k: int, shortage: Shortage) -> GroupReferences:
    """DAT's references for a problem that holds the pool with labels and attributes.

    Raises:
        NotApplicableError: no group has enough samples, so that there are no references at all.
    """
    assert problem.pool is not None
    assert problem.pool_labels is not None
    assert problem.pool_attributes is not None
    references = select_references(
        problem.pool,
        problem.pool_labels,
        problem.pool_attributes,
        n=n,
        k=k,
        n_classes=problem.n_classes,
        n_attributes=problem.n_attributes,
        shortage=shortage,
        sample_ids=problem.pool_ids,
    )
    if not references.groups:
        raise NotApplicableError(no_references([(group.have, group.need) for group in references.dropped]))
    return references
