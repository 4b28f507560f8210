"""The search over a snapshot, for the metrics that search."""

from __future__ import annotations

from functools import lru_cache

from indexes.corpus import Corpus
from indexes.snapshot import Snapshot


@lru_cache(maxsize=4)
def corpus_of(snapshot: Snapshot) -> Corpus:
    """The search over a snapshot, opened once for all reports. Raises IndexDamaged: the index is not whole."""
    return snapshot.corpus()
