"""From a preset's name to a judge that can be asked.

Invariant: whatever was opened is closed in the opposite order, also after Ctrl-C; a dry run opens the ledger for
reading only and never lets a question through to the engine.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.judge.ledger import Ledger
from local_judge.judge.planning import PlanningEngine
from local_judge.runs import offline
from serving.connect import connect
from serving.presets import Preset

API_KEY = "LOCAL_JUDGE_API_KEY"
"""Environment variable with the servers' key, where they ask for one."""


@contextlib.asynccontextmanager
async def open_judge(
    preset: Preset,
    *,
    base_urls: Sequence[str],
    ledger: Path,
    reasks: int,
    only_engine: bool = True,
    planning: bool = False,
) -> AsyncGenerator[Judge]:
    """A judge on `preset` with its ledger.

    Args:
        preset: which model, and how it is asked.
        base_urls: servers that run it; empty for a model in this process.
        ledger: SQLite file, made if absent.
        reasks: how often an unanswered item is asked for again.
        only_engine: refuse connections to anything but the engine.
        planning: answer from the ledger only, and count what would have been asked.
    """
    with offline.only(base_urls) if only_engine else contextlib.nullcontext():
        engine = connect(preset, base_urls=base_urls, api_key=os.environ.get(API_KEY))
        try:
            await engine.identity()
            with Ledger.open(ledger, read_only=planning) as replies:
                settings = JudgeSettings(sampling=preset.sampling, reasks=reasks)
                yield Judge(PlanningEngine(engine) if planning else engine, replies, settings)
        finally:
            await engine.aclose()
