"""Calls, tokens and GPU hours of a sweep before it runs.

Invariants: nothing is asked or stored; a call that several runs share counts once; a number that is an estimate says
what it rests on. Calls that depend on missing answers are not counted: those that verify claims which are not extracted
yet are estimated from the pages that the reports cite.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from local_judge.base.errors import ConfigError
from local_judge.base.model import Frozen
from local_judge.claims.evidence import estimate_tokens
from local_judge.documents import UnreadableReport
from local_judge.judge.judge import Judge
from local_judge.judge.planning import PlanningEngine
from local_judge.ledger.requests import Identified
from local_judge.ledger.tail import LedgerTail
from local_judge.runs.execution.execute import execute
from local_judge.runs.execution.judges import JudgeSpec, judge_like, open_judges
from local_judge.runs.planning.config import chosen_protocols
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.sweeps.sweep import Sweep, SweepRun

ENOUGH = 20
"""Number of replies from which on their mean length and speed are used."""

_QUESTION_TOKENS = 900
"""Tokens of the instructions and claims after a page, about."""


class StagePlan(Frozen):
    """Calls of one judge for one purpose."""

    judge: str
    stage: str
    """`extraction`, `verification`, or the name of a protocol."""
    calls: int
    prompt_tokens: int
    output_tokens: int
    replayed: int
    """Calls that the ledger answers."""
    estimated: bool = False
    """True if calls and tokens are estimated from the cited pages."""


class JudgePlan(Frozen):
    """Time of one judge."""

    judge: str
    gpus: int
    tokens_per_second: float | None
    """Prompt and output tokens per second of all of its servers together, cached ones included."""
    rate_from: str
    """Source of the rate."""
    output_from: str
    """Source of the length of the replies."""
    gpu_hours: float | None


class SweepPlan(Frozen):
    """Calls that a sweep would make."""

    runs: int
    reports: int
    """Number of reports over all runs."""
    stages: tuple[StagePlan, ...]
    judges: tuple[JudgePlan, ...]
    unreadable: tuple[str, ...] = ()
    """Ids of reports that cannot be read."""
    too_long: tuple[str, ...] = ()
    """Ids of reports with a planned prompt that does not fit a judge's context."""


class _Measured(NamedTuple):
    """Replies of a judge in a ledger."""

    replies: int
    tokens_per_second: float | None
    output_tokens: float
    """Mean of the replies with more than one token."""


async def plan_sweep(sweep: Sweep, rates: Mapping[str, float]) -> SweepPlan:
    """Return the calls that `run_sweep` would make.

    Args:
        sweep: the sweep.
        rates: tokens per second by judge; the key "" stands for all others.

    Raises:
        ConfigError: a rate belongs to no judge.
        EngineError: a judge cannot be reached; it counts the tokens.
    """
    specs: dict[str, JudgeSpec] = {}
    for spec in (spec for run in sweep.runs for spec in run.job.judge_specs):
        specs.setdefault(spec.name, spec._replace(serve=False))
    for name in rates:
        if name and name not in specs:
            raise ConfigError(f"--rate {name}: no such judge; there are: {', '.join(specs)}")
    first = sweep.runs[0].job
    records: list[CaseRecord] = []
    unverified: dict[str, set[str]] = {name: set() for name in specs}
    async with open_judges(
        list(specs.values()),
        ledger=sweep.ledger,
        base=first.base,
        reasks=first.config.reasks,
        only_engine=first.offline,
        planning=True,
        persistence=first.persistence,
    ) as judges:
        pages: dict[str, int] = {}
        for run in sweep.runs:
            job = run.job
            held = {
                spec.name: await judge_like(judges[spec.name], spec, job.config.reasks, job.calibrations)
                for spec in job.judge_specs
            }
            found = await execute(
                job.reports, held, job.snapshot, job.config, store=None, extractor=job.extractor
            )
            records += found
            cited = _unverified(run, found, pages)
            for name in held:
                unverified[name] |= {f"{job.config.claims.model_dump_json()} {one}" for one in cited}
        stages = [
            stage
            for name, judge in judges.items()
            for stage in await _stages(name, judge, unverified[name], pages, sweep)
        ]
        times = [await _time(specs[name], judge, stages, rates, sweep) for name, judge in judges.items()]
    return SweepPlan(
        runs=len(sweep.runs),
        reports=sweep.reports,
        stages=tuple(stages),
        judges=tuple(times),
        unreadable=_ids(record for record in records if record.status != "done"),
        too_long=_ids(record for record in records if record.n_too_long),
    )


def _ids(records: Iterable[CaseRecord]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.id for record in records))


def _unverified(run: SweepRun, records: Iterable[CaseRecord], pages: dict[str, int]) -> list[str]:
    """Return report and address of each cited page of reports with unknown claims; `pages` gets the pages' tokens."""
    job = run.job
    if job.snapshot is None or not any(one.needs_claims for one in chosen_protocols(job.config)):
        return []
    unread = {record.id for record in records if record.n_sentences_failed}
    claims = job.config.claims
    found: list[str] = []
    for report in job.reports:
        if report.id not in unread:
            continue
        try:
            document = report.parse()
        except UnreadableReport:
            continue
        for url in dict.fromkeys(citation.url for citation in document.citations if citation.url):
            page = job.snapshot.page(url)
            if page.status == "ok":
                pages[url] = min(estimate_tokens(page.text), claims.shown_tokens(claims.claims_per_call))
                found.append(f"{report.id} {url}")
    return found


async def _stages(
    name: str, judge: Judge, unverified: Iterable[str], pages: Mapping[str, int], sweep: Sweep
) -> list[StagePlan]:
    engine, replayed = judge.engine, judge.meter.replayed_stages
    assert isinstance(engine, PlanningEngine)
    measured = await _measured(judge, sweep)
    found: list[StagePlan] = []
    for stage in dict.fromkeys((*engine.stages, *replayed)):
        counts = engine.stages[stage]
        mean = counts.calls * measured.output_tokens
        enough = measured.replies >= ENOUGH
        found.append(
            StagePlan(
                judge=name,
                stage=stage,
                calls=counts.calls,
                prompt_tokens=counts.prompt_tokens,
                output_tokens=min(round(mean), counts.most_output_tokens)
                if enough
                else counts.most_output_tokens,
                replayed=replayed[stage],
            )
        )
    urls = [one.rpartition(" ")[2] for one in unverified]
    if urls:
        output = measured.output_tokens if measured.replies >= ENOUGH else _QUESTION_TOKENS
        found.append(
            StagePlan(
                judge=name,
                stage="verification",
                calls=len(urls),
                prompt_tokens=sum(pages[url] + _QUESTION_TOKENS for url in urls),
                output_tokens=round(len(urls) * output),
                replayed=0,
                estimated=True,
            )
        )
    return found


async def _measured(judge: Judge, sweep: Sweep) -> _Measured:
    """Return the speed and the length of a judge's replies in the ledger."""
    if not sweep.ledger.exists():
        return _Measured(0, None, 0.0)
    digest = Identified.of(await judge.engine.identity()).digest
    tail = LedgerTail(sweep.ledger, 0.0, frozenset([digest]))
    try:
        calls = sorted(tail.answered())
    finally:
        tail.close()
    busy, until = 0.0, float("-inf")
    for call in calls:
        busy += max(0.0, call.ended - max(call.begun, until))
        until = max(until, call.ended)
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in calls)
    long = [call.completion_tokens for call in calls if call.completion_tokens > 1]
    enough = len(calls) >= ENOUGH and busy > 0
    return _Measured(len(calls), tokens / busy if enough else None, sum(long) / len(long) if long else 1.0)


async def _time(
    spec: JudgeSpec, judge: Judge, stages: Iterable[StagePlan], rates: Mapping[str, float], sweep: Sweep
) -> JudgePlan:
    measured = await _measured(judge, sweep)
    rate = rates.get(spec.name, rates.get(""))
    rate_from = "--rate"
    if rate is None:
        rate, rate_from = measured.tokens_per_second, f"{measured.replies:,} replies in the ledger"
    if rate is None:
        rate_from = "unknown: give --rate, or run a part first"
    tokens = sum(stage.prompt_tokens + stage.output_tokens for stage in stages if stage.judge == spec.name)
    vllm = spec.preset.vllm
    gpus = (1 if vllm is None else vllm.tensor_parallel) * max(1, len(spec.base_urls))
    return JudgePlan(
        judge=spec.name,
        gpus=gpus,
        tokens_per_second=rate,
        rate_from=rate_from,
        output_from="mean of the ledger's replies" if measured.replies >= ENOUGH else "limits of the replies",
        gpu_hours=None if rate is None else tokens / rate * gpus / 3600,
    )
