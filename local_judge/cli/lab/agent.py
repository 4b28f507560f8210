"""`local-judge lab agent`: a judge that looks things up in a snapshot."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Annotated

import typer

from indexes.search.searcher import Mode
from indexes.snapshot import Snapshot
from local_judge.agents.ask import AskedQuestion, ask_question
from local_judge.agents.result import AgentLimits
from local_judge.agents.toolbox import Toolbox, ToolSettings
from local_judge.agents.transcript import render_transcript
from local_judge.cli.ending import stoppable
from local_judge.cli.modified import AllowModified, print_marks
from local_judge.cli.options import (
    AsJson,
    BaseUrls,
    JudgeName,
    Ledger,
    Offline,
    OneOfJudges,
    Tools,
    said,
    tools_named,
)
from local_judge.cli.output import print_json
from local_judge.cli.snapshot.look import AsOf, SnapshotPath, day
from local_judge.errors import ConfigError, plain
from local_judge.reporting.agents import answer_text
from local_judge.runs.agent_runs import claim_answer, stored_runs, write_answer
from local_judge.runs.judges import open_judge
from local_judge.runs.lock import locked
from local_judge.runs.store import RunStore
from serving.presets import Preset, load_preset

app = typer.Typer(
    help="Answer questions with an agent that searches a snapshot, and print transcripts.",
    no_args_is_help=True,
)

_LIMITS = AgentLimits()
_TOOLS = ToolSettings()


@app.command()
def ask(
    snapshot: SnapshotPath,
    question: Annotated[str, typer.Argument(help="What is to be answered.")],
    judge: JudgeName,
    base_url: BaseUrls = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write answer, transcript and evidence gaps into this directory."),
    ] = None,
    ledger: Ledger = None,
    tool: Tools = None,
    mode: Annotated[Mode, typer.Option("--mode", help="How searches rank.")] = _TOOLS.mode,
    as_of: AsOf = None,
    turns: Annotated[int, typer.Option("--turns", min=1, help="Questions to the judge.")] = _LIMITS.turns,
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, help="Most tokens of all prompts and replies.")
    ] = _LIMITS.tokens,
    calls: Annotated[int, typer.Option("--calls", min=1, help="Queries and pages.")] = _LIMITS.calls,
    reasks: Annotated[
        int, typer.Option("--reasks", min=0, help="How often a bad reply is asked for again.")
    ] = 2,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="Print every step, as Markdown (with --json it is in there).")
    ] = False,
    offline: Offline = True,
    as_json: AsJson = False,
) -> None:
    """Answer a question from the pages of a snapshot, with quotations that code has looked up."""
    replies = ledger or (out and RunStore(out).ledger)
    if replies is None:
        raise ConfigError("the judge's replies need a place: give --ledger FILE or --out DIRECTORY")
    question = said("the question", question)
    settings = ToolSettings(tools=tools_named(tool, _TOOLS.tools), mode=mode, as_of=day(as_of))
    toolbox = Toolbox(Snapshot.open(snapshot), settings)
    limits = AgentLimits(turns=turns, tokens=tokens, calls=calls)
    preset = load_preset(judge)
    if out is not None:
        claim_answer(
            RunStore(out), question
        )  # what holds something else is refused before anything is put into it
    with contextlib.nullcontext() if out is None else locked(out), stoppable(replies):
        if out is not None:
            claim_answer(RunStore(out), question)  # it may have been filled since
        asked = asyncio.run(_ask(preset, base_url or [], replies, reasks, offline, toolbox, question, limits))
        if out is not None:
            write_answer(RunStore(out), asked)
    if as_json:
        print_json(asked)
    else:
        print(answer_text(asked))
    if transcript and not as_json:
        print(f"\n{render_transcript(asked.result)}", end="")
    if asked.result.answer is None:
        raise SystemExit(3)


@app.command()
def transcript(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    item: Annotated[
        str | None,
        typer.Argument(help="What the runs are about, such as a statement's id; by default all runs."),
    ] = None,
    report: Annotated[str | None, typer.Option("--report", help="One report by id.")] = None,
    judge: OneOfJudges = None,
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Passages whole, or their first words.")
    ] = True,
    allow_modified: AllowModified = False,
) -> None:
    """Print what a run's agents asked, read and said, as Markdown."""
    found = stored_runs(RunStore(run), report, item, judge)
    print_marks()
    for one in found:
        print(f"# {plain(one.protocol)}, {plain(one.report)}: {plain(one.item)}\n")
        print(render_transcript(one.result, texts=texts))


async def _ask(
    preset: Preset,
    base_urls: list[str],
    ledger: Path,
    reasks: int,
    offline: bool,
    toolbox: Toolbox,
    question: str,
    limits: AgentLimits,
) -> AskedQuestion:
    async with open_judge(
        preset, base_urls=base_urls, ledger=ledger, reasks=reasks, only_engine=offline
    ) as judge:
        return await ask_question(judge, toolbox, question, limits)
