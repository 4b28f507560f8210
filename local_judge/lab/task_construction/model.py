"""Rows that a build stores, stage by stage.

Invariant: every row has the id of its task and the ledger keys of its replies; the id of a task is unique within the
build, and changes with its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.lab.task_construction.settings import Quality, Share
from local_judge.ledger.requests import sha256

Stage = Literal["generate", "qualify", "baseline", "necessity", "duplicates", "ranking"]
Generator = Literal["personas", "clarify", "reformulate", "given"]


class Persona(Frozen):
    """An invented person for whom tasks are written."""

    id: str
    """`<domain>-p<number>`."""
    domain: str
    name: str
    role: str
    affiliation: str = ""
    background: str
    subdomain: str = ""
    replies: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """All details, one line each."""
        parts = {
            "Name": self.name,
            "Role": self.role,
            "Affiliation": self.affiliation,
            "Field": f"{self.subdomain} ({self.domain})" if self.subdomain else self.domain,
            "Background": self.background,
        }
        return "\n".join(f"{key}: {value}" for key, value in parts.items() if value)


class Clarification(Frozen):
    """A clarifying question to the user, and its answer."""

    question: str
    answer: str
    status: Literal["given", "drafted"] = "given"
    """`given`: answered by a person. `drafted`: assumed by the judge."""


class Candidate(Frozen):
    """A task before the filters."""

    id: str
    prompt: str
    domain: str = ""
    generator: Generator = "given"
    persona: str | None = None
    """Id of the persona."""
    source: str | None = None
    """Id of the question or item it was made from."""
    challenges: str = ""
    """Challenges of the task, as its source states them."""
    period: str = ""
    """Period that the answer has to cover, if the task states one."""
    clarifications: tuple[Clarification, ...] = ()
    guidance: tuple[str, ...] = ()
    """Points drafted by a judge that knows the answer."""
    answer_check: Literal["absent", "in_the_question", "not_checkable"] | None = None
    """Result of the search for the answer in the request of a reformulated item."""
    replies: tuple[str, ...] = ()


class Qualification(Frozen):
    """A judge's decision on whether a task needs deep research."""

    id: str
    needs_deep_research: bool
    confidence: Share
    rationale: str = ""
    replies: tuple[str, ...] = ()


class Baseline(Frozen):
    """A judge's answer without search."""

    id: str
    answer: str
    replies: tuple[str, ...] = ()


class Assessment(Frozen):
    """Quality of that answer, and whether a better one requires search."""

    id: str
    quality: Quality
    score: Share
    requires_search: bool
    rationale: str = ""
    replies: tuple[str, ...] = ()


class Likeness(Frozen):
    """Most similar earlier task of a task, among those that stay."""

    id: str
    of: str | None
    """Id of the earlier task; None for the first task."""
    similarity: float
    same: bool


class GivenAway(Frozen):
    """A request that gives the answer away after all attempts."""

    id: str
    """Id of the item."""
    domain: str = ""
    request: str
    words: str
    """Words of the answer that occur in the request."""
    replies: tuple[str, ...] = ()


class Missing(Frozen):
    """Tasks that a stage could not make or decide on because of a failure."""

    stage: Stage
    about: str
    """Id of a task, or of the domain, persona, question or item for which tasks were to be made."""
    domain: str = ""
    n_tasks: int = Field(default=1, ge=1)
    """Number of tasks that are missing because of it."""
    failure: Failure


class AuditRow(Frozen):
    """One task that is not kept, or several that were never made, with stage, reasons and values."""

    id: str
    """Id of the task; of its source (the domain or persona) for a task that was never made."""
    domain: str
    stage: Stage
    """Stage that the task reached last."""
    outcome: Literal["dropped", "failed"]
    reasons: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the violated rules, or the kind of the failure."""
    says: str
    """Reasons as a sentence."""
    values: Mapping[str, Any]
    """Values and limits of the decision."""
    n_tasks: int = 1
    """Number of tasks concerned."""
    prompt: str | None = None
    """Request of the task; null for a task that was never made."""


class TaskLine(Frozen):
    """One line of `tasks.jsonl`."""

    id: str
    prompt: str
    topic: str | None
    generator: Generator
    persona: str | None = None
    source: str | None = None
    place: int | None = None
    """Place in the ranking by people, from 1; None for a task without votes."""
    approvals: int | None = None
    """Number of people who approve the task; None if it was not judged. `approvals_of` is the number who judged it."""
    approvals_of: int | None = None


def task_id(stem: str, prompt: str) -> str:
    """Return `<stem>-<8 hex digits of the text's SHA-256>`: a changed text gets a new id, so that votes stay valid."""
    return f"{stem}-{sha256(prompt)[:8]}"


def not_made(failure: Failure, about: str, domain: str, n_tasks: int = 1) -> Missing:
    """Return the row for tasks that could not be made."""
    return Missing(stage="generate", about=about, domain=domain, n_tasks=n_tasks, failure=failure)
