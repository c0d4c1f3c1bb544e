"""The densities that a method needs, made from the pool of a problem: for methods run by hand, without a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dat_lib.attributes import infer_attributes
from dat_lib.density.reference_density import ReferenceDensity
from dat_lib.methods.support.contract import Densities, DensityNeeds, Method, Prediction, Problem, run_method
from dat_lib.reference_sets import reference_notes
from dat_lib.references import corrupt_references, select_references


def run_on_pool(method: Method, problem: Problem) -> Prediction:
    """`run_method` on a problem that holds the pool where the method needs densities.

    Raises:
        ValueError: as `run_method`.
    """
    wanted = method.needs.densities
    if wanted is None:
        return run_method(method, problem)
    try:
        given = problem.only(method.needs.in_full())
    except ValueError as error:
        raise ValueError(f"{method.name}: {error}") from error
    return run_method(method, replace(given, densities=pool_densities(given, wanted)))


def pool_densities(problem: Problem, wanted: DensityNeeds) -> Densities:
    """Densities of the queries in references chosen from the pool, by the seed of the problem."""
    assert problem.pool is not None
    assert problem.pool_labels is not None
    attributes, notes = problem.pool_attributes, dict[str, Any]()
    if wanted.groups == "inferred":
        attributes = infer_attributes(problem.pool, problem.text["attribute"]).attributes
        notes["inferred_pool_attributes"] = np.bincount(attributes, minlength=problem.n_attributes).tolist()
    assert attributes is not None
    references = select_references(
        problem.pool,
        problem.pool_labels,
        attributes,
        n=wanted.n,
        k=wanted.k,
        n_classes=problem.n_classes,
        n_attributes=problem.n_attributes,
        shortage=wanted.shortage,
        sampling="random" if wanted.references == "random" else "herding",
        seed=problem.seed,
        sample_ids=problem.pool_ids,
    )
    if wanted.corruption:
        references = corrupt_references(references, rate=wanted.corruption, seed=problem.seed)
    density = ReferenceDensity(
        references,
        (wanted.k,),
        density=wanted.density,
        lid=wanted.lid,
        metric=wanted.metric,
        device=problem.device,
        working_memory=problem.working_memory,
    )
    log_density = density.log_density(problem.queries, problem.query_ids)[0]
    return Densities(log_density, {**notes, **reference_notes(references, problem.query_ids)})
