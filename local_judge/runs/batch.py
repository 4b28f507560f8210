"""What a batch file of LiveResearchBench says beside its reports.

Invariant: its criteria choose the metrics only where LiveResearchBench is run and nothing else has chosen them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_judge.tasks.report_store import BATCH_SUFFIXES, read_batch

PROTOCOL = "liveresearchbench"


def with_criteria_of(
    paths: Sequence[Path], protocols: Sequence[str], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """`settings` with the metrics that the batch files among `paths` name, in the order of their first mention.

    Raises:
        InputError: a batch file cannot be read.
    """
    given: Mapping[str, Any] = settings.get(PROTOCOL) or {}
    if PROTOCOL not in protocols or "parts" in given:
        return dict(settings)
    batches = [read_batch(path) for path in paths if path.suffix.lower() in BATCH_SUFFIXES]
    parts = list(dict.fromkeys(name for batch in batches for name in batch.criteria))
    if not parts:
        return dict(settings)
    return {**settings, PROTOCOL: {**given, "parts": parts}}
