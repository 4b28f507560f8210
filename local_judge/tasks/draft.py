"""Drafting guidance for a task that has none.

Invariants: a draft has at least `LEAST` points that say different things, or is a failure; every source in it is a
quotation that code found in a passage which the judge was shown; the same task, snapshot and judge give the same draft,
and a reply that the ledger holds is not asked for again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from indexes.corpus import Corpus, Hit
from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.claims.quotes import QuoteFinder
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill
from local_judge.tasks.guidance import GuidanceRow
from local_judge.tasks.model import Task
from local_judge.tasks.passages import exhibit, select
from local_judge.tasks.points import Point, PointSource, Scope, distinct, render
from local_judge.tasks.prompts import template
from serving.errors import EngineError
from serving.types import EngineIdentity, Frozen

LEAST, MOST = 5, 12
"""Points of a draft."""
REPLY_TOKENS_PER_POINT = 180
MIN_REPLY_TOKENS = LEAST * 80
"""A prompt fits if it leaves at least this much room; passages are left out from the last until it does."""


class DraftSettings(Frozen):
    """How guidance is drafted."""

    evidence_tokens: int = Field(default=4_000, ge=0)
    """Passages shown, together."""


_DEFAULTS = DraftSettings()


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlainPoint(_Reply):
    """A point as the judge writes it where it is shown no passages."""

    statement: Annotated[str, Field(min_length=8, max_length=300)]
    bears_on: Scope


class QuotedPoint(_Reply):
    """A point as the judge writes it. The quotation comes first: evidence before what follows from it."""

    quote: Annotated[str, Field(max_length=300)]
    statement: Annotated[str, Field(min_length=8, max_length=300)]
    bears_on: Scope


P = TypeVar("P", PlainPoint, QuotedPoint)


class FirstPoints(_Reply, Generic[P]):
    """The answer to the first question."""

    points: Annotated[list[P], Field(min_length=LEAST, max_length=MOST)]


class MorePoints(_Reply, Generic[P]):
    """The answer where points stand already."""

    points: Annotated[list[P], Field(min_length=1, max_length=MOST - 1)]


Points = FirstPoints[QuotedPoint] | FirstPoints[PlainPoint] | MorePoints[QuotedPoint] | MorePoints[PlainPoint]


class Draft(Frozen):
    """Guidance as a judge has drafted it."""

    points: tuple[Point, ...]
    language: str
    """ISO 639-1 code of the request."""
    passages: tuple[str, ...]
    """Ids of the chunks that were shown, in their order."""
    n_doubles: int
    """Points left out: they said nothing, or what another says, or were more than `MOST`."""
    replies: tuple[str, ...]
    """Ledger keys."""

    @property
    def text(self) -> str:
        """The points as guidance."""
        return render(self.points, self.language)


def open_corpus(snapshot: Snapshot | None) -> Corpus | None:
    """The search over a snapshot, opened once for all tasks; None without one or where no page has a text."""
    return None if snapshot is None or not snapshot.info().n_chunks else snapshot.corpus()


async def draft_guidance(
    task: Task, corpus: Corpus | None, judge: Judge, settings: DraftSettings = _DEFAULTS
) -> Draft | Failure:
    """The points that a report on `task` must meet, drafted by `judge`.

    Fewer than `LEAST` different points are completed by asking for others, as often as the judge's `reasks`.

    Args:
        task: its own guidance is not looked at.
        corpus: where passages are searched for; None leaves the judge to the request alone.
        judge: asked one question, if it answers well.
        settings: how much it is shown.

    Raises:
        LedgerError: a reply could not be stored.
        IndexesError: the snapshot cannot be searched.
    """
    language = detect_language(task.prompt)
    found = select(corpus, task.prompt, language, settings.evidence_tokens) if corpus is not None else []
    try:
        found = await _fitting(task, found, judge)
    except EngineError as error:
        return Failure(kind=cast("FailureKind", error.kind), detail=str(error))
    points: list[Point] = []
    replies: list[str] = []
    n_given = 0
    for draw in range(judge.settings.reasks + 1):
        prompt = draft_prompt(task, found, points)
        wanted = _answer_type(bool(found), bool(points))
        answer = await judge.ask(prompt, wanted, draw=draw, max_tokens=MOST * REPLY_TOKENS_PER_POINT)
        if isinstance(answer, Failure):
            return answer
        replies += answer.replies
        given = [_checked(point, found) for point in answer.value.points]
        n_given += len(given)
        points = distinct([*points, *(point for point in given if _says(point))])[:MOST]
        if len(points) >= LEAST:
            return Draft(
                points=tuple(points),
                language=language,
                passages=tuple(hit.chunk.id for hit in found),
                n_doubles=n_given - len(points),
                replies=tuple(replies),
            )
    return Failure(
        kind="incomplete",
        detail=f"reply {replies[-1][:12]}: {len(points)} different points of {n_given}, needs {LEAST}",
        attempts=len(replies),
    )


def draft_prompt(task: Task, passages: Sequence[Hit], standing: Sequence[Point] = ()) -> Prompt:
    """Request and passages first, then what is asked; `standing`: points that are there already."""
    shared = exhibit(task.prompt, passages)
    least = max(LEAST - len(standing), 1)
    listed = "\n".join(f"{number}. {point.statement}" for number, point in enumerate(standing, 1))
    values = {
        "wanted": f"Write {least} to {MOST - len(standing)} of them, all different.",
        "scopes": template("scopes"),
        "standing": fill(template("standing"), {"points": fence(listed, "Points:")}) + "\n"
        if standing
        else "",
    }
    return Prompt(
        shared=shared,
        own=fill(template("draft" if passages else "draft_alone"), values),
        prefix_key=f"guidance:{hashlib.sha256(shared.encode()).hexdigest()[:16]}",
    )


def drafted_row(task: Task, draft: Draft, identity: EngineIdentity, snapshot: str | None) -> GuidanceRow:
    """The line of a guidance file for a draft; `snapshot`: digest of the one that was searched."""
    return GuidanceRow(
        task_id=task.id,
        text=draft.text,
        status="drafted",
        task=task.prompt,
        language=draft.language,
        points=draft.points,
        judge=identity,
        snapshot=snapshot,
        passages=draft.passages,
        replies=draft.replies,
    )


def _answer_type(quoted: bool, more: bool) -> type[Points]:
    if quoted:
        return MorePoints[QuotedPoint] if more else FirstPoints[QuotedPoint]
    return MorePoints[PlainPoint] if more else FirstPoints[PlainPoint]


async def _fitting(task: Task, passages: list[Hit], judge: Judge) -> list[Hit]:
    """The passages without the last ones that leave too little room for the reply."""
    while passages and await judge.room(draft_prompt(task, passages)) < MIN_REPLY_TOKENS:
        passages = passages[:-1]
    return passages


def _says(point: Point) -> bool:
    """Whether a statement has a letter or digit at all."""
    return any(character.isalnum() for character in point.statement)


def _checked(given: PlainPoint | QuotedPoint, passages: Sequence[Hit]) -> Point:
    """A point with its quotation found in the passages, the first that has it, or set apart."""
    point = Point(statement=" ".join(given.statement.split()), bears_on=given.bears_on)
    if isinstance(given, PlainPoint) or not given.quote.strip():
        return point
    for hit in passages:
        quote = QuoteFinder(hit.chunk.text, hit.title).find(given.quote)
        if quote is not None:
            offset = 0 if quote.in_title else hit.chunk.start
            moved = quote.model_copy(update={"start": quote.start + offset, "end": quote.end + offset})
            source = PointSource(url=hit.url, text_digest=hit.text_digest, quote=moved)
            return point.model_copy(update={"source": source})
    return point.model_copy(update={"quote_rejected": given.quote})
