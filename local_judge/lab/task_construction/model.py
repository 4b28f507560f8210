"""What a build makes, stage by stage.

Invariant: every row carries the id of the task that it is of, and the ledger keys of the replies that it rests on; a
task's id is of no other task of the build, and of no other text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from local_judge.judge.failures import Failure
from local_judge.lab.task_construction.settings import Quality, Share
from serving.types import Frozen

Stage = Literal["generate", "qualify", "baseline", "necessity", "duplicates", "ranking"]
Generator = Literal["personas", "clarify", "reformulate", "given"]


class Persona(Frozen):
    """Somebody invented, for whom tasks are written."""

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
        """All of it, a line each."""
        parts = {
            "Name": self.name,
            "Role": self.role,
            "Affiliation": self.affiliation,
            "Field": f"{self.subdomain} ({self.domain})" if self.subdomain else self.domain,
            "Background": self.background,
        }
        return "\n".join(f"{key}: {value}" for key, value in parts.items() if value)


class Clarification(Frozen):
    """What a user is asked back, and what is taken to be the answer."""

    question: str
    answer: str
    status: Literal["given", "drafted"] = "given"
    """`given`: a person's answer. `drafted`: assumed by the judge."""


class Candidate(Frozen):
    """A task that is not yet one."""

    id: str
    prompt: str
    domain: str = ""
    generator: Generator = "given"
    persona: str | None = None
    """Id."""
    source: str | None = None
    """Id of the question or item that it was made from."""
    challenges: str = ""
    """What is said to make it hard."""
    period: str = ""
    """The time that the answer has to cover, where it is bound to one."""
    clarifications: tuple[Clarification, ...] = ()
    guidance: tuple[str, ...] = ()
    """Points that a judge has drafted, knowing the answer."""
    answer_check: Literal["absent", "in_the_question", "not_checkable"] | None = None
    """Of a reformulated item: why the request is held not to give its answer away."""
    replies: tuple[str, ...] = ()


class Qualification(Frozen):
    """Whether a task needs deep research, as a judge sees it."""

    id: str
    needs_deep_research: bool
    confidence: Share
    rationale: str = ""
    replies: tuple[str, ...] = ()


class Baseline(Frozen):
    """What a judge answers without search."""

    id: str
    answer: str
    replies: tuple[str, ...] = ()


class Assessment(Frozen):
    """How good that answer is, and whether searching would be needed for a better one."""

    id: str
    quality: Quality
    score: Share
    requires_search: bool
    rationale: str = ""
    replies: tuple[str, ...] = ()


class Likeness(Frozen):
    """The earlier task that a task is most like, among those that stay."""

    id: str
    of: str | None
    """None where there is no earlier one."""
    similarity: float
    same: bool


class GivenAway(Frozen):
    """A request that gives the answer away, whatever the judge was told."""

    id: str
    """Of the item."""
    domain: str = ""
    request: str
    words: str
    """Of the answer, which stand in the request."""
    replies: tuple[str, ...] = ()


class Missing(Frozen):
    """What a stage could not make or decide, through a failure of ours."""

    stage: Stage
    about: str
    """Id of a task; of a domain, persona, question or item where tasks were to be made."""
    domain: str = ""
    n_tasks: int = Field(default=1, ge=1)
    """How many tasks are missing with it."""
    failure: Failure


class AuditRow(Frozen):
    """One task that is not kept, or several that were never made: where it ended, why, and what decided."""

    id: str
    domain: str
    stage: Stage
    outcome: Literal["dropped", "failed"]
    reasons: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the rules that it breaks, or kind of the failure."""
    says: str
    """The same in a sentence."""
    values: Mapping[str, Any]
    """What decided, limits included."""
    n_tasks: int = 1
    prompt: str | None = None


class TaskLine(Frozen):
    """One line of the file of tasks that a build ends in."""

    id: str
    prompt: str
    topic: str | None
    generator: Generator
    persona: str | None = None
    source: str | None = None
    place: int | None = None
    """In the ranking by people, from 1; None where nobody ranked it."""


def task_id(stem: str, prompt: str) -> str:
    """`<stem>-<8 hex digits of the text's SHA-256>`: another text never has the id that people voted for."""
    return f"{stem}-{hashlib.sha256(prompt.encode()).hexdigest()[:8]}"
