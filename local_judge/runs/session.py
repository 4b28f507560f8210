"""From a preset's name to a judge that can be asked.

Invariant: whatever was opened is closed in the opposite order, also after Ctrl-C; a dry run opens the ledger for
reading only and never lets a question through to the engine.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from serving.connect import connect
from serving.presets import JudgePreset

from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.judge.ledger import Ledger
from local_judge.judge.planning import PlanningEngine
from local_judge.runs import offline


@contextlib.asynccontextmanager
async def open_judge(
    preset: JudgePreset,
    *,
    base_urls: Sequence[str],
    ledger: Path,
    reasks: int,
    only_engine: bool = True,
    planning: bool = False,
) -> AsyncIterator[Judge]:
    """A judge on `preset` with its ledger.

    Args:
        preset: which model, and how it is asked.
        base_urls: servers that run it; empty for the preset's own.
        ledger: SQLite file, made if absent.
        reasks: how often an unanswered item is asked for again.
        only_engine: refuse connections to anything but the engine.
        planning: answer from the ledger only, and count what would have been asked.
    """
    urls = list(base_urls) or preset.base_urls
    with offline.only(urls) if only_engine else contextlib.nullcontext():
        engine = connect(preset, base_urls=urls or None)
        try:
            await engine.identity()
            with Ledger.open(ledger, read_only=planning) as replies:
                settings = JudgeSettings(sampling=preset.sampling, reasks=reasks)
                yield Judge(PlanningEngine(engine) if planning else engine, replies, settings)
        finally:
            await engine.aclose()
