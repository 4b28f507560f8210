"""Judges of a run: presets, the servers that run them, and their engines and ledger while they are open.

Invariants: each judge of a run has a unique name, which its files and scores carry, and no two judges are the same
model sampled in the same way; whatever was opened is closed in reverse order, also after Ctrl-C; dry runs and replays
open the ledger read-only and send no question to an engine.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict, Unpack

from local_judge.base.errors import ConfigError, plain
from local_judge.base.output import is_quiet
from local_judge.judge.judge import Judge, JudgeSettings
from local_judge.judge.planning import PlanningEngine, ReplayEngine
from local_judge.ledger.ledger import Ledger
from local_judge.runs.execution import offline
from local_judge.runs.planning.calibrations import GivenCalibrations, calibrations_for, check_given
from serving.connect import connect, is_judge
from serving.engine import Engine
from serving.engines import PERSISTENT, Persistence, kind_of
from serving.keys import api_key
from serving.presets import Preset, load_preset
from serving.running import find, using
from serving.types import EngineIdentity, Sampling

PLAIN_NAME = re.compile(r"[^\W_][\w.+-]{0,79}")
"""Name that is a valid folder name on every system."""


class JudgeSpec(NamedTuple):
    """Preset of a judge, and where it runs."""

    preset: Preset
    base_urls: tuple[str, ...] = ()
    """Servers that run it; none for a model in this process, and for those that `judge up` has started."""
    serve: bool = False
    """Start its servers if none are given and none are running, and stop them afterwards."""
    recorded: EngineIdentity | None = None
    """Identity of an engine that wrote replies. If it is given, the judge answers from the ledger only."""

    @property
    def name(self) -> str:
        """Name of the preset, or the stem of a preset file."""
        return self.preset.name


_DRAW_STRIDE = 1000
"""Difference between the seeds of two draws of a run, so that they never equal those of draws of one question."""


def judge_specs_of(
    judges: Sequence[str],
    base_urls: Sequence[str],
    serve: bool = False,
    draw: int = 0,
    allow_preset_code: bool = False,
) -> tuple[JudgeSpec, ...]:
    """Return the judges of a run, in the order in which they are named: the first one extracts the claims.

    Args:
        judges: presets, by name or file.
        base_urls: `NAME=URL` for one judge; a URL alone for every judge without one of its own.
        serve: start the servers of judges without a URL that are not running, while the judges are open.
        draw: number of the draw, which changes the seeds.
        allow_preset_code: let the presets run code on this machine (`serving.preset_code`).

    Raises:
        ConfigError: no judge, a name given twice, a name that cannot be a folder's, or a URL for an unknown judge.
        PresetError: a preset is missing or invalid.
    """
    if not judges:
        raise ConfigError("no judge was given; name at least one with --judge")
    presets = [_drawn(load_preset(judge).allowing_code(allow_preset_code), draw) for judge in judges]
    names = [preset.name for preset in presets]
    for preset, judge in zip(presets, judges, strict=True):
        if names.count(preset.name) > 1:
            raise ConfigError(
                f"--judge {judge}: several judges are called {preset.name!r}; to ask a model twice, give it a second "
                "preset file with another name and other sampling"
            )
        if len(names) > 1 and not PLAIN_NAME.fullmatch(preset.name):
            raise ConfigError(
                f"--judge {judge}: a folder is named after the judge, and this name cannot be one; rename the file"
            )
    own: dict[str, list[str]] = {name: [] for name in names}
    common: list[str] = []
    for given in base_urls:
        name, equals, url = given.partition("=")
        if not equals or "://" in name:
            common.append(given)
        elif name in own:
            own[name].append(url)
        else:
            raise ConfigError(f"--base-url {given}: no judge {name!r}; there are: {', '.join(names)}")
    return tuple(JudgeSpec(preset, tuple(own[preset.name] or common), serve) for preset in presets)


def _drawn(preset: Preset, draw: int) -> Preset:
    if not draw:
        return preset
    seed = preset.sampling.seed + _DRAW_STRIDE * draw
    return preset.model_copy(update={"sampling": preset.sampling.model_copy(update={"seed": seed})})


def replayed(
    judge_specs: Sequence[JudgeSpec], ledger: Path, known: Sequence[EngineIdentity] = ()
) -> tuple[JudgeSpec, ...]:
    """Return judges that answer from the ledger only, so that none of their servers is asked.

    Args:
        judge_specs: the judges.
        ledger: file with their replies.
        known: identities that take precedence, such as those in the manifest of a run; the next are those of the
            ledger, from the latest reply on.

    Raises:
        ConfigError: no identity belongs to the preset of a judge.
        LedgerError: the ledger cannot be read.
    """
    found = with_identities(judge_specs, ledger, known)
    for spec in found:
        if spec.recorded is None:
            raise ConfigError(
                f"--replay: the ledger {ledger} has no replies by judge {spec.name!r} as its preset describes it; name "
                "the ledger with --ledger, or run without --replay"
            )
    return found


def with_identities(
    judge_specs: Sequence[JudgeSpec], ledger: Path, known: Sequence[EngineIdentity] = ()
) -> tuple[JudgeSpec, ...]:
    """Return judges with the identity under which each has answered; arguments and errors as `replayed`.

    A judge without stored replies stays as it is.
    """
    with Ledger.open(ledger, read_only=True) as replies:
        identities = [*known, *replies.judges()]
    return tuple(
        spec._replace(recorded=next((one for one in identities if is_judge(spec.preset, one)), None))
        for spec in judge_specs
    )


def is_reachable(judge_spec: JudgeSpec) -> bool:
    """Check whether a judge runs in this process, has URLs, or is running on this machine.

    Raises:
        LaunchFailed: its servers on this machine are still starting, or do not answer.
    """
    kind = kind_of(judge_spec.preset.engine, judge_spec.base_urls)
    has_urls = bool(judge_spec.base_urls or kind.default_urls)
    return not kind.needs_server or has_urls or find(judge_spec.preset) is not None


class JudgeOptions(TypedDict):
    """Options of `open_judges`."""

    ledger: Path
    """SQLite file, made if absent."""
    base: NotRequired[Path | None]
    """Ledger that is read where `ledger` lacks a reply."""
    reasks: int
    """Number of times that an unanswered item is asked again."""
    only_engine: NotRequired[bool]
    """Refuse connections to anything except the engines; on by default."""
    planning: NotRequired[bool]
    """Answer from the ledger only, and count the calls that would be made."""
    calibrations: NotRequired[Sequence[GivenCalibrations]]
    """Files that take precedence over the calibrations in the ledger."""
    persistence: NotRequired[Persistence]
    """Attempts per call, time to wait for a server, and number of calls that may fail."""


@contextlib.asynccontextmanager
async def open_judge(
    preset: Preset, *, base_urls: Sequence[str], **options: Unpack[JudgeOptions]
) -> AsyncGenerator[Judge]:
    """Open one judge, as `open_judges` does; `base_urls` is empty for a model in this process."""
    judge_spec = JudgeSpec(preset, tuple(base_urls))
    async with open_judges([judge_spec], **options) as judges:
        yield judges[judge_spec.name]


@contextlib.asynccontextmanager
async def open_judges(
    judge_specs: Sequence[JudgeSpec], **options: Unpack[JudgeOptions]
) -> AsyncGenerator[Mapping[str, Judge]]:
    """Open judges with one common ledger, and yield them by name in their order.

    Raises:
        EngineError: an engine cannot be reached.
        ConfigError: two judges are the same model sampled in the same way, or a calibration belongs to none of them.
    """
    planning, given = options.get("planning", False), options.get("calibrations", ())
    persistence = options.get("persistence", PERSISTENT)
    async with open_engines(judge_specs, options.get("only_engine", True), persistence) as engines:
        check_given(given, {name: await engine.identity() for name, engine in engines.items()})
        replaying = all(spec.recorded is not None for spec in judge_specs)
        read_only, base = planning or replaying, options.get("base")
        with Ledger.open(options["ledger"], read_only=read_only, base=base) as replies:
            yield {
                spec.name: await judge_on(
                    spec,
                    PlanningEngine(engines[spec.name]) if planning else engines[spec.name],
                    replies,
                    options["reasks"],
                    given,
                    persistence.fail_after,
                )
                for spec in judge_specs
            }


@contextlib.asynccontextmanager
async def open_engines(
    judge_specs: Sequence[JudgeSpec],
    only_engine: bool = True,
    persistence: Persistence = PERSISTENT,
) -> AsyncGenerator[dict[str, Engine]]:
    """Open the engines of judges, check that each answers, and yield them by the judge's name.

    Args:
        judge_specs: the judges.
        only_engine: refuse connections to anything except the engines.
        persistence: attempts per call, and time to wait for a server.

    Raises:
        EngineError: an engine cannot be reached.
        LaunchFailed: the servers of a judge did not start, or do not answer.
        PresetError: a judge needs a server, and has none.
        ConfigError: two judges are the same model sampled in the same way.
    """
    async with contextlib.AsyncExitStack() as serving:
        judge_specs = [await _with_servers(one, serving) for one in judge_specs]
        base_urls = [url for one in judge_specs if one.recorded is None for url in one.base_urls]
        async with contextlib.AsyncExitStack() as opened:
            opened.enter_context(offline.only(base_urls) if only_engine else contextlib.nullcontext())
            engines: dict[str, Engine] = {}
            seen: list[tuple[str, EngineIdentity, Sampling]] = []
            for judge_spec in judge_specs:
                engine = _engine(judge_spec, persistence)
                opened.push_async_callback(engine.aclose)
                seen.append((judge_spec.name, await engine.identity(), judge_spec.preset.sampling))
                engines[judge_spec.name] = engine
            _refuse_duplicates(seen)
            yield engines


async def _with_servers(judge_spec: JudgeSpec, serving: contextlib.AsyncExitStack) -> JudgeSpec:
    """Return a judge with the URLs of its servers on this machine, if it needs a server and none is given."""
    kind = kind_of(judge_spec.preset.engine)
    if judge_spec.recorded is not None or judge_spec.base_urls or not kind.needs_server:
        return judge_spec
    if not kind.is_launched:
        return judge_spec._replace(base_urls=kind.default_urls)
    running = await serving.enter_async_context(using(judge_spec.preset, serve=judge_spec.serve, tell=say))
    if running is None:
        return judge_spec
    say(f"{judge_spec.name} runs at {' '.join(running.base_urls)}")
    return judge_spec._replace(base_urls=running.base_urls)


def _engine(judge_spec: JudgeSpec, persistence: Persistence) -> Engine:
    if judge_spec.recorded is not None:
        return ReplayEngine(judge_spec.name, judge_spec.recorded, judge_spec.preset.limits)
    return connect(
        judge_spec.preset,
        base_urls=judge_spec.base_urls,
        api_key=api_key(judge_spec.name),
        persistence=persistence,
        tell=say,
    )


async def judge_on(
    judge_spec: JudgeSpec,
    engine: Engine,
    ledger: Ledger,
    reasks: int,
    calibrations: Sequence[GivenCalibrations] = (),
    fail_after: int | None = None,
) -> Judge:
    """Return a judge on an open engine, with the settings of its preset."""
    return Judge(
        engine,
        ledger,
        _settings(judge_spec, reasks),
        calibrations_for(await engine.identity(), ledger, calibrations),
        fail_after,
    )


async def judge_like(
    judge: Judge, judge_spec: JudgeSpec, reasks: int, calibrations: Sequence[GivenCalibrations] = ()
) -> Judge:
    """Return an open judge with the settings of another run, which shares its engine, scheduler and counts."""
    found = calibrations_for(await judge.engine.identity(), judge.ledger, calibrations)
    return judge.sharing(_settings(judge_spec, reasks), found)


def _settings(judge_spec: JudgeSpec, reasks: int) -> JudgeSettings:
    preset = judge_spec.preset
    return JudgeSettings(sampling=preset.sampling, reasks=reasks, threshold=preset.threshold)


def say(line: str) -> None:
    """Print a line about a judge to standard error without control characters, unless --quiet is given."""
    if not is_quiet():
        print(plain(line), file=sys.stderr, flush=True)


def _refuse_duplicates(judges: Sequence[tuple[str, EngineIdentity, Sampling]]) -> None:
    """Refuse a judge that is given twice: its agreement with itself means nothing."""
    for place, (name, *asked) in enumerate(judges):
        for other, *asked_before in judges[:place]:
            if asked == asked_before:
                raise ConfigError(
                    f"judges {other!r} and {name!r} are the same model with the same sampling, so they would be one "
                    "judge twice; change the sampling in one of their presets"
                )
