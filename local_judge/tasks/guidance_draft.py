"""Drafting guidance for a task that has none.

Invariants: a draft has at least `DraftSettings.least` points that say different things, or is a failure; every source
in it is a quotation that code found in a passage which the judge was shown; the same task, snapshot and judge give the
same draft, and a reply that the ledger holds is not asked for again; each passage stands in a fence of its own with its
address.

A small judge asked for many points repeats a few. So those that say the same are left out, and where too few are left,
it is asked again for one dimension at a time, for no more than `PER_SCOPE` each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, create_model

from indexes.corpus import Corpus, Hit
from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.claims.evidence import estimate_tokens
from local_judge.claims.quotes import QuoteFinder
from local_judge.documents.sentences import split_sentences
from local_judge.judge.failures import Failure, failure_of
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill
from local_judge.tasks.alike import distinct
from local_judge.tasks.drafting import UNREADABLE, Drafts, Reply, limited, one_line, shared_prompt, template
from local_judge.tasks.guidance import GUIDANCE_KIND, GuidanceRow, Point, PointSource, Scope, render
from local_judge.tasks.model import Task
from serving.errors import EngineError
from serving.types import Frozen

LEAST, MOST = 5, 12
"""Points of a draft, unless it is to have fewer, or more."""
PER_SCOPE = 2
"""Points asked for where one dimension is asked about alone."""
SCOPES: tuple[Scope, ...] = tuple(scope for scope in get_args(Scope) if scope != "any")
REPLY_TOKENS_PER_POINT = 180
MIN_REPLY_TOKENS = LEAST * 80
"""A prompt fits if it leaves at least this much room; passages are left out from the last until it does."""

MAX_QUERIES = 16
"""A request is searched for whole and sentence by sentence, up to this many queries."""
HITS_PER_QUERY = 8


class DraftSettings(Frozen):
    """How guidance is drafted."""

    evidence_tokens: int = Field(default=4_000, ge=0)
    """Passages shown, together."""
    points: int = Field(default=MOST, ge=1, le=30)
    """The most that a draft has."""

    @property
    def least(self) -> int:
        """The fewest different points that make a draft."""
        return min(LEAST, self.points)


_DEFAULTS = DraftSettings()


class PlainPoint(Reply):
    """A point as the judge writes it where it is shown no passages."""

    statement: Annotated[str, Field(min_length=8, max_length=300)]
    bears_on: Scope


class QuotedPoint(Reply):
    """A point as the judge writes it. The quotation comes first: evidence before what follows from it."""

    quote: Annotated[str, Field(max_length=300)]
    statement: Annotated[str, Field(min_length=8, max_length=300)]
    bears_on: Scope


class Points(Reply):
    """What the judge answers, of whatever length."""

    points: Sequence[PlainPoint | QuotedPoint]


def open_corpus(snapshot: Snapshot | None) -> Corpus | None:
    """The search over a snapshot, opened once for all tasks; None without one or where no page has a text."""
    return None if snapshot is None or not snapshot.info().n_chunks else snapshot.corpus()


async def draft_guidance(
    task: Task,
    judge: Judge,
    corpus: Corpus | None,
    settings: DraftSettings = _DEFAULTS,
    snapshot: str | None = None,
) -> GuidanceRow | Failure:
    """The points that a report on `task` must meet, drafted by `judge`.

    If fewer than `settings.least` are different, each dimension is asked about by itself, those first that have the
    fewest, until there are enough.

    Args:
        task: its own guidance is not looked at.
        judge: asked one question, if it answers well.
        corpus: where passages are searched for; None leaves the judge to the request alone.
        settings: how much it is shown, and how many points are wanted.
        snapshot: digest of the one that the corpus is of.

    Raises:
        LedgerError: a reply could not be stored.
        IndexesError: the snapshot cannot be searched.
    """
    language = detect_language(task.prompt)
    found = select(corpus, task.prompt, language, settings.evidence_tokens) if corpus is not None else []
    try:
        found = await _fitting(task, found, judge, settings)
    except EngineError as error:
        return failure_of(error, "measuring the passages for guidance")
    collected = _Collected(found, settings.points)
    prompt = draft_prompt(task, found, settings)
    failure = await collected.ask(judge, prompt, settings.least, settings.points)
    for scope in sorted(SCOPES, key=collected.bearing_on):
        if failure is not None and failure.kind not in UNREADABLE:
            return failure
        if len(collected.points) >= settings.least:
            break
        prompt = scope_prompt(task, found, scope, collected.points)
        failure = await collected.ask(judge, prompt, 1, PER_SCOPE, scope)
    if len(collected.points) < settings.least:
        return failure or collected.too_few(settings.least)
    return GuidanceRow(
        task_id=task.id,
        task=task.prompt,
        text=render(collected.points, language),
        language=language,
        points=tuple(collected.points),
        snapshot=snapshot,
        passages=tuple(hit.chunk.id for hit in found),
        status="drafted",
        judge=await judge.engine.identity(),
        replies=tuple(collected.replies),
    )


def guidance_drafts(snapshot: Snapshot | None, settings: DraftSettings = _DEFAULTS) -> Drafts[GuidanceRow]:
    """Guidance for tasks that have none; `snapshot`: where passages are searched for. Raises IndexesError."""
    corpus = open_corpus(snapshot)
    digest = None if snapshot is None else snapshot.digest
    return GUIDANCE_KIND.drafts(lambda task, judge: draft_guidance(task, judge, corpus, settings, digest))


class _Collected:
    """The different points so far, of all replies."""

    def __init__(self, passages: Sequence[Hit], most: int) -> None:
        self._passages = passages
        self._most = most
        self.points: list[Point] = []
        self.replies: list[str] = []
        self.n_given = 0

    async def ask(
        self, judge: Judge, prompt: Prompt, least: int, most: int, scope: Scope | None = None
    ) -> Failure | None:
        """Put one question, and take what is new in its answer; the failure where there is none."""
        wanted = _answer_type(bool(self._passages), least, most, scope)
        answer = await judge.ask(prompt, wanted, max_tokens=most * REPLY_TOKENS_PER_POINT)
        if isinstance(answer, Failure):
            return answer
        self.replies += answer.replies
        given = [_checked(point, self._passages) for point in answer.value.points]
        self.n_given += len(given)
        said = [*self.points, *filter(_says, given)]
        self.points = distinct(said, lambda point: point.statement)[: self._most]
        return None

    def bearing_on(self, scope: Scope) -> int:
        return sum(point.bears_on == scope for point in self.points)

    def too_few(self, least: int) -> Failure:
        """That they repeat each other."""
        return Failure(
            kind="incomplete",
            detail=f"reply {self.replies[-1][:12]}: {len(self.points)} different points of {self.n_given}, "
            f"needs {least}",
            attempts=len(self.replies),
        )


def draft_prompt(task: Task, passages: Sequence[Hit], settings: DraftSettings = _DEFAULTS) -> Prompt:
    """Request and passages first, then what is asked: all points in one reply."""
    return _prompt(task, passages, f"Write {_number(settings.least, settings.points)}, all different.", "")


def scope_prompt(task: Task, passages: Sequence[Hit], scope: Scope, standing: Sequence[Point]) -> Prompt:
    """As `draft_prompt`, for the points of one dimension; `standing`: those that are there already."""
    [line] = [line for line in template("scopes").splitlines() if line.startswith(f"{scope}:")]
    beside = fill(template("draft_scope"), {"scope": line.rstrip(";.")})
    if standing:
        listed = "\n".join(f"{number}. {point.statement}" for number, point in enumerate(standing, 1))
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
    """Points of this number, those of one dimension with no other on the menu."""
    point: Any = QuotedPoint if quoted else PlainPoint
    if scope is not None:
        only: Any = Literal[scope]
        point = create_model(point.__name__, __base__=point, bears_on=(only, ...))
    return limited(Points, point, most, least)


async def _fitting(task: Task, passages: list[Hit], judge: Judge, settings: DraftSettings) -> list[Hit]:
    """The passages without the last ones that leave too little room for the reply."""
    while passages and await judge.room(draft_prompt(task, passages, settings)) < MIN_REPLY_TOKENS:
        passages = passages[:-1]
    return passages


def _says(point: Point) -> bool:
    """Whether a statement has a letter or digit at all."""
    return any(character.isalnum() for character in point.statement)


def _checked(given: PlainPoint | QuotedPoint, passages: Sequence[Hit]) -> Point:
    """A point with its quotation found in the passages, the first that has it, or set apart."""
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
    """The request, and each of its sentences if there are several."""
    sentences = [prompt[start:end].strip() for start, end in split_sentences(prompt, (), language)]
    asked = [prompt.strip(), *filter(None, sentences)]
    return list(dict.fromkeys(asked))[:MAX_QUERIES]


def select(corpus: Corpus, prompt: str, language: str, tokens: int) -> list[Hit]:
    """The best passages of each query in turn, up to `tokens` (as `estimate_tokens` counts them).

    Taking turns gives each sentence of the request its best passage before any gets its second.

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
    """One passage as the judge reads it."""
    parts = (f"Address: {hit.url}", hit.title, hit.chunk.text.strip())
    return fence("\n\n".join(filter(None, parts)), f"Passage {number}:")


def request_and_passages(prompt: str, passages: Sequence[Hit]) -> str:
    """The request and the passages, each in its fence."""
    parts = [fence(prompt.strip(), "Request:")]
    parts += [shown(hit, number) for number, hit in enumerate(passages, 1)]
    return "\n\n".join(parts)
