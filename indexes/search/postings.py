"""Postings sorted by term without holding them in memory.

Invariant: what comes out is in order of term, then row, whatever the size of the runs. Postings come in order of row,
are kept up to `RUN`, sorted by term (stably, so rows stay in order) and written out as one run; ranges of terms are
then read from all runs at once. Memory: one run, or the postings of the most frequent term if they are more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

RUN = 500_000
"""Postings held in memory: 12 bytes each; sorting and scoring them takes five times as much again."""

Ints = npt.NDArray[np.int32]


class Postings(NamedTuple):
    """Columns of equal length."""

    terms: Ints
    rows: Ints
    counts: Ints
    """Number of occurrences of the term in the row."""


class PostingRuns:
    """Takes postings in order of row and gives them back in order of term.

    Args:
        folder: for the runs; the caller removes it.
        run: postings of a run.
    """

    def __init__(self, folder: Path, run: int = RUN) -> None:
        self._folder = folder
        self._run = run
        self._kept = np.empty((3, run), np.int32)
        self._n_kept = 0
        self._lengths: list[int] = []

    def add(self, row: int, terms: Ints, counts: Ints) -> None:
        """The different terms of one row with their counts."""
        taken = 0
        while taken < len(terms):
            begin = self._n_kept
            end = min(begin + len(terms) - taken, self._run)
            part = slice(taken, taken + end - begin)
            self._kept[0, begin:end] = terms[part]
            self._kept[1, begin:end] = row
            self._kept[2, begin:end] = counts[part]
            self._n_kept, taken = end, part.stop
            if end == self._run:
                self._flush()

    def by_term(self, frequencies: npt.NDArray[np.int64]) -> Iterator[Postings]:
        """All postings in order of term, then row, in blocks of whole terms.

        Args:
            frequencies: how many postings each term has.
        """
        self._flush()
        ends = np.cumsum(frequencies)
        first, before = 0, 0
        begins = [0] * len(self._lengths)
        while first < len(ends):
            last = max(first + 1, int(np.searchsorted(ends, before + self._run, "right")))
            parts: list[Ints] = []
            for number, begin in enumerate(begins):
                part = self._read(number, begin, last)
                begins[number] = begin + part.shape[1]
                parts.append(part)
            block = np.concatenate(parts, axis=1) if parts else np.empty((3, 0), np.int32)
            block = block[:, np.argsort(block[0], kind="stable")]
            yield Postings(block[0], block[1], block[2])
            first, before = last, int(ends[last - 1])

    def _read(self, number: int, begin: int, last: int) -> Ints:
        """A run's postings from `begin` on of terms below `last`."""
        # Mapped again each time: what stays mapped counts as this process's memory once it was read.
        run = np.memmap(self._path(number), np.int32, "r", shape=(3, self._lengths[number]))
        # Of the column's type, or numpy would copy the column for the search.
        stop = int(np.searchsorted(run[0], np.int32(last)))
        return np.array(run[:, begin:stop])

    def _flush(self) -> None:
        if self._n_kept == 0:
            return
        kept = self._kept[:, : self._n_kept]
        kept[:, np.argsort(kept[0], kind="stable")].tofile(self._path(len(self._lengths)))
        self._lengths.append(self._n_kept)
        self._n_kept = 0

    def _path(self, run: int) -> Path:
        return self._folder / f"run-{run:06d}"
