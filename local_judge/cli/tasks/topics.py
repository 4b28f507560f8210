"""`local-judge tasks classify`, `filter` and `topics`: what tasks are about, and which of them need deep research."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.cli.tasks.asking import asking_command
from local_judge.reporting.topics import topic_notes, topic_table, topics_json
from local_judge.tasks.topics import (
    NEED_DRAFTS,
    TOPIC_DRAFTS,
    NeedRow,
    agreement_with_given,
    count_topics,
    need_file,
    topic_file,
    total_variation,
)
from local_judge.terminal import stdout


def _kept(rows: Iterable[NeedRow]) -> None:
    kept = [row.kept for row in rows]
    print(f"{sum(kept)} kept, {len(kept) - sum(kept)} dropped")


classify = asking_command(
    topic_file,
    TOPIC_DRAFTS,
    "a row",
    "Let the judge say which of DeepResearch Bench's 22 topics each task is about.",
    done="classified",
)
filter_tasks = asking_command(
    need_file,
    NEED_DRAFTS,
    "a row",
    "Let the judge decide which tasks need deep research; kept and dropped ones are written, with the reason.",
    done="decided on",
    say=_kept,
)


def topics(
    tasks: Annotated[Path, typer.Argument(help="Tasks with topics, such as `tasks classify` writes.")],
    other: Annotated[Path | None, typer.Argument(help="Other tasks, to be set beside them.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how tasks are distributed over topics, and how far a judge agrees with topics that were given."""
    corpora = [count_topics(path) for path in (tasks, other) if path is not None]
    apart = total_variation(corpora[0].counts, corpora[1].counts) if len(corpora) == 2 else None
    agreement = agreement_with_given(tasks)
    if as_json:
        print_json(topics_json(corpora, apart, agreement))
        return
    stdout().print(topic_table(corpora))
    for note in topic_notes(corpora, apart, agreement):
        print(note)
