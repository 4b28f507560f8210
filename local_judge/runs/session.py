"""Opening and closing the judges of a run.

Invariant: whatever was opened is closed in the opposite order, also after Ctrl-C; a dry run opens the ledger for
reading only and never lets a question through to an engine; no two judges of a run are the same.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from local_judge.errors import ConfigError
from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.judge.ledger import Ledger
from local_judge.judge.planning import PlanningEngine
from local_judge.runs import offline
from local_judge.runs.calibrations import GivenCalibrations, calibrations_for, check_given
from local_judge.runs.judge_specs import JudgeSpec
from serving.connect import PERSISTENT, Persistence, connect
from serving.engine import Engine
from serving.presets import Preset
from serving.types import EngineIdentity, Sampling

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
    calibrations: Sequence[GivenCalibrations] = (),
    persistence: Persistence = PERSISTENT,
) -> AsyncGenerator[Judge]:
    """A judge on `preset` with its ledger.

    Args:
        preset: which model, and how it is asked.
        base_urls: servers that run it; empty for a model in this process.
        ledger: SQLite file, made if absent.
        reasks: how often an unanswered item is asked for again.
        only_engine: refuse connections to anything but the engine.
        calibrations: files that count before what the ledger has.
        persistence: how often a call is sent, how long an outage is waited for, how many calls may fail.
    """
    judge_spec = JudgeSpec(preset, tuple(base_urls))
    async with open_judges(
        [judge_spec],
        ledger=ledger,
        reasks=reasks,
        only_engine=only_engine,
        calibrations=calibrations,
        persistence=persistence,
    ) as judges:
        yield judges[judge_spec.name]


@contextlib.asynccontextmanager
async def open_judges(
    judge_specs: Sequence[JudgeSpec],
    *,
    ledger: Path,
    reasks: int,
    only_engine: bool = True,
    planning: bool = False,
    calibrations: Sequence[GivenCalibrations] = (),
    persistence: Persistence = PERSISTENT,
) -> AsyncGenerator[Mapping[str, Judge]]:
    """The judges of a run by name, in their order, with one ledger for all.

    Args:
        judge_specs: which models, how they are asked, and where.
        ledger: SQLite file, made if absent.
        reasks: how often an unanswered item is asked for again.
        only_engine: refuse connections to anything but the engines.
        planning: answer from the ledger only, and count what would have been asked.
        calibrations: files that count before what the ledger has.
        persistence: how often a call is sent, how long an outage is waited for, how many calls may fail.

    Raises:
        EngineError: an engine cannot be reached at all.
        ConfigError: two judges are the same model asked in the same way, or a calibration is of none of them.
    """
    async with open_engines(judge_specs, only_engine, persistence) as engines:
        check_given(calibrations, {name: await engine.identity() for name, engine in engines.items()})
        with Ledger.open(ledger, read_only=planning) as replies:
            yield {
                judge_spec.name: await judge_on(
                    judge_spec,
                    PlanningEngine(engines[judge_spec.name]) if planning else engines[judge_spec.name],
                    replies,
                    reasks,
                    calibrations,
                    persistence.fail_after,
                )
                for judge_spec in judge_specs
            }


@contextlib.asynccontextmanager
async def open_engines(
    judge_specs: Sequence[JudgeSpec], only_engine: bool = True, persistence: Persistence = PERSISTENT
) -> AsyncGenerator[dict[str, Engine]]:
    """The engines of some judges by name, each known to answer.

    Raises:
        EngineError: one cannot be reached at all.
        ConfigError: two judges are the same model asked in the same way.
    """
    base_urls = [url for judge_spec in judge_specs for url in judge_spec.base_urls]
    with offline.only(base_urls) if only_engine else contextlib.nullcontext():
        async with contextlib.AsyncExitStack() as opened:
            engines: dict[str, Engine] = {}
            for judge_spec in judge_specs:
                engine = connect(
                    judge_spec.preset,
                    base_urls=judge_spec.base_urls,
                    api_key=os.environ.get(API_KEY),
                    persistence=persistence,
                    tell=_say,
                )
                opened.push_async_callback(engine.aclose)
                await engine.identity()
                engines[judge_spec.name] = engine
            await _refuse_duplicates(judge_specs, engines)
            yield engines


async def judge_on(
    judge_spec: JudgeSpec,
    engine: Engine,
    ledger: Ledger,
    reasks: int,
    calibrations: Sequence[GivenCalibrations] = (),
    fail_after: int | None = None,
) -> Judge:
    """A judge on an open engine, asked as its preset says."""
    return Judge(
        engine,
        ledger,
        JudgeSettings(
            sampling=judge_spec.preset.sampling, reasks=reasks, threshold=judge_spec.preset.threshold
        ),
        calibrations_for(await engine.identity(), ledger, calibrations),
        fail_after,
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def _refuse_duplicates(judge_specs: Sequence[JudgeSpec], engines: Mapping[str, Engine]) -> None:
    """A judge that agrees with itself says nothing."""
    seen: list[tuple[str, EngineIdentity, Sampling]] = []
    for judge_spec in judge_specs:
        identity = await engines[judge_spec.name].identity()
        for name, other, sampling in seen:
            if (identity, judge_spec.preset.sampling) == (other, sampling):
                raise ConfigError(
                    f"judges {name!r} and {judge_spec.name!r} are the same model, asked in the same way: they would be "
                    "one judge twice; give one of their presets another sampling"
                )
        seen.append((judge_spec.name, identity, judge_spec.preset.sampling))
