"""Counts of all benchmarks on planted claims: correct answers and their cost.

Invariant: a share is over claims that were answered; what was not is counted beside it. Tokens are those of all replies
that the ledger holds, whoever made them and when.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from local_judge.judge.judge import Judge
from local_judge.lab.planting.model import ALTERATIONS, PlantedClaim
from local_judge.prompts import Prompt
from scripts.benchmarking.prefixes import BLOCK_TOKENS
from scripts.benchmarking.vllm_server import MeasuredServer, measured_server
from serving.engines import ENGINES
from serving.presets import Preset


def quality(planted: Sequence[PlantedClaim], called: Sequence[bool]) -> dict[str, Any]:
    """Shares over claims of which it is known what they were called.

    accuracy      "stated" taken as true, everything else as altered
    caught        share of the altered claims that are not called true; also by kind, as [caught, of]
    called_wrong  share of the true claims that are not called true
    """
    pairs = list(zip(planted, called, strict=True))
    altered = [call for claim, call in pairs if not claim.true]
    true = [call for claim, call in pairs if claim.true]
    kinds = [(claim.kind, call) for claim, call in pairs if claim.kind is not None]
    return {
        "accuracy": share(sum(call == claim.true for claim, call in pairs), len(pairs)),
        "caught": share(sum(not call for call in altered), len(altered)),
        "called_wrong": share(sum(not call for call in true), len(true)),
        "caught_by_kind": {
            kind: [sum(not call for one, call in kinds if one == kind), sum(one == kind for one, _ in kinds)]
            for kind in ALTERATIONS
        },
    }


def share(part: int, whole: int) -> float | None:
    """`part` of `whole` to four places; None of nothing."""
    return round(part / whole, 4) if whole else None


class Tokens(NamedTuple):
    """Token cost of replies."""

    prompt: int
    computed: int | None
    """Prompt tokens not read from the prefix cache; None if the engine does not report it."""
    shared_once: int
    """Prompt tokens that would be computed if each opening were computed once, in blocks of 16: from the openings'
    own lengths."""
    generated: int


async def tokens_of(judge: Judge) -> Tokens:
    """Return the cost of all replies in the judge's ledger."""
    stats = judge.ledger.stats()
    traces = [trace for key in judge.ledger.request_keys() if (trace := judge.ledger.reply(key)) is not None]
    says = bool(traces) and all(trace.reply.usage.cached_tokens is not None for trace in traces)
    openings: dict[tuple[str, str], int] = {}
    once = 0
    for trace in traces:
        prompt = trace.prompt
        opening = (prompt.system, prompt.shared)
        if opening not in openings:
            alone = Prompt(shared=prompt.shared, own="", prefix_key=prompt.prefix_key, system=prompt.system)
            length = await judge.engine.count_tokens(alone.messages())
            openings[opening] = length // BLOCK_TOKENS * BLOCK_TOKENS
            once += openings[opening]
        once += max(trace.reply.usage.prompt_tokens - openings[opening], 0)
    return Tokens(
        prompt=stats.prompt_tokens,
        computed=stats.prompt_tokens - stats.cached_tokens if says else None,
        shared_once=once,
        generated=stats.completion_tokens,
    )


@contextlib.contextmanager
def engine_of(preset: Preset, base_url: str | None) -> Generator[MeasuredServer | None]:
    """Return the server that runs the judge; None where it runs in process."""
    if not ENGINES[preset.engine].needs_server and base_url is None:
        yield None
        return
    with measured_server(preset, base_url) as server:
        yield server
