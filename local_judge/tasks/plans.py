"""Plans: one row per task, with the key information and reasoning questions that its reports are evaluated by.

    FILE.transcripts/<key>.json     beside a file of plans: the complete run of the agent on one task
    FILE.transcripts/<key>.md       the same, for people

Invariants: a changed row also keeps the draft; a quotation has a page's digest and offsets only if code has found it
there. A task's transcript is written before its row, and also if the run gave no row; a file's name is a hash, never a
task's id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from local_judge.agents.result import AgentResult, EvidenceGap, Outcome, Tally, merged
from local_judge.agents.transcript import render_transcript
from local_judge.base.errors import InputError, first_problem
from local_judge.base.model import Frozen
from local_judge.base.rows import read_text, write_lines
from local_judge.tasks.kinds import Kind
from local_judge.tasks.model import GuidanceStatus, KeyInformation, KeySource, Plan, ReasoningQuestion, Task
from local_judge.tasks.review import OwnRow, as_yaml, from_yaml

PlanMethod = Literal["request", "retrieval", "agent"]
"""Source of key information. `request`: the judge answers from the request alone. `retrieval`: from the passages that
one search for the request finds. `agent`: an agent searches and opens pages."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeyRow(_Row):
    """Item of key information."""

    question: Text
    """Question that a report answers with yes if it has the information."""
    source: KeySource | None = None


class ReasoningRow(_Row):
    """Reasoning question with its validation plan."""

    question: Text
    """Question about the reasoning of a report."""
    extract: Text
    """Text to extract from the report."""
    verify: Text
    """Statements to verify elsewhere."""
    compare: Text
    """Way of comparing the two."""


WhyOut = Literal["not_in_page", "not_shown", "double", "surplus"]
"""Reason for leaving out an item. The first two: see `agents.citations`. `double`: repeats an earlier item. `surplus`:
more items than wanted."""


class LeftOut(_Row):
    """Item that a judge returned and that is not in the plan."""

    question: str
    """Question of the item."""
    url: str
    """Page that it named."""
    quote: str
    """Quotation that it gave."""
    why: WhyOut
    """Reason for leaving it out."""


class AgentEnd(_Row):
    """End of an agent's run; its transcript is kept beside the file (see `PlanTranscripts`)."""

    outcome: Outcome
    """End of the run."""
    turns: int
    """Questions to the judge."""
    calls: int
    """Queries and pages opened."""
    tokens: int
    """Tokens of all prompts and replies."""
    coverage: dict[str, Tally]
    """Number of different queries and pages asked for, and number answered by the snapshot."""

    @classmethod
    def of(cls, result: AgentResult[Any]) -> AgentEnd:
        """Return the end of a run."""
        spent = result.spent
        return cls(
            outcome=result.outcome,
            turns=spent.turns,
            calls=spent.calls,
            tokens=spent.prompt_tokens + spent.completion_tokens,
            coverage={kind: tally for kind, tally in result.coverage.items()},
        )


class _KeyEdit(_Row):
    question: Text
    url: str | None = None
    quote: str = ""


class _Edited(_Row):
    """Plan in the form that a person edits."""

    key_information: tuple[_KeyEdit, ...]
    reasoning: tuple[ReasoningRow, ...]


class Planned(_Row):
    """Key information and reasoning questions."""

    key_information: tuple[KeyRow, ...] = ()
    """Items, which become `k1`, `k2`, … in this order: `question` and `source`, which is null if none is named."""
    reasoning: tuple[ReasoningRow, ...] = ()
    """Questions, which become `r1`, `r2`, …: `question`, and the plan `extract`, `verify`, `compare`."""


class PlanRow(OwnRow[Plan], Planned):
    """One line of a file of plans."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "plan"

    language: str = "und"
    """ISO 639-1 code of the request."""
    method: PlanMethod | None = None
    """Source of a draft's key information."""
    snapshot: str | None = None
    """Digest of the snapshot that was searched."""
    as_of: date | None = None
    """Day after which pages were not used."""
    agent: AgentEnd | None = None
    """End of the agent's run, for a draft by an agent."""
    n_pages: int = 0
    """Pages shown to the agent that were then put to the judge one by one."""
    left_out: tuple[LeftOut, ...] = ()
    """Items left out: `question`, `url`, `quote`, and `why`: not in the page, not shown, a double, or beyond
    the wanted number."""
    before: Planned | None = None
    """Plan of the draft, if a reviewer changed it."""

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """Return a row of a file. Raises InputError: the data is not a row, or its plan is empty; names `place`."""
        row = super().parse(data, place)
        if not (row.key_information or row.reasoning):
            raise InputError(f"{place}: needs `key_information`, `reasoning` or both")
        return row

    def as_content(self, status: GuidanceStatus) -> Plan:
        """Return the plan of a task."""
        return Plan(
            key_information=tuple(
                KeyInformation(id=f"k{number}", question=one.question, source=one.source)
                for number, one in enumerate(self.key_information, 1)
            ),
            reasoning=tuple(
                ReasoningQuestion(id=f"r{number}", **one.model_dump())
                for number, one in enumerate(self.reasoning, 1)
            ),
            status=status,
            reviewer=self.reviewer,
            snapshot=self.snapshot,
            as_of=self.as_of,
        )

    @property
    def editable(self) -> str:
        """Both lists as YAML; each item of key information with its question, and the URL and quotation of its page."""
        items = [
            {"question": one.question}
            | ({} if one.source is None else {"url": one.source.url, "quote": one.source.quote})
            for one in self.key_information
        ]
        return as_yaml({"key_information": items, "reasoning": [one.model_dump() for one in self.reasoning]})

    def edited(self, text: str) -> PlanRow:
        """Return the row with both lists from YAML. A changed quotation loses its digest and offsets.

        Raises:
            InputError: the text is not YAML, has other keys, or both lists are empty.
        """
        place = f"task {self.task_id!r}"
        given = _read(text, place)
        known = {(one.source.url, one.source.quote): one.source for one in self.key_information if one.source}
        items = tuple(
            KeyRow(question=one.question, source=_source(one, known)) for one in given.key_information
        )
        if not (items or given.reasoning):
            raise InputError(f"{place}: the plan is empty; reject it instead")
        if (items, given.reasoning) == (self.key_information, self.reasoning):
            return self
        before = self.before or Planned(key_information=self.key_information, reasoning=self.reasoning)
        update = {"key_information": items, "reasoning": given.reasoning, "before": before}
        return self.model_copy(update=update)


def _source(edit: _KeyEdit, known: dict[tuple[str, str], KeySource]) -> KeySource | None:
    if edit.url is None:
        return None
    return known.get((edit.url, edit.quote)) or KeySource(url=edit.url, quote=edit.quote)


def _read(text: str, place: str) -> _Edited:
    try:
        return _Edited.model_validate(from_yaml(text, place))
    except ValidationError as error:
        raise InputError(f"{place}: {first_problem(error, 'the plan', _Edited)}") from None


PLAN_KIND = Kind("plan", "plans", PlanRow)


class TaskRun(Frozen):
    """Run of the agent on one task."""

    task_id: str
    run: AgentResult[Any]


class PlanTranscripts:
    """Folder of transcripts beside a file of plans."""

    def __init__(self, file: Path) -> None:
        self.folder = file.with_name(f"{file.name}.transcripts")

    def path(self, task_id: str) -> Path:
        """Return the path of a task's transcript for people; the complete run has the suffix `.json`."""
        key = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self.folder / f"{key}.md"

    def keep(self, task: Task, run: AgentResult[Any]) -> None:
        """Write the run on a task, replacing an earlier one. Raises InputError."""
        path = self.path(task.id)
        write_lines(path, [render_transcript(run)])
        data = TaskRun(task_id=task.id, run=run).model_dump(mode="json")
        text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
        write_lines(path.with_suffix(".json"), [text + "\n"])

    def all(self) -> tuple[TaskRun, ...]:
        """Return the runs on all tasks, in order of the tasks' ids.

        Raises:
            InputError: a file cannot be read or is not a transcript.
        """
        found: list[TaskRun] = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(TaskRun.model_validate_json(read_text(path)))
            except ValidationError as error:
                raise InputError(f"{path}: not a run of an agent ({first_problem(error)})") from None
        return tuple(sorted(found, key=lambda one: one.task_id))


def all_evidence_gaps(found: Sequence[TaskRun]) -> tuple[EvidenceGap, ...]:
    """Return the queries and pages of all runs that the snapshot could not answer."""
    return merged(gap for task in found for gap in task.run.evidence_gaps)


def all_coverage(found: Sequence[TaskRun]) -> dict[str, Tally]:
    """Return how many different queries and pages each run asked for, and how many were answered, summed over runs."""
    sums: dict[str, Tally] = {}
    for task in found:
        for kind, tally in task.run.coverage.items():
            had = sums.get(kind, Tally(asked=0, answered=0))
            sums[kind] = Tally(asked=had.asked + tally.asked, answered=had.answered + tally.answered)
    return dict(sorted(sums.items()))
