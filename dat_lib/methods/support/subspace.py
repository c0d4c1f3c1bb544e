"""The subspace that a few vectors span."""

from __future__ import annotations

import numpy as np

from dat_lib.applicability import NotApplicableError
from dat_lib.arrays import FloatArray


def orthonormal_basis(vectors: FloatArray) -> FloatArray:
    """An orthonormal basis, as rows [rank, d] in float64, of the span of the rows of `vectors` [m, d].

    The rank is revealed by the singular values, at the precision of float32 embeddings: repeated or
    dependent rows add no direction, where a QR decomposition would add an arbitrary one.
    """
    _, singular, directions = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    if not singular.size:
        return directions
    threshold = singular[0] * max(vectors.shape) * np.finfo(np.float32).eps
    basis: FloatArray = directions[singular > threshold]
    return basis


def project_out(vectors: FloatArray, basis: FloatArray) -> FloatArray:
    """The rows of `vectors` [n, d] without their part in the span of the orthonormal rows of `basis` [r, d].

    Raises:
        NotApplicableError: the basis spans the whole space, so that nothing would remain.
    """
    if len(basis) >= vectors.shape[1]:
        raise NotApplicableError(f"the prompts to remove span all {len(basis)} dimensions, so nothing would remain")
    basis = basis.astype(vectors.dtype, copy=False)
    remainder: FloatArray = vectors - (vectors @ basis.T) @ basis
    return remainder
