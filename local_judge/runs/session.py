"""From presets to judges that can be asked.

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
from local_judge.runs.calibrations import Given, calibrations_for, check_given
from local_judge.runs.seats import Seat
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
    calibrations: Sequence[Given] = (),
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
    seat = Seat(preset, tuple(base_urls))
    async with open_judges(
        [seat],
        ledger=ledger,
        reasks=reasks,
        only_engine=only_engine,
        calibrations=calibrations,
        persistence=persistence,
    ) as judges:
        yield judges[seat.name]


@contextlib.asynccontextmanager
async def open_judges(
    seats: Sequence[Seat],
    *,
    ledger: Path,
    reasks: int,
    only_engine: bool = True,
    planning: bool = False,
    calibrations: Sequence[Given] = (),
    persistence: Persistence = PERSISTENT,
) -> AsyncGenerator[Mapping[str, Judge]]:
    """The judges of a run by name, in their order, with one ledger for all.

    Args:
        seats: which models, how they are asked, and where.
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
    async with open_engines(seats, only_engine, persistence) as engines:
        check_given(calibrations, {name: await engine.identity() for name, engine in engines.items()})
        with Ledger.open(ledger, read_only=planning) as replies:
            yield {
                seat.name: await judge_on(
                    seat,
                    PlanningEngine(engines[seat.name]) if planning else engines[seat.name],
                    replies,
                    reasks,
                    calibrations,
                    persistence.fail_after,
                )
                for seat in seats
            }


@contextlib.asynccontextmanager
async def open_engines(
    seats: Sequence[Seat], only_engine: bool = True, persistence: Persistence = PERSISTENT
) -> AsyncGenerator[dict[str, Engine]]:
    """The engines of some judges by name, each known to answer.

    Raises:
        EngineError: one cannot be reached at all.
        ConfigError: two judges are the same model asked in the same way.
    """
    base_urls = [url for seat in seats for url in seat.base_urls]
    with offline.only(base_urls) if only_engine else contextlib.nullcontext():
        async with contextlib.AsyncExitStack() as opened:
            engines: dict[str, Engine] = {}
            for seat in seats:
                engine = connect(
                    seat.preset,
                    base_urls=seat.base_urls,
                    api_key=os.environ.get(API_KEY),
                    persistence=persistence,
                    tell=_say,
                )
                opened.push_async_callback(engine.aclose)
                await engine.identity()
                engines[seat.name] = engine
            await _refuse_twins(seats, engines)
            yield engines


async def judge_on(
    seat: Seat,
    engine: Engine,
    ledger: Ledger,
    reasks: int,
    calibrations: Sequence[Given] = (),
    fail_after: int | None = None,
) -> Judge:
    """A judge on an open engine, asked as its preset says."""
    return Judge(
        engine,
        ledger,
        JudgeSettings(sampling=seat.preset.sampling, reasks=reasks, threshold=seat.preset.threshold),
        calibrations_for(await engine.identity(), ledger, calibrations),
        fail_after,
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def _refuse_twins(seats: Sequence[Seat], engines: Mapping[str, Engine]) -> None:
    """A judge that agrees with itself says nothing."""
    seen: list[tuple[str, EngineIdentity, Sampling]] = []
    for seat in seats:
        identity = await engines[seat.name].identity()
        for name, other, sampling in seen:
            if (identity, seat.preset.sampling) == (other, sampling):
                raise ConfigError(
                    f"judges {name!r} and {seat.name!r} are the same model, asked in the same way: they would be one "
                    "judge twice; give one of their presets another sampling"
                )
        seen.append((seat.name, identity, seat.preset.sampling))
