"""Metrics that a batch file of LiveResearchBench chooses.

Invariant: its criteria choose the metrics only where LiveResearchBench is run and nothing else has chosen them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from local_judge.runs.config import RunConfig
from local_judge.tasks.report_store import BATCH_SUFFIXES, read_batch

PROTOCOL = "liveresearchbench"


def with_criteria_of(paths: Sequence[Path], config: RunConfig) -> RunConfig:
    """`config` with the metrics that the batch files among `paths` name, in the order of their first mention.

    Raises:
        InputError: a batch file cannot be read.
    """
    given = config.settings.get(PROTOCOL, {})
    if PROTOCOL not in config.protocols or "parts" in given:
        return config
    batches = [read_batch(path) for path in paths if path.suffix.lower() in BATCH_SUFFIXES]
    parts = list(dict.fromkeys(name for batch in batches for name in batch.criteria))
    if not parts:
        return config
    return config.model_copy(update={"settings": {**config.settings, PROTOCOL: {**given, "parts": parts}}})
