"""Prompt tokens that a server computes for all six protocols on one report, beside the published projects' calls.

Invariant: both sides read the same report, request, reference, pages and search results, on the same server, from an
empty cache, with one token per reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from local_judge.ledger.ledger import Trace
from scripts.benchmarking.one_token import Chat, Counting, OneToken, measured
from scripts.benchmarking.original_layouts import Step, original_steps, shown_in
from scripts.benchmarking.simulation import ServerModel, calls_of, simulate
from scripts.benchmarking.six_protocols import Material, ScriptedReplies
from scripts.freezing import PROTOCOLS
from serving.presets import Preset

TREE = 1
"""Block size of the ideal: every distinct token prefix is computed once."""


async def six_protocols(
    server: Counting, engine: OneToken, preset: Preset, material: Material, originals: Path, block: int
) -> dict[str, Any]:
    """Measure our run of all six protocols, then the calls of each published project.

    Args:
        server: The server behind `engine`.
        engine: Engine that reads the prompts.
        preset: Preset of the judge.
        material: One report.
        originals: Folder with a checkout of each published project.
        block: Tokens of a block of the server's cache, for the simulator.
    """
    [report] = material.texts
    traces: list[Trace] = []

    async def ours(protocols: Sequence[str]) -> None:
        traces.extend(await material.run(protocols, ScriptedReplies(engine), preset))

    async def theirs(steps: Sequence[Step]) -> None:
        for step in steps:
            await asyncio.gather(*(conversation(chats) for chats in step))

    async def conversation(chats: Sequence[Chat]) -> None:
        for chat in chats:
            await engine.generate(chat, preset.sampling)

    found = {"ours": await measured(server, engine, partial(ours, PROTOCOLS), TREE)}
    # The simulator has an event loop of its own.
    found["ours"]["simulated"] = await asyncio.to_thread(_simulated, server, engine.chats, traces, block)
    shown = shown_in(
        traces, *(one[report] for one in (material.requests, material.texts, material.references))
    )
    for name, steps in original_steps(originals, shown).items():
        found[name] = await measured(server, engine, partial(theirs, steps), TREE)
    found["dream"] = await measured(server, engine, partial(ours, ["dream"]), TREE)
    computed = sum(one["computed"] for name, one in found.items() if name != "ours")
    return {**found, "originals": computed, "share": round(found["ours"]["computed"] / computed, 4)}


def _simulated(server: Counting, chats: Sequence[Chat], traces: Sequence[Trace], block: int) -> int:
    """Return the prompt tokens that the simulator computes for these calls, with a cache that holds all of them."""
    groups = {trace.messages: trace.prompt.prefix_key for trace in traces}
    prompts = [server.tokens(chat) for chat in chats]
    calls = calls_of(prompts, [1] * len(prompts), [groups.get(chat, "") for chat in chats])
    model = ServerModel(2 * sum(map(len, prompts)), prefill=1000.0, decode=1000.0, slots=8, block=block)
    return simulate(calls, model).computed_tokens
