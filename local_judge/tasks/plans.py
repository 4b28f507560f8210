"""Plans: one row a task, with the key information and the reasoning questions that its reports are evaluated by.

Invariants: what a person changed is kept beside what it was; a quotation has a page's digest and offsets only where
code has found it there; a rejected draft reaches no run, and an unreviewed one never takes the place of a plan that
came with its task.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from local_judge.agents.result import AgentResult, Outcome, Tally
from local_judge.errors import InputError
from local_judge.rows import read_models
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.model import KeyInformation, KeySource, Plan, ReasoningQuestion, Task
from local_judge.tasks.plan_settings import PlanMethod
from local_judge.tasks.review import DraftRow
from local_judge.tasks.rowfile import RowFile
from serving.strict_yaml import load_yaml

Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeyRow(_Row):
    """An item of key information."""

    question: Said
    source: KeySource | None = None


class ReasoningRow(_Row):
    """A reasoning question with its validation plan."""

    question: Said
    extract: Said
    verify: Said
    compare: Said


WhyOut = Literal["not_in_page", "not_shown", "double", "surplus"]
"""The first two: see `agents.citations`. `double`: says what an earlier item says. `surplus`: more than were wanted."""


class LeftOut(_Row):
    """An item that a judge gave and that is not in the plan."""

    question: str
    url: str
    quote: str
    why: WhyOut


class AgentEnd(_Row):
    """How an agent's run ended; its transcript is kept beside the file (see `tasks.plan_transcripts`)."""

    outcome: Outcome
    turns: int
    calls: int
    tokens: int
    """Of all prompts and replies."""
    coverage: dict[str, Tally]
    """How many different queries and pages it asked for, and how many the snapshot could answer."""

    @classmethod
    def of(cls, result: AgentResult[Any]) -> AgentEnd:
        """The end of a run."""
        spent = result.spent
        return cls(
            outcome=result.outcome,
            turns=spent.turns,
            calls=spent.calls,
            tokens=spent.prompt_tokens + spent.completion_tokens,
            coverage={kind: tally for kind, tally in result.coverage.items()},
        )


class _KeyEdit(_Row):
    question: Said
    url: str | None = None
    quote: str = ""


class _Edited(_Row):
    """A plan as a person edits it."""

    key_information: tuple[_KeyEdit, ...]
    reasoning: tuple[ReasoningRow, ...]


class Planned(_Row):
    """Key information and reasoning questions."""

    key_information: tuple[KeyRow, ...] = ()
    reasoning: tuple[ReasoningRow, ...] = ()


class PlanRow(DraftRow, Planned):
    """One line of a file of plans."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "plan"

    task_id: str
    task: str | None = None
    """The request; of a draft, as it was drafted for."""
    language: str = "und"
    """ISO 639-1 code of the request."""
    method: PlanMethod | None = None
    """Of a draft: how its key information was gathered."""
    snapshot: str | None = None
    """Digest of the snapshot that was read."""
    as_of: date | None = None
    """Pages that were known only after this day were not used."""
    agent: AgentEnd | None = None
    """Of a draft by an agent."""
    n_pages: int = 0
    """Pages that it was shown and that were put to the judge one by one."""
    left_out: tuple[LeftOut, ...] = ()
    before: Planned | None = None
    """As drafted, where a reviewer changed it."""

    @property
    def key(self) -> str:
        """The task's id."""
        return self.task_id

    @property
    def request(self) -> str | None:
        """The task's request."""
        return self.task

    @property
    def plan(self) -> Plan | None:
        """As a task holds it; None for a rejected draft."""
        if self.status == "rejected":
            return None
        return Plan(
            key_information=tuple(
                KeyInformation(id=f"k{number}", question=one.question, source=one.source)
                for number, one in enumerate(self.key_information, 1)
            ),
            reasoning=tuple(
                ReasoningQuestion(id=f"r{number}", **one.model_dump())
                for number, one in enumerate(self.reasoning, 1)
            ),
            status=self.status,
            reviewer=self.reviewer,
            snapshot=self.snapshot,
            as_of=self.as_of,
        )

    @property
    def editable(self) -> str:
        """Both lists as YAML: of each item of key information its question, and URL and words of its page."""
        items = [
            {"question": one.question}
            | ({} if one.source is None else {"url": one.source.url, "quote": one.source.quote})
            for one in self.key_information
        ]
        data = {"key_information": items, "reasoning": [one.model_dump() for one in self.reasoning]}
        return yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100)

    def edited(self, text: str) -> PlanRow:
        """The row with both lists from YAML. A quotation that was changed is no longer one that code has found.

        Raises:
            InputError: it is none, or has other keys, or both lists are empty.
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
        data: object = load_yaml(text)
    except ValueError as error:
        raise InputError(f"{place}: no YAML: {' '.join(str(error).split())}") from None
    try:
        return _Edited.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the plan"
        raise InputError(f"{place}: {where}: {first['msg']}") from None


def read_rows(path: Path) -> list[tuple[str, PlanRow]]:
    """The rows of a file of plans with their places.

    Raises:
        InputError: the file cannot be read, a row is malformed or plans nothing, or a task has two.
    """
    rows: list[tuple[str, PlanRow]] = []
    seen: set[str] = set()
    for place, row in read_models(path, PlanRow):
        if row.task_id in seen:
            raise InputError(f"{place}: task id {row.task_id!r} stands twice")
        if not (row.key_information or row.reasoning):
            raise InputError(f"{place}: needs `key_information`, `reasoning` or both")
        seen.add(row.task_id)
        rows.append((place, row))
    return rows


def plan_file(path: Path) -> RowFile[PlanRow]:
    """A file of plans that several commands may write at the same time."""
    return RowFile(path, read_rows)


def load_plans(path: Path) -> Rows[PlanRow]:
    """The plans of a file, to be looked up by task.

    Raises:
        InputError: as `read_rows`, or there is none in it.
    """
    rows = read_rows(path)
    if not rows:
        raise InputError(f"{path}: no plans in it")
    return Rows([Keyed(place, row.key, row.request, row) for place, row in rows])


def with_plan(task: Task, rows: Rows[PlanRow]) -> Task | None:
    """The task with the plan that `rows` hold for it; None where they hold none.

    A rejected plan leaves the task as it is, and so does one that nobody has reviewed where the task has one.

    Raises:
        InputError: two rows are the task's, or see `Rows.of`.
    """
    found = rows.of(task)
    if found is None:
        return None
    if len(found.rows) > 1:
        raise InputError(f"{found.rows[1].place}: is for the same task as {found.rows[0].place}; keep one")
    plan = found.rows[0].value.plan
    if plan is None or (plan.status == "drafted" and task.plan is not None):
        return task
    return task.model_copy(update={"plan": plan.model_copy(update={"joined": found.by})})
