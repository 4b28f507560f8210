"""Drafting of guidance by a judge.

Invariants: a draft has at least `DraftSettings.least` points that are different, or is a failure; every source in it
is a quotation that code found in a passage shown to the judge; the same task, snapshot and judge give the same draft,
and replies in the ledger are reused; each passage is in a fence of its own with its URL.

A small judge asked for many points repeats a few. Duplicates are left out, and if too few points remain, the judge is
asked for one dimension at a time, for at most `PER_SCOPE` points each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, create_model

from indexes.corpus import Corpus, Hit
from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.base.model import Frozen
from local_judge.claims.evidence import estimate_tokens
from local_judge.claims.quotes import QuoteFinder
from local_judge.documents.sentences import split_sentences
from local_judge.judge.errors import failure_of
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, shared_prompt
from local_judge.tasks.alike import distinct
from local_judge.tasks.drafting import (
    UNREADABLE,
    Draft,
    Drafts,
    NoDraft,
    Reply,
    limited,
    one_line,
    template,
)
from local_judge.tasks.guidance import GUIDANCE_KIND, GuidanceRow, Point, PointSource, Scope, render
from local_judge.tasks.model import Task
from serving.errors import EngineError

LEAST, MOST = 5, 12
"""Default number of points of a draft."""
PER_SCOPE = 2
"""Number of points in a question about one dimension."""
SCOPES: tuple[Scope, ...] = tuple(scope for scope in get_args(Scope) if scope != "any")
REPLY_TOKENS_PER_POINT = 180
MIN_REPLY_TOKENS = LEAST * 80
"""Minimum number of tokens left for the reply; passages are dropped from the end until the prompt fits."""

MAX_QUERIES = 16
"""Maximum number of queries: the whole request and its sentences."""
HITS_PER_QUERY = 8


class DraftSettings(Frozen):
    """Settings of drafting guidance."""

    evidence_tokens: int = Field(default=4_000, ge=0)
    """Maximum number of tokens of all passages shown."""
    points: int = Field(default=MOST, ge=1, le=30)
    """Maximum number of points of a draft."""

    @property
    def least(self) -> int:
        """Minimum number of different points of a draft."""
        return min(LEAST, self.points)


_DEFAULTS = DraftSettings()


class PlainPoint(Reply):
    """Point in a reply to a prompt without passages."""

    statement: Annotated[str, Field(min_length=8, max_length=300)]
    bears_on: Scope


class QuotedPoint(Reply):
    """Point in a reply. The quotation comes first, so that the point follows from it."""

    quote: Annotated[str, Field(max_length=300)]
    statement: Annotated[str, Field(min_length=8, max_length=300)]
    bears_on: Scope


class Points(Reply):
    """Reply of the judge, of any length."""

    points: Sequence[PlainPoint | QuotedPoint]


def open_corpus(snapshot: Snapshot | None) -> Corpus | None:
    """Open the search over a snapshot for all tasks; None without a snapshot, or if no page has a text."""
    return None if snapshot is None or not snapshot.info().n_chunks else snapshot.corpus()


async def draft_guidance(
    draft: Draft, corpus: Corpus | None, settings: DraftSettings = _DEFAULTS, snapshot: str | None = None
) -> GuidanceRow:
    """Draft the points that a report on the task must meet; the task's own guidance is ignored.

    If fewer than `settings.least` points are different, each dimension is asked about alone, starting with those with
    the fewest points, until there are enough.

    Args:
        draft: the draft of the task; one call is enough if the judge answers well.
        corpus: search for passages; None shows the judge the request alone.
        settings: amount of text shown, and number of points.
        snapshot: digest of the snapshot of the corpus.

    Raises:
        NoDraft: there are too few different points.
        IndexesError: the snapshot cannot be searched.
    """
    task = draft.task
    language = detect_language(task.prompt)
    found = select(corpus, task.prompt, language, settings.evidence_tokens) if corpus is not None else []
    try:
        found = await _fitting(task, found, draft.judge, settings)
    except EngineError as error:
        raise NoDraft(failure_of(error, "measuring the passages for guidance")) from None
    points: list[Point] = []
    n_given = 0
    failed: NoDraft | None = None

    async def ask(prompt: Prompt, least: int, most: int, scope: Scope | None = None) -> None:
        """Ask one question, and add the new points of its answer."""
        nonlocal points, n_given, failed
        failed = None
        wanted = _answer_type(bool(found), least, most, scope)
        try:
            answer = await draft.ask(prompt, wanted, most * REPLY_TOKENS_PER_POINT)
        except NoDraft as error:
            if error.failure.kind not in UNREADABLE:
                raise
            failed = error
            return
        checked = [_checked(point, found) for point in answer.points]
        n_given += len(checked)
        stated = [*points, *filter(_says, checked)]
        points = distinct(stated, lambda point: point.statement)[: settings.points]

    await ask(draft_prompt(task, found, settings), settings.least, settings.points)
    for scope in sorted(SCOPES, key=lambda scope: sum(point.bears_on == scope for point in points)):
        if len(points) >= settings.least:
            break
        await ask(scope_prompt(task, found, scope, points), 1, PER_SCOPE, scope)
    if len(points) < settings.least:
        raise failed or draft.incomplete(
            f"{len(points)} different points of {n_given}, needs {settings.least}"
        )
    return GuidanceRow(
        task_id=task.id,
        task=task.prompt,
        text=render(points, language),
        language=language,
        points=tuple(points),
        snapshot=snapshot,
        passages=tuple(hit.chunk.id for hit in found),
        status="drafted",
        **await draft.origin(),
    )


def guidance_drafts(snapshot: Snapshot | None, settings: DraftSettings = _DEFAULTS) -> Drafts[GuidanceRow]:
    """Return drafts of guidance with passages from `snapshot`, if given. Raises IndexesError."""
    corpus = open_corpus(snapshot)
    digest = None if snapshot is None else snapshot.digest
    return GUIDANCE_KIND.drafts(lambda draft: draft_guidance(draft, corpus, settings, digest))


def draft_prompt(task: Task, passages: Sequence[Hit], settings: DraftSettings = _DEFAULTS) -> Prompt:
    """Return the prompt that asks for all points in one reply, after the request and the passages."""
    return _prompt(task, passages, f"Write {_number(settings.least, settings.points)}, all different.", "")


def scope_prompt(task: Task, passages: Sequence[Hit], scope: Scope, known: Sequence[Point]) -> Prompt:
    """Return the prompt that asks for points of one dimension, beside those known so far."""
    [line] = [line for line in template("scopes").splitlines() if line.startswith(f"{scope}:")]
    beside = fill(template("draft_scope"), {"scope": line.rstrip(";.")})
    if known:
        listed = "\n".join(f"{number}. {point.statement}" for number, point in enumerate(known, 1))
        beside += "\n" + fill(template("standing"), {"points": fence(listed, "Points:")})
    return _prompt(task, passages, f"Write {_number(1, PER_SCOPE)}, all different.", beside + "\n")


def _number(least: int, most: int) -> str:
    return f"{least} of them" if least == most else f"{least} to {most} of them"


def _prompt(task: Task, passages: Sequence[Hit], wanted: str, beside: str) -> Prompt:
    values = {"wanted": wanted, "scopes": template("scopes"), "beside": beside}
    own = fill(template("draft" if passages else "draft_alone"), values)
    return shared_prompt("guidance", request_and_passages(task.prompt, passages), own)


@cache
def _answer_type(quoted: bool, least: int, most: int, scope: Scope | None) -> type[Points]:
    """Return the reply type for this number of points, of one dimension or any."""
    point: Any = QuotedPoint if quoted else PlainPoint
    if scope is not None:
        only: Any = Literal[scope]
        point = create_model(point.__name__, __base__=point, bears_on=(only, ...))
    return limited(Points, point, most, least)


async def _fitting(task: Task, passages: list[Hit], judge: Judge, settings: DraftSettings) -> list[Hit]:
    """Return the passages without the last ones that leave too little room for the reply."""
    while passages and await judge.room(draft_prompt(task, passages, settings)) < MIN_REPLY_TOKENS:
        passages = passages[:-1]
    return passages


def _says(point: Point) -> bool:
    """Check whether a statement has a letter or digit."""
    return any(character.isalnum() for character in point.statement)


def _checked(given: PlainPoint | QuotedPoint, passages: Sequence[Hit]) -> Point:
    """Return a point with its quotation located in the first passage that has it, or rejected."""
    point = Point(statement=one_line(given.statement), bears_on=given.bears_on)
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


def queries(prompt: str, language: str) -> list[str]:
    """Return the request, and each of its sentences if there are several."""
    sentences = [prompt[start:end].strip() for start, end in split_sentences(prompt, (), language)]
    asked = [prompt.strip(), *filter(None, sentences)]
    return list(dict.fromkeys(asked))[:MAX_QUERIES]


def select(corpus: Corpus, prompt: str, language: str, tokens: int) -> list[Hit]:
    """Return the best passages of the queries in turn, up to `tokens` (as counted by `estimate_tokens`).

    Each sentence of the request gets its best passage before any gets its second.

    Raises:
        IndexesError: the snapshot has no index by words, or is damaged.
    """
    found = corpus.search(queries(prompt, language), HITS_PER_QUERY)
    chosen: dict[str, Hit] = {}
    spent = 0
    for rank in range(HITS_PER_QUERY):
        for hits in found:
            if rank >= len(hits) or hits[rank].chunk.id in chosen:
                continue
            cost = estimate_tokens(shown(hits[rank], len(chosen) + 1))
            if spent + cost <= tokens:
                chosen[hits[rank].chunk.id] = hits[rank]
                spent += cost
    return list(chosen.values())


def shown(hit: Hit, number: int) -> str:
    """Return one passage as the judge sees it."""
    parts = (f"Address: {hit.url}", hit.title, hit.chunk.text.strip())
    return fence("\n\n".join(filter(None, parts)), f"Passage {number}:")


def request_and_passages(prompt: str, passages: Sequence[Hit]) -> str:
    """Return the request and the passages, each in its fence."""
    parts = [fence(prompt.strip(), "Request:")]
    parts += [shown(hit, number) for number, hit in enumerate(passages, 1)]
    return "\n\n".join(parts)
