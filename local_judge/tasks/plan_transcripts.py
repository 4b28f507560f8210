"""Transcripts of the agents that drafted plans, beside the file of plans.

    FILE.transcripts/<key>.json     the agent's run on one task, whole
    FILE.transcripts/<key>.md       the same for people

Invariant: a task's run is there before its row is, and where there is no row because nothing came of it; a file
name is made from a hash, never from a task's id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from local_judge.agents.result import AgentResult, EvidenceGap, Tally, merged
from local_judge.agents.transcript import render_transcript
from local_judge.errors import InputError
from local_judge.rows import read_text, write_lines
from local_judge.tasks.model import Task
from serving.types import Frozen


class TaskRun(Frozen):
    """The agent's run on one task."""

    task_id: str
    run: AgentResult[Any]


class PlanTranscripts:
    """The folder beside a file of plans."""

    def __init__(self, file: Path) -> None:
        self.folder = file.with_name(f"{file.name}.transcripts")

    def path(self, task_id: str) -> Path:
        """Where the transcript of a task is kept for people; the other one has the suffix `.json`."""
        key = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self.folder / f"{key}.md"

    def keep(self, task: Task, run: AgentResult[Any]) -> None:
        """Write the run on a task, in the place of what was there. Raises InputError."""
        path = self.path(task.id)
        write_lines(path, [render_transcript(run)])
        data = TaskRun(task_id=task.id, run=run).model_dump(mode="json")
        text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
        write_lines(path.with_suffix(".json"), [text + "\n"])

    def all(self) -> tuple[TaskRun, ...]:
        """The runs on all tasks, in order of the tasks' ids.

        Raises:
            InputError: a file cannot be read, or is none of these.
        """
        found: list[TaskRun] = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(TaskRun.model_validate_json(read_text(path)))
            except ValidationError as error:
                raise InputError(f"{path}: no run of an agent: {error.errors()[0]['msg']}") from None
        return tuple(sorted(found, key=lambda one: one.task_id))


def all_evidence_gaps(found: Sequence[TaskRun]) -> tuple[EvidenceGap, ...]:
    """What all runs asked for and the snapshot could not answer."""
    return merged(gap for task in found for gap in task.run.evidence_gaps)


def all_coverage(found: Sequence[TaskRun]) -> dict[str, Tally]:
    """How many queries and pages all runs asked for, each different one once a run, and how many were answered."""
    sums: dict[str, Tally] = {}
    for task in found:
        for kind, tally in task.run.coverage.items():
            had = sums.get(kind, Tally(asked=0, answered=0))
            sums[kind] = Tally(asked=had.asked + tally.asked, answered=had.answered + tally.answered)
    return dict(sorted(sums.items()))
