"""`local-judge tasks classify`, `filter` and `topics`: what tasks are about, and which of them need deep research."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import AsJson, BaseUrls, JudgeName, Offline
from local_judge.cli.output import print_json
from local_judge.cli.tasks.asking import Asked, ask_about, leave_drafts
from local_judge.cli.tasks.options import OpenDates, OutPath, Replies, TasksPath
from local_judge.reporting.tables import stdout
from local_judge.reporting.topics import topic_notes, topic_table, topics_json
from local_judge.runs.topics import agreement_with_given, count_topics, distance
from local_judge.tasks.need import NEED_DRAFTS, need_file
from local_judge.tasks.topics import TOPIC_DRAFTS, topic_file


def classify(
    tasks: TasksPath,
    judge: JudgeName,
    out: OutPath,
    base_url: BaseUrls = None,
    open_dates: OpenDates = False,
    ledger: Replies = None,
    offline: Offline = True,
) -> None:
    """Let the judge say which of DeepResearch Bench's 22 topics each task is about."""
    asked = Asked(judge, base_url or (), ledger, offline, open_dates)
    outcome = ask_about(tasks, topic_file(out), TOPIC_DRAFTS, asked)
    leave_drafts("a row", outcome, out, done="classified")


def filter_tasks(
    tasks: TasksPath,
    judge: JudgeName,
    out: OutPath,
    base_url: BaseUrls = None,
    open_dates: OpenDates = False,
    ledger: Replies = None,
    offline: Offline = True,
) -> None:
    """Let the judge decide which tasks need deep research; kept and dropped ones are written, with the reason."""
    asked = Asked(judge, base_url or (), ledger, offline, open_dates)
    file = need_file(out)
    outcome = ask_about(tasks, file, NEED_DRAFTS, asked)
    rows = file.rows().values()
    kept = sum(row.kept for row in rows)
    print(f"{kept} kept, {len(rows) - kept} dropped")
    leave_drafts("a row", outcome, out, done="decided on")


def topics(
    tasks: Annotated[Path, typer.Argument(help="Tasks with topics, such as `tasks classify` writes.")],
    other: Annotated[Path | None, typer.Argument(help="Other tasks, to be set beside them.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how tasks are distributed over topics, and how far a judge agrees with topics that were given."""
    corpora = [count_topics(path) for path in (tasks, other) if path is not None]
    apart = distance(*corpora) if len(corpora) == 2 else None
    agreement = agreement_with_given(tasks)
    if as_json:
        print_json(topics_json(corpora, apart, agreement))
        return
    stdout().print(topic_table(corpora))
    for note in topic_notes(corpora, apart, agreement):
        print(note)
