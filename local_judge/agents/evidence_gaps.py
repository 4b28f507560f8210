"""What a snapshot lacked, on disk.

Invariant: a file of evidence gaps lists each thing once with the number of times that it was asked for, pages first,
each by its text: the same runs give the same bytes, in whatever order they ended.

The addresses are what judges asked for. A judge may have made one up, or have it from a page: who fetches them should
look at the list.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from local_judge.agents.result import EvidenceGap, merged
from local_judge.errors import InputError
from local_judge.rows import read_models, write_jsonl

EVIDENCE_GAPS = "evidence_gaps.jsonl"
"""Name of the file in a run's directory."""


def write_evidence_gaps(path: Path, evidence_gaps: Iterable[EvidenceGap]) -> None:
    """Write the evidence gaps of runs, equal ones added up. Raises InputError."""
    write_jsonl(path, merged(evidence_gaps))


def read_evidence_gaps(path: Path) -> tuple[EvidenceGap, ...]:
    """The evidence gaps in a file, or in the file of a run's directory.

    Raises:
        InputError: there is none, or it has a line that is no evidence gap.
    """
    file = path / EVIDENCE_GAPS if path.is_dir() else path
    found: list[EvidenceGap] = []
    for place, gap in read_models(file, EvidenceGap):
        if (gap.url is None) == (gap.query is None):
            raise InputError(f"{place}: needs one of `url` and `query`")
        found.append(gap)
    return merged(found)
