"""`local-judge tasks classify`, `filter` and `topics`: topics of tasks, and tasks that need deep research."""

from __future__ import annotations

from collections.abc import Sequence
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


def _kept(rows: Sequence[NeedRow]) -> dict[str, int]:
    kept = sum(row.kept for row in rows)
    return {"kept": kept, "dropped": len(rows) - kept}


classify = asking_command(
    topic_file,
    TOPIC_DRAFTS,
    "a row",
    "Let the judge assign each task one of DeepResearch Bench's 22 topics.",
    done="classified",
)
filter_tasks = asking_command(
    need_file,
    NEED_DRAFTS,
    "a row",
    "Let the judge decide which tasks need deep research. The output has all tasks, each with the reason.",
    done="decided on",
    tally=_kept,
)


def topics(
    tasks: Annotated[Path, typer.Argument(help="Tasks with topics, such as the output of `tasks classify`.")],
    other: Annotated[Path | None, typer.Argument(help="Other tasks, for comparison.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the distribution of tasks over topics, and how far a judge agrees with given topics."""
    corpora = [count_topics(path) for path in (tasks, other) if path is not None]
    apart = total_variation(corpora[0].counts, corpora[1].counts) if len(corpora) == 2 else None
    agreement = agreement_with_given(tasks)
    if as_json:
        print_json(topics_json(corpora, apart, agreement))
        return
    stdout().print(topic_table(corpora))
    for note in topic_notes(corpora, apart, agreement):
        print(note)
