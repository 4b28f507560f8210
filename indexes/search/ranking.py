"""The best rows by score.

Invariant: the order is by score, highest first, then by row, and the same rule decides who is the `k`-th: of equal
scores the lower rows are in. (`numpy.argpartition` alone leaves both open.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from indexes.search.model import Ranked


def best_positive(scores: npt.NDArray[Any], k: int) -> npt.NDArray[np.int64]:
    """Rows of the `k` highest scores above 0; fewer if there are not so many."""
    n = len(scores)
    if k < n:
        threshold = np.partition(scores, n - k)[n - k]
        found = np.flatnonzero(scores >= threshold) if threshold > 0 else np.flatnonzero(scores > 0)
    else:
        found = np.flatnonzero(scores > 0)
    # `found` is in order of row, and a stable sort keeps it so among equals.
    return found[np.argsort(-scores[found], kind="stable")[:k]].astype(np.int64, copy=False)


def ordered(rows: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], k: int) -> Ranked:
    """The `k` best of some rows in any order."""
    order = np.lexsort((rows, -scores))[:k]
    return Ranked(rows[order], scores[order])
