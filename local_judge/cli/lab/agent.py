"""`local-judge lab agent`: answers from an agent that searches a snapshot."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.agents.ask import AskedQuestion, ask_question
from local_judge.agents.result import AgentLimits
from local_judge.agents.toolbox import Toolbox, ToolSettings
from local_judge.agents.transcript import render_transcript
from local_judge.cli.ending import stoppable
from local_judge.cli.judging import OneJudge
from local_judge.cli.options import (
    AsJson,
    MaxCalls,
    MaxTokens,
    MaxTurns,
    Tools,
    said,
    tools_named,
)
from local_judge.cli.output import print_json
from local_judge.cli.snapshot.look import AsOf, SearchMode, SnapshotPath, day
from local_judge.reporting.agents import answer_text
from local_judge.runs.execution.agent_runs import claim_answer, write_answer
from local_judge.runs.storage.lock import locked
from local_judge.runs.storage.store import RunStore

_LIMITS = AgentLimits()
_TOOLS = ToolSettings()


def agent(
    snapshot: SnapshotPath,
    question: Annotated[str, typer.Argument(help="The question.")],
    judge: OneJudge,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write answer, transcript and evidence gaps to this directory."),
    ] = None,
    tool: Tools = None,
    mode: SearchMode = _TOOLS.mode,
    as_of: AsOf = None,
    turns: MaxTurns = _LIMITS.turns,
    tokens: MaxTokens = _LIMITS.tokens,
    calls: MaxCalls = _LIMITS.calls,
    reasks: Annotated[
        int, typer.Option("--reasks", min=0, help="Number of repeated calls after an invalid reply.")
    ] = 2,
    transcript: Annotated[
        bool,
        typer.Option(
            "--transcript", help="Also print every step as Markdown; --json always includes the steps."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question from the pages of a snapshot, with quotations that code has verified."""
    store = None if out is None else RunStore(out)
    replies = judge.ledger_or(store and store.ledger)
    question = said("the question", question)
    settings = ToolSettings(tools=tools_named(tool, _TOOLS.tools), mode=mode, as_of=day(as_of))
    toolbox = Toolbox(Snapshot.open(snapshot), settings)
    limits = AgentLimits(turns=turns, tokens=tokens, calls=calls)
    spec = judge.spec()

    async def answered() -> AskedQuestion:
        async with judge.open(spec, replies, reasks) as opened:
            return await ask_question(opened, toolbox, question, limits)

    if store is not None:
        claim_answer(store, question)  # rejects a directory with other contents before writing to it
    with contextlib.nullcontext() if out is None else locked(out), stoppable(replies):
        if store is not None:
            claim_answer(store, question)  # another process may have written to it since
        asked = asyncio.run(answered())
        if store is not None:
            write_answer(store, asked)
    if as_json:
        print_json(asked)
    else:
        print(answer_text(asked))
        if transcript:
            print(f"\n{render_transcript(asked.result)}", end="")
    if asked.result.answer is None:
        raise SystemExit(3)
