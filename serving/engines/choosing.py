"""Reading the probabilities of a closed set of answers off the alternatives of single tokens.

Invariant: every number comes from the unconstrained model; what the server did not report is bounded from above and
named as bounded, never invented; alternatives that are not a probability distribution are refused.

An option is a path of pieces (tokens, or their texts). Its log-probability is that of its pieces, each after those
before it. Where another option goes on from its end, as "10" from "1", it is also that of not going on:

    l(option) = sum of l(piece | pieces before)  +  ln(1 - sum of p(piece that goes on to another option | option))

so that a menu of single tokens takes one forward pass, and one of numbers from 1 to 10 two at most.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from serving.engines.wire import TopToken
from serving.errors import MalformedReply, UnsupportedRequest
from serving.types import Choice, Usage

Piece = TypeVar("Piece", str, int)

LEAST = 1e-12
"""What rounding leaves of a probability of not going on."""

ROUNDING = 0.01
"""By how much the probabilities that a server reports may exceed 1 together: half-precision arithmetic, no more."""

VARIANTS = 2
"""Tokens that an unreported option may be written with: with a space before it and without."""


class Read(NamedTuple, Generic[Piece]):
    """What a pass says of the pieces that may come next."""

    logprobs: Mapping[Piece, float]
    bounded: frozenset[Piece]
    """Those whose value bounds them from above."""
    usage: Usage


async def choose_by_paths(
    paths: Mapping[str, tuple[Piece, ...]],
    ask: Callable[[tuple[Piece, ...], tuple[Piece, ...]], Awaitable[Read[Piece]]],
) -> Choice:
    """The log-probability of each option from those of its pieces.

    Args:
        paths: of each option, not empty, all different.
        ask: the log-probabilities of pieces after the prompt and a beginning. The prompt alone is asked about first, so
            that it is in the cache for the others.

    Raises:
        UnsupportedRequest: two options are the same pieces.
    """
    if len(set(paths.values())) < len(paths):
        raise UnsupportedRequest(f"options {list(paths)} are not all different tokens; rename some")
    onward: dict[tuple[Piece, ...], dict[Piece, None]] = {}
    for path in paths.values():
        for place, piece in enumerate(path):
            onward.setdefault(path[:place], {})[piece] = None
    start: tuple[Piece, ...] = ()
    read: dict[tuple[Piece, ...], Read[Piece]] = {start: await ask(start, tuple(onward[start]))}
    later = [begun for begun in onward if begun]
    asked = await asyncio.gather(*(ask(begun, tuple(onward[begun])) for begun in later))
    read.update(zip(later, asked, strict=True))
    logprobs: dict[str, float] = {}
    bounded: list[str] = []
    for option, path in paths.items():
        steps = [(read[path[:place]], piece) for place, piece in enumerate(path)]
        value = math.fsum(said.logprobs[piece] for said, piece in steps)
        if path in onward:
            going_on = math.fsum(math.exp(one) for one in read[path].logprobs.values())
            value += math.log(max(LEAST, 1.0 - going_on))
        logprobs[option] = min(0.0, value)
        if any(piece in said.bounded for said, piece in steps):
            bounded.append(option)
    return Choice(
        logprobs=logprobs, bounded=tuple(bounded), usage=_together([one.usage for one in read.values()])
    )


def grouped(pieces: Sequence[Piece], sizes: Sequence[int], most: int) -> list[tuple[Piece, ...]]:
    """Pieces in their order, in groups of at most `most` together; one that is larger is a group of its own."""
    groups: list[list[Piece]] = []
    room = 0
    for piece, size in zip(pieces, sizes, strict=True):
        if not groups or size > room:
            groups.append([])
            room = most
        groups[-1].append(piece)
        room -= size
    return [tuple(group) for group in groups]


def joined(reads: Sequence[Read[Piece]]) -> Read[Piece]:
    """What several passes say of different pieces that may come next."""
    return Read(
        {piece: value for read in reads for piece, value in read.logprobs.items()},
        frozenset(piece for read in reads for piece in read.bounded),
        _together([read.usage for read in reads]),
    )


def _together(usages: Sequence[Usage]) -> Usage:
    cached = [usage.cached_tokens for usage in usages]
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        cached_tokens=None if None in cached else sum(count or 0 for count in cached),
    )


def read_pieces(pieces: Sequence[str], top: Sequence[TopToken], usage: Usage) -> Read[str]:
    """Read the log-probabilities of pieces off the alternatives that a server reports.

        l(piece) = ln sum exp(l(t))    over reported tokens t with strip(t) = strip(piece)

    A piece without a reported token is bounded: each of its tokens is at most as likely as the least likely one
    reported, and all of them together have at most the probability that the reported ones leave.

        p(piece) <= min(VARIANTS * min p(t), 1 - sum p(t))

    A token with the log-probability -Infinity, which some servers write, counts as not reported.

    Raises:
        MalformedReply: no token has a finite log-probability, or all of them together have a probability above 1.
    """
    told = [token for token in top if math.isfinite(token.logprob)]
    if not told:
        raise MalformedReply("the server returns no finite log-probability; look at the server's log")
    total = math.fsum(math.exp(token.logprob) for token in told)
    if total > 1.0 + ROUNDING:
        raise MalformedReply(
            f"the server returns alternatives with a probability of {total:.3g} together, which cannot be more than "
            "1; look at the server's log"
        )
    least = math.exp(min(token.logprob for token in told))
    bound = max(LEAST, min(VARIANTS * least, 1.0 - total))
    mass = {piece.strip(): 0.0 for piece in pieces}
    for token in told:
        text = token.token.strip()
        if text in mass:
            mass[text] += math.exp(token.logprob)
    found = {piece: mass[piece.strip()] for piece in pieces}
    logprobs = {piece: min(0.0, math.log(p or bound)) for piece, p in found.items()}
    return Read(logprobs, frozenset(piece for piece, p in found.items() if p == 0.0), usage)


def check_options(options: Sequence[str]) -> None:
    """Refuse what is no menu.

    Raises:
        UnsupportedRequest: fewer than two, empty or doubled options.
    """
    if len(options) < 2:
        raise UnsupportedRequest(f"{len(options)} options given; a choice needs at least two")
    for option in options:
        if not option or option != option.strip():
            raise UnsupportedRequest(
                f"option {option!r} is empty or has white space around it; give the bare word"
            )
        if options.count(option) > 1:
            raise UnsupportedRequest(f"option {option!r} is given twice; name each once")


def check_first_tokens(options: Sequence[str]) -> None:
    """Refuse a menu whose options cannot be told apart by one token, where there is no tokenizer to ask.

    Raises:
        UnsupportedRequest: an option that another begins with.
    """
    for place, option in enumerate(options):
        for other in (*options[:place], *options[place + 1 :]):
            if other.startswith(option):
                raise UnsupportedRequest(
                    f"options {option!r} and {other!r} may begin with the same token, and this server has no tokenizer "
                    "to tell; rename one, or use vLLM"
                )
