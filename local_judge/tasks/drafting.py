"""Drafting of guidance, criteria and other rows by a judge, and the parts that its prompts share.

Invariant: a row is in the file as soon as it is made; a task with a row there, whatever its status, is not asked about
again, and no row is replaced; a failure writes no row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from indexes.text.language import detect_language
from local_judge.base.failures import Failure, FailureKind
from local_judge.judge.judge import Answer, Judge
from local_judge.prompts import Prompt, fence, load_prompt
from local_judge.tasks.model import Task
from local_judge.tasks.rowfile import R, RowFile

template = partial(load_prompt, "local_judge.tasks")
"""Load the text of a prompt by its name."""

UNREADABLE: tuple[FailureKind, ...] = ("truncated", "invalid_reply")
"""Failures of one question, not of the engine; a shorter question may still be answered."""


class NoDraft(Exception):
    """A draft cannot be made."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Reply(BaseModel):
    """Reply of a judge, or a part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


M = TypeVar("M", bound=Reply)
T = TypeVar("T")


@dataclass
class Draft:
    """Draft of a task's row: asks the judge, and keeps the keys of the replies."""

    task: Task
    judge: Judge
    replies: list[str] = field(default_factory=list[str])

    async def ask(self, prompt: Prompt, wanted: type[M], tokens: int, *, draw: int = 0) -> M:
        """Return the judge's answer. Raises NoDraft: there is none."""
        return self.take(await self.judge.ask(prompt, wanted, draw=draw, max_tokens=tokens))

    def take(self, answer: Answer[T] | Failure, what: str = "") -> T:
        """Return the value of an answer, and keep the keys of its replies.

        Raises:
            NoDraft: it is a failure; `what` names the part of the draft.
        """
        if isinstance(answer, Failure):
            detail = f"{what}: {answer.detail}" if what else answer.detail
            raise NoDraft(answer.model_copy(update={"detail": detail}))
        self.replies += answer.replies
        return answer.value

    def incomplete(self, what: str) -> NoDraft:
        """Return the error of replies with too few different parts."""
        detail = f"reply {self.replies[-1][:12]}: {what}"
        return NoDraft(Failure(kind="incomplete", detail=detail, attempts=len(self.replies)))

    async def origin(self) -> dict[str, Any]:
        """Return the judge and the keys of its replies, as fields of the row."""
        return {"judge": await self.judge.engine.identity(), "replies": tuple(dict.fromkeys(self.replies))}


Write = Callable[[Draft], Awaitable[R]]
"""Function that asks a judge for a task's row, or raises NoDraft."""


@dataclass(frozen=True)
class Drafts(Generic[R]):
    """Kind of row that a judge writes for tasks."""

    ask: Write[R]
    has: Callable[[Task], bool] = lambda task: False
    """Check whether a task already comes with the content of a row."""
    at_once: int = 16
    """Number of tasks asked about concurrently."""

    async def write(self, task: Task, judge: Judge) -> R | Failure:
        """Return a task's row, or why there is none. Raises LedgerError: a reply could not be stored."""
        try:
            return await self.ask(Draft(task, judge))
        except NoDraft as error:
            return error.failure


def waiting(drafts: Drafts[R], tasks: Sequence[Task], file: RowFile[R]) -> list[Task]:
    """Return the tasks without such content of their own and without a row in the file. Raises InputError."""
    found = file.found()
    return [task for task in tasks if not drafts.has(task) and found.of(task) is None]


async def draft_all(
    drafts: Drafts[R],
    tasks: Sequence[Task],
    file: RowFile[R],
    judge: Judge,
    done: Callable[[], None] = lambda: None,
) -> list[tuple[Task, Failure]]:
    """Write rows for the tasks that are `waiting`, and return those that failed, in the order of the tasks.

    Args:
        drafts: kind of row.
        tasks: all tasks; the file is written in their order.
        file: file of the rows.
        judge: the judge.
        done: called for each finished task.

    Raises:
        InputError: the file cannot be read or written.
        IndexesError, LedgerError, EngineError: an error that affects all tasks.
    """
    order = {task.id: place for place, task in enumerate(tasks)}
    gate = asyncio.Semaphore(drafts.at_once)
    await judge.engine.identity()  # an engine that cannot be reached fails all tasks

    async def one(task: Task) -> Failure | None:
        async with gate:
            row = await drafts.write(task, judge)
        done()
        if isinstance(row, Failure):
            return row
        file.add(row, order)
        return None

    asked = waiting(drafts, tasks, file)
    ended = await asyncio.gather(*(one(task) for task in asked))
    return [(task, failure) for task, failure in zip(asked, ended, strict=True) if failure is not None]


class Criterion(Reply):
    """One criterion with its weight; a kind of draft limits `explanation` and `weight`."""

    criterion: Annotated[str, Field(min_length=2, max_length=120)]
    explanation: str
    weight: float


class CriterionList(Reply):
    """Criteria with different names and a weight above 0."""

    criteria: Sequence[Criterion]

    @model_validator(mode="after")
    def _different(self) -> Self:
        names = [one_line(one.criterion).casefold() for one in self.criteria]
        if not all(names) or len(set(names)) < len(names):
            raise ValueError("a criterion has no name of its own")
        if not sum(one.weight for one in self.criteria):
            raise ValueError("all weights are 0")
        return self


def limited(reply: type[M], item: Any, most: int, least: int | None = None) -> type[M]:
    """Return a reply type whose only field is a list of `least` to `most` values of type `item`."""
    return _limited(reply, item, most, least)


@cache
def _limited(reply: Any, item: Any, most: int, least: int | None) -> Any:
    [name] = reply.model_fields
    listed: Any = Annotated[list[item], Field(min_length=least, max_length=most)]
    fields: dict[str, Any] = {name: (listed, ...)}
    return create_model(reply.__name__, __base__=reply, **fields)


def request_block(task: Task) -> str:
    """Return a task's request as a judge sees it."""
    return fence(task.prompt, "Request:")


OWN = "the language of the request"
"""Text used for an unknown language; the judge sees the request."""

_CODES = "ar bn cs da de el en es fa fi fr he hi hu id it ja ko nl no pl pt ro ru sv th tr uk ur vi zh"
_NAMES = (
    "Arabic Bengali Czech Danish German Greek English Spanish Persian Finnish French Hebrew Hindi Hungarian Indonesian "
    "Italian Japanese Korean Dutch Norwegian Polish Portuguese Romanian Russian Swedish Thai Turkish Ukrainian Urdu "
    "Vietnamese Chinese"
)
_LANGUAGES: Mapping[str, str] = dict(zip(_CODES.split(), _NAMES.split(), strict=True))


def language_name(code: str) -> str:
    """Return the English name of a language by its ISO 639-1 code, or `OWN` if it is unknown."""
    return _LANGUAGES.get(code, OWN)


def language_of(task: Task) -> str:
    """Return the name of the language of a task's request, for prompts."""
    return language_name(detect_language(task.prompt))


def one_line(text: str) -> str:
    """Return a judge's text on one line."""
    return " ".join(text.split())
