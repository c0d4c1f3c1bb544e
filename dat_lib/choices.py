"""The words that settings choose among, apart from the code behind them: to name a density is not to reach it."""

from typing import Literal, TypeAlias

Choice: TypeAlias = Literal["herded", "random"]
"""How references are chosen, as methods name it; `Sampling` is the estimator's word."""
Density: TypeAlias = Literal["slof", "knn", "dao"]
Lid: TypeAlias = Literal["mle", "mom", "mom_all"]
Metric: TypeAlias = Literal["euclidean", "cosine"]
"""Cosine distance, 1 - cosine, is half the squared Euclidean distance of unit vectors."""
Sampling: TypeAlias = Literal["herding", "random"]
Shortage: TypeAlias = Literal["drop", "use"]
