"""Herding: a few samples whose running mean stays close to the mean of all."""

import operator

import numpy as np
import numpy.typing as npt

from dat_lib.arrays import FloatArray, IntArray, as_vectors

ROUNDING = 16.0
"""Bound of the rounding of an inner product <z, v>, in units of epsilon |z| |v|."""
TIE = 1e-13
"""Candidates this close, relative to the size of the terms, are equally good: float64 cannot tell them apart."""
SMALL = 2**20
"""Numbers in a pool that is small."""


def herd(pool: npt.ArrayLike, n: int) -> IntArray:
    """Indices [n] of the herded rows of pool [N, d], in order of selection.

    With mu the mean of the pool and S the sum of the rows chosen so far, step k takes the row z not yet chosen that
    minimises || mu - (z + S) / k ||, ties to the smallest index. That is the row with the largest
    <z, mu - S / k> - |z|^2 / (2 k), and for rows of unit length (DAT normalises them first) the paper's
    <z, mu> - <z, S> / k. One matrix-vector product per step: O(n N d), no copy of the pool. Products are made in
    the pool's precision; rows that it cannot tell from the best are compared again in float64.

    Examples
    --------
    >>> herd([[0.0], [1.0], [2.0], [9.0]], 2).tolist()
    [2, 1]
    """
    pool = as_vectors(pool, "pool")
    n = operator.index(n)
    if not 1 <= n <= len(pool):
        raise ValueError(f"n={n} rows cannot be chosen from a pool of {len(pool)}")
    mean = pool.mean(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->i", pool, pool, dtype=np.float64)
    longest = float(np.sqrt(squares.max()))
    epsilon = float(np.finfo(pool.dtype).eps)
    chosen = np.empty(n, dtype=np.int64)
    total = np.zeros_like(mean)
    free = np.zeros(len(pool))
    for k in range(1, n + 1):
        direction = mean - total / k
        size = longest * float(np.linalg.norm(direction))
        gain = _products(pool, direction.astype(pool.dtype)) - squares / (2 * k) + free
        tie = TIE * (size + longest**2 / k)
        candidates = np.flatnonzero(gain >= gain.max() - 2 * ROUNDING * epsilon * size - tie)
        exact = np.einsum("ij,j->i", pool[candidates].astype(np.float64), direction) - squares[candidates] / (2 * k)
        best = candidates[exact >= exact.max() - tie][0]
        chosen[k - 1] = best
        free[best] = -np.inf
        total += pool[best]
    return chosen


def _products(pool: FloatArray, direction: FloatArray) -> FloatArray:
    """Inner products [N]. Of a small pool in this thread: the threads of BLAS would wait longer than they work."""
    products: FloatArray = pool @ direction if pool.size > SMALL else np.einsum("ij,j->i", pool, direction)
    return products
