"""Two rankings made into one.

Invariant: the fused order is a function of the two rankings alone; ties are broken by row.

    rrf      sum over rankings of 1 / (60 + rank), ranks from 1 (Cormack, Clarke and Buettcher, SIGIR 2009); what a
             ranking does not have adds nothing. Needs neither tuning nor scales of scores.
    convex   alpha * dense + (1 - alpha) * bm25, each score normalised by the least value that it can have and by
             the highest of its query: bm25 / max, (cosine + 1) / (max + 1), the "theoretical min-max" of Bruch, Gai
             and Ingber (TOIS 2024). What a ranking does not have counts 0. Worth it once alpha can be tuned.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from indexes.search.model import Ranked, take_best
from local_judge.base.model import Frozen

RRF_K = 60
_DIGITS = 12
"""Sums of the same terms in another order are equal after rounding, so that such ties are seen."""


class FusionSettings(Frozen):
    """Settings for combining two rankings."""

    method: Literal["rrf", "convex"] = "rrf"
    alpha: float = Field(default=0.5, ge=0, le=1)
    """Weight of the dense ranking, for `convex` only."""
    depth: int = Field(default=100, ge=1)
    """Number of results used from each ranking, at least `k`."""


def fuse(bm25: Ranked, dense: Ranked, k: int, settings: FusionSettings | None = None) -> Ranked:
    """The `k` best rows of two rankings of one query."""
    settings = settings or FusionSettings()
    if settings.method == "rrf":
        parts = [1 / (RRF_K + np.arange(1, len(ranked.rows) + 1)) for ranked in (bm25, dense)]
    else:
        parts = [
            (1 - settings.alpha) * _share(bm25.scores, 0.0),
            settings.alpha * _share(dense.scores, -1.0),
        ]
    rows, where = np.unique(np.concatenate([bm25.rows, dense.rows]), return_inverse=True)
    sums = np.zeros(len(rows), np.float64)
    np.add.at(sums, where, np.concatenate(parts))
    return take_best(rows, np.round(sums, _DIGITS), k)


def _share(scores: npt.NDArray[np.float64], least: float) -> npt.NDArray[np.float64]:
    """Scores of one query, 0 for the least possible one, 1 for its highest."""
    if len(scores) == 0 or scores.max() <= least:
        return np.zeros_like(scores)
    return (scores - least) / (scores.max() - least)
