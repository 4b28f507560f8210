"""Plans: one row a task, with the key information and the reasoning questions that its reports are evaluated by.

Invariants: what a person changed is kept beside what it was; a quotation has a page's digest and offsets only where
code has found it there.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from local_judge.agents.result import AgentResult, Outcome, Tally
from local_judge.errors import InputError
from local_judge.tasks.kinds import Kind
from local_judge.tasks.model import KeyInformation, KeySource, Plan, ReasoningQuestion
from local_judge.tasks.review import OwnRow, as_yaml, from_yaml

PlanMethod = Literal["request", "retrieval", "agent"]
"""How key information is gathered. `request`: the judge is asked with the request alone. `retrieval`: behind the
passages that one search for the request finds. `agent`: by an agent that searches and opens pages."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeyRow(_Row):
    """An item of key information."""

    question: Text
    source: KeySource | None = None


class ReasoningRow(_Row):
    """A reasoning question with its validation plan."""

    question: Text
    extract: Text
    verify: Text
    compare: Text


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
    question: Text
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


class PlanRow(OwnRow, Planned):
    """One line of a file of plans."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "plan"

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

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """A row of a file. Raises InputError, which says `place`: it is none, or plans nothing."""
        row = super().parse(data, place)
        if not (row.key_information or row.reasoning):
            raise InputError(f"{place}: needs `key_information`, `reasoning` or both")
        return row

    @property
    def content(self) -> Plan | None:
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
        return as_yaml({"key_information": items, "reasoning": [one.model_dump() for one in self.reasoning]})

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
        return _Edited.model_validate(from_yaml(text, place))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the plan"
        raise InputError(f"{place}: {where}: {first['msg']}") from None


PLAN_KIND = Kind("plan", "plans", PlanRow)
