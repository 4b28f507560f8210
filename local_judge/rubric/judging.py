"""The answers of a judge to the items of a rubric about one report.

`scored` asks one item a call: the report is the shared prefix, the answer one token, and the value the expected value
over the judge's probabilities. `explained` asks several items a call for a quotation, a rationale and an answer.

    value = sum over k of p(k) k / (n - 1)        p(k): probability of the k-th of n choices, from the worst, k = 0

Invariants: each item has one answer with one value for each draw, or None where the judge gave none; a draw rotates the
order of the choices (`scored`) or of the items (`explained`), so that over as many draws as there are choices each has
each place once. A quotation of `scored` is the sentence that the ranker puts first for the item: it shows where to
look, and is not the judge's choice. Code decides which answers are void.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import Field

from indexes.rank import Bm25Ranker
from indexes.urls import normalise_url
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Quote
from local_judge.claims.quotes import QuoteFinder
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer, Judge
from local_judge.prompts import fence, fill, load_prompt
from local_judge.rubric.answers import JudgedItem
from local_judge.rubric.asking import MIN_REPLY_TOKENS, REPLY_TOKENS, ask_groups, reasons_of, report_prompt
from local_judge.rubric.items import Item, Rubric

Method = Literal["scored", "explained"]
"""`scored`: probabilities, one item a call. `explained`: quotations and rationales, several items a call."""

LETTERS = "ABCDEFGHIJ"
LEAST_WORDS = 5
"""Shortest text of an item whose repetition in a report is no coincidence."""

template = partial(load_prompt, "local_judge.rubric")

C = TypeVar("C", bound=str)
T = TypeVar("T")


class ItemAnswer(JudgedItem):
    """Answer of a judge to one item."""

    item: Item
    values: tuple[float | None, ...]
    """Value in each draw, from 0 (worst) to 1 (best); None where the judge gave no answer."""
    probabilities: tuple[tuple[float, ...], ...] = ()
    """Probabilities of the choices, from the worst to the best, in each draw that was answered; only of `scored`."""
    void: str | None = None
    """Blocked address that the quotation's sentence cites, so that the answer earns nothing."""

    @property
    def value(self) -> float | None:
        """Mean value of the draws that were answered; 0 for a requirement that is void."""
        known = [one for one in self.counted if one is not None]
        return round(math.fsum(known) / len(known), 6) if known else None

    @property
    def counted(self) -> tuple[float | None, ...]:
        """Values as they count in the score."""
        return tuple(0.0 if self.void and one is not None else one for one in self.values)


class Explained(Frozen, Generic[C]):
    """A judge's answer to one item, with its reasons."""

    quote: Annotated[str, Field(max_length=400)]
    rationale: Annotated[str, Field(max_length=400)]
    answer: C


class _Draw(NamedTuple):
    """Answer to one item in one draw."""

    value: float | None
    probabilities: tuple[float, ...]
    reasons: Mapping[str, Any]
    """Fields of a `JudgedItem`."""


def rotate(values: Sequence[T], places: int) -> tuple[T, ...]:
    """Return the values with the first `places` ones moved to the end."""
    start = places % len(values)
    return (*values[start:], *values[:start])


async def judge_items(
    document: Document,
    judge: Judge,
    rubric: Rubric,
    *,
    request: str | None,
    method: Method,
    items_per_call: int,
    draws: int,
) -> tuple[ItemAnswer, ...]:
    """Return the answers to the items, in their order.

    Args:
        document: the report.
        judge: the judge that answers.
        rubric: the items.
        request: the text of the task, which prompts show after the report; None for none.
        method: see `Method`.
        items_per_call: of `explained`.
        draws: number of answers to each item, each with another order.
    """
    context = [] if request is None else [fence(request, "Request:")]
    if method == "scored":
        quotes = nearest_quotes(document, rubric.items)
        found = await asyncio.gather(
            *(
                asyncio.gather(
                    *(_score(document, judge, item, quote, context, draw) for draw in range(draws))
                )
                for item, quote in zip(rubric.items, quotes, strict=True)
            )
        )
    else:
        turns = await asyncio.gather(
            *(
                _explain(document, judge, rubric.items, context, items_per_call, draw, draws)
                for draw in range(draws)
            )
        )
        found = list(zip(*turns, strict=True))
    return tuple(
        _answer(item, answers, document, rubric) for item, answers in zip(rubric.items, found, strict=True)
    )


def _answer(item: Item, draws: Sequence[_Draw], document: Document, rubric: Rubric) -> ItemAnswer:
    """Return the answer of all draws, with the reasons of the first draw that has a value."""
    reasons = next((one.reasons for one in draws if one.value is not None), draws[0].reasons)
    failure = next((failed for one in draws if (failed := one.reasons.get("failure")) is not None), None)
    quote: Quote | None = reasons.get("quote")
    fields: dict[str, Any] = {
        **reasons,
        "failure": failure,
        "replies": tuple(key for one in draws for key in one.reasons.get("replies", ())),
    }
    return ItemAnswer(
        item=item,
        values=tuple(one.value for one in draws),
        probabilities=tuple(one.probabilities for one in draws if one.probabilities),
        void=blocked_source(document, quote, rubric.blocked) if item.weight > 0 else None,
        **fields,
    )


async def _score(
    document: Document, judge: Judge, item: Item, quote: Quote | None, context: Sequence[str], draw: int
) -> _Draw:
    names = rotate(item.choices[::-1] if item.is_yes_no else item.choices, draw)
    menu = tuple(map(str.title, names)) if item.is_yes_no else tuple(LETTERS[: len(names)])
    pick = await judge.choose(report_prompt(document, [*context, question(item, names)]), menu, draw=draw)
    if isinstance(pick, Failure):
        return _Draw(None, (), {"quote": quote, "failure": pick})
    found = dict(zip(names, (pick.probabilities[one] for one in menu), strict=True))
    value = math.fsum(item.value(name) * p for name, p in found.items())
    probabilities = tuple(round(found[name], 6) for name in item.choices)
    return _Draw(round(value, 6), probabilities, {"quote": quote, "replies": (pick.reply,)})


def question(item: Item, names: Sequence[str]) -> str:
    """Return the question about one item, with its choices in the order of `names`."""
    criterion = fence(item.text, "Criterion:")
    if item.is_yes_no:
        first, second = map(str.title, names)
        return fill(template("yes_no"), {"criterion": criterion, "first": first, "second": second})
    lines = [f"{letter}. {_meaning(item, name)}" for letter, name in zip(LETTERS, names, strict=False)]
    return fill(template("choices"), {"criterion": criterion, "choices": fence("\n".join(lines), "Answers:")})


def _meaning(item: Item, name: str) -> str:
    anchor = item.anchors[item.choices.index(name)] if item.anchors else ""
    return " ".join((f"{name}: {anchor}" if anchor else name).split())


async def _explain(
    document: Document,
    judge: Judge,
    items: Sequence[Item],
    context: Sequence[str],
    items_per_call: int,
    draw: int,
    draws: int,
) -> list[_Draw]:
    """Return one draw's answers to the items, in their order."""
    order = rotate(items, draw * len(items) // draws)
    finder = QuoteFinder(document.text)
    told = await asyncio.gather(
        *(
            ask_groups(
                judge,
                lambda some: report_prompt(document, [*context, questions(some)]),
                [[one] for one in order[start : start + items_per_call]],
                lambda one: _answer_type(one.choices),
                reply_tokens=REPLY_TOKENS,
                min_reply_tokens=MIN_REPLY_TOKENS,
                draw=draw,
            )
            for start in range(0, len(order), items_per_call)
        )
    )
    replies = dict(zip((one.id for one in order), (one for some in told for one in some), strict=True))
    return [_read_explained(item, replies[item.id], finder) for item in items]


def _read_explained(item: Item, reply: Answer[Explained[Any]] | Failure, finder: QuoteFinder) -> _Draw:
    value = None if isinstance(reply, Failure) else item.value(reply.value.answer)
    return _Draw(value, (), reasons_of(reply, finder))


@cache
def _answer_type(choices: tuple[str, ...]) -> type[Explained[Any]]:
    return Explained[Literal[choices]]  # type: ignore[valid-type]


def questions(items: Sequence[Item]) -> str:
    """Return the question about several items."""
    lines: list[str] = []
    for one in items:
        names = " / ".join(one.choices)
        lines.append(f"[{one.id}] {' '.join(one.text.split())} ({names})")
        lines += [f"  {_meaning(one, name)}" for name in one.choices if one.anchors]
    criteria = fence(
        "\n".join(lines), "Criteria, each with its id in brackets and its answers in parentheses:"
    )
    return fill(template("explained"), {"criteria": criteria})


def nearest_quotes(document: Document, items: Sequence[Item]) -> list[Quote | None]:
    """Return, for each item, the sentence of the report that the ranker puts first; None if none shares a word."""
    sentences = [one for one in document.sentences if document.blocks[one.block].role == "body"]
    ranked = Bm25Ranker().scores([one.text for one in sentences], [one.text for one in items])
    found: list[Quote | None] = []
    for scores in ranked:
        best = max(range(len(scores)), key=lambda place: scores[place], default=None)
        if best is None or scores[best] <= 0:
            found.append(None)
            continue
        span = sentences[best].span
        found.append(Quote(text=document.text[span.start : span.end], start=span.start, end=span.end))
    return found


def blocked_source(document: Document, quote: Quote | None, blocked: Sequence[str]) -> str | None:
    """Return the first blocked address that a sentence of the quotation cites; None if there is none."""
    addresses = {normalise_url(url) for url in blocked}
    if quote is None or not addresses:
        return None
    for sentence in document.sentences:
        if sentence.span.start < quote.end and quote.start < sentence.span.end:
            for citation in map(document.citation, sentence.citations):
                if citation.url in addresses:
                    return citation.url
    return None


def repeated_items(document: Document, items: Sequence[Item]) -> tuple[str, ...]:
    """Return the ids of items whose text stands in the report word by word."""
    finder = QuoteFinder(document.text)
    long = (one for one in items if len(one.text.split()) >= LEAST_WORDS)
    return tuple(one.id for one in long if finder.find(one.text) is not None)
