"""Removal of a report's citations by a judge.

The judge copies each part of the body that may contain a citation, without the citations. Code then compares the copy
with the original and removes from the original what the copy omits.

Invariants: no text comes from the judge. A copy with any other difference is a failure, and code alone cleans that
part, as it cleans all parts without possible citations, lists of references and footnotes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.cleaning.copying import Differs, choices_of
from local_judge.documents.clean import Cleaned, clean_as_chosen
from local_judge.documents.cleaning.choices import Option, Stretch, stretches
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, load_prompt

template = partial(load_prompt, "local_judge.cleaning")

PIECE_CHARACTERS = 2_000
"""Maximum characters of the blocks in one prompt; longer copies are more often inexact."""
_REPLY_TOKENS = 128
_AVOIDABLE = ("invalid_reply", "truncated", "prompt_too_long")
"""Failures that a shorter piece may avoid."""


class Copy(BaseModel):
    """Answer of the judge."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str


class JudgedCleaning(Frozen):
    """A report cleaned by a judge."""

    cleaned: Cleaned
    n_pieces: int
    """Number of pieces of the report that the judge copied."""
    failures: tuple[Failure, ...] = ()
    """One failure for each piece that code cleaned instead."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the replies."""


class _Part(NamedTuple):
    """A block, or sentences of one, with its possible citations."""

    start: int
    end: int
    asked: Sequence[Stretch]


class _Decided(NamedTuple):
    """Result for one piece."""

    chosen: Sequence[Option]
    n_pieces: int
    failures: tuple[Failure, ...]
    replies: tuple[str, ...]


async def clean_by_judge(document: Document, judge: Judge, *, chatter: bool = False) -> JudgedCleaning:
    """Remove what the judge takes for citations; code cleans the pieces that failed.

    Args:
        document: Parsed report.
        judge: Judge that copies the pieces; equal pieces take one call, since its ledger keeps the replies.
        chatter: See `documents.clean.clean`.
    """
    found = stretches(document)
    decided = await asyncio.gather(*(_decide(document, piece, judge) for piece in _pieces(document, found)))
    answers = iter([option for one in decided for option in one.chosen])
    chosen = [stretch.default if stretch.block is None else next(answers) for stretch in found]
    return JudgedCleaning(
        cleaned=clean_as_chosen(document, chosen, chatter=chatter),
        n_pieces=sum(one.n_pieces for one in decided),
        failures=tuple(failure for one in decided for failure in one.failures),
        replies=tuple(key for one in decided for key in one.replies),
    )


def _pieces(document: Document, found: Sequence[Stretch]) -> list[list[_Part]]:
    """Group the parts into pieces of at most `PIECE_CHARACTERS`, in order."""
    pieces: list[list[_Part]] = []
    size = 0
    for part in _parts(document, found):
        size += part.end - part.start
        if not pieces or size > PIECE_CHARACTERS:
            pieces.append([])
            size = part.end - part.start
        pieces[-1].append(part)
    return pieces


def _parts(document: Document, found: Sequence[Stretch]) -> Iterator[_Part]:
    """Yield the blocks with possible citations; long blocks are cut between sentences."""
    sentences: dict[int, list[int]] = {}
    for sentence in document.sentences:
        sentences.setdefault(sentence.block, []).append(sentence.span.start)
    for block, stretches_of in groupby(
        (one for one in found if one.block is not None), lambda one: one.block or 0
    ):
        span, asked = document.blocks[block].span, list(stretches_of)
        inside = [
            start
            for start in sentences.get(block, [])
            if not any(one.start < start < one.end for one in asked)
        ]
        for start, end in _cut(span.start, span.end, inside):
            here = [one for one in asked if start <= one.start < end]
            if here:
                yield _Part(start, end, here)


def _cut(start: int, end: int, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cut a range at some of the places into parts of at most `PIECE_CHARACTERS`, if possible."""
    for place, following in pairwise([*places, end]):
        if following - start > PIECE_CHARACTERS and place > start:
            yield start, place
            start = place
    yield start, end


def piece_prompt(text: str) -> Prompt:
    """Return the prompt that asks for a copy of one piece; the instructions are shared by all pieces of all reports."""
    own = f"{fence(text, 'Part of a report:')}\n\nCopy the part above without its citations."
    return Prompt(shared=template("clean"), own=own, prefix_key="clean")


async def _decide(document: Document, piece: Sequence[_Part], judge: Judge) -> _Decided:
    shown = "\n\n".join(document.text[part.start : part.end] for part in piece)
    # A token of a report has at least two bytes on average, JSON's escapes included.
    limit = len(shown.encode()) // 2 + _REPLY_TOKENS
    answer = await judge.ask(piece_prompt(shown), Copy, max_tokens=limit)
    if isinstance(answer, Failure):
        replies, failure = (), answer
    else:
        replies = answer.replies
        read = _read(document, piece, answer.value.text)
        if not isinstance(read, Differs):
            return _Decided(read, 1, (), replies)
        failure = Failure(kind="invalid_reply", detail=f"reply {replies[-1][:12]}: {read.why}")
    if len(piece) > 1 and failure.kind in _AVOIDABLE:
        singly = await asyncio.gather(*(_decide(document, [part], judge) for part in piece))
        return _Decided(
            [option for one in singly for option in one.chosen],
            sum(one.n_pieces for one in singly),
            tuple(failed for one in singly for failed in one.failures),
            (*replies, *(key for one in singly for key in one.replies)),
        )
    defaults = [stretch.default for part in piece for stretch in part.asked]
    return _Decided(defaults, 1, (failure,), replies)


def _read(document: Document, piece: Sequence[_Part], copy: str) -> list[Option] | Differs:
    """Find the choices in a copy of several parts, which are compared as if they followed each other directly."""
    text = "".join(document.text[part.start : part.end] for part in piece)
    moved: list[Stretch] = []
    shift = 0
    for part in piece:
        offset = shift - part.start
        moved += [
            Stretch(one.start + offset, one.end + offset, one.block, one.options, one.default)
            for one in part.asked
        ]
        shift += part.end - part.start
    return choices_of(copy, text, moved)
