"""Log-probabilities of a closed set of answers from the log-probabilities of single tokens.

Invariant: every number comes from the unconstrained model; what the server did not report is bounded from above and
named as bounded, never invented; alternatives that are not a probability distribution are refused.

An option is a path of pieces (tokens, or their texts). Its log-probability is the sum over its pieces, each given those
before it. If another option continues it, as "10" continues "1", the log-probability of not continuing is added:

    l(option) = sum of l(piece | pieces before)  +  ln(1 - sum of p(piece that continues to another option | option))

so that a menu of single tokens takes one forward pass, and one of numbers from 1 to 10 two at most.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import permutations
from typing import Generic, NamedTuple, TypeVar

from serving.engines.wire import TokenLogprobs
from serving.errors import MalformedReply, UnsupportedRequest
from serving.types import Choice, Usage

Piece = TypeVar("Piece", str, int)

LEAST = 1e-12
"""Minimum probability of not continuing, against rounding errors."""

ROUNDING = 0.01
"""Amount by which the sum of the reported probabilities may exceed 1, due to half-precision arithmetic."""

VARIANTS = 2
"""Number of tokens that an unreported option may have: with and without a leading space."""

TOKEN_ID = "token_id:"
"""Prefix of a token's number, as vLLM writes it if asked for `return_tokens_as_token_ids`."""

NAME_SHOWN = 40
"""Maximum characters of a token in a message."""


class Read(NamedTuple, Generic[Piece]):
    """Log-probabilities of the pieces that may come next, from one forward pass."""

    logprobs: Mapping[Piece, float]
    bounded: frozenset[Piece]
    """Pieces whose value is an upper bound."""
    usage: Usage


async def choose_by_paths(
    paths: Mapping[str, tuple[Piece, ...]],
    ask: Callable[[tuple[Piece, ...], tuple[Piece, ...]], Awaitable[Read[Piece]]],
) -> Choice:
    """Compute the log-probability of each option from those of its pieces.

    Args:
        paths: Pieces of each option, not empty, all different.
        ask: Function that returns the log-probabilities of pieces after the prompt and a beginning. It is called first
            with the prompt alone, so that the prompt is in the cache for the other calls.

    Raises:
        UnsupportedRequest: Two options consist of the same pieces.
    """
    if len(set(paths.values())) < len(paths):
        raise UnsupportedRequest(f"options {list(paths)} are not all different tokens; rename some")
    onward: dict[tuple[Piece, ...], dict[Piece, None]] = {}
    for path in paths.values():
        for place, piece in enumerate(path):
            onward.setdefault(path[:place], {})[piece] = None
    start: tuple[Piece, ...] = ()
    later = [begun for begun in onward if begun]

    read: dict[tuple[Piece, ...], Read[Piece]] = {start: await ask(start, tuple(onward[start]))}
    asked = await asyncio.gather(*(ask(begun, tuple(onward[begun])) for begun in later))
    read.update(zip(later, asked, strict=True))
    logprobs: dict[str, float] = {}
    bounded: list[str] = []
    for option, path in paths.items():
        steps = [(read[path[:place]], piece) for place, piece in enumerate(path)]
        value = math.fsum(choice.logprobs[piece] for choice, piece in steps)
        if path in onward:
            going_on = math.fsum(math.exp(one) for one in read[path].logprobs.values())
            value += math.log(max(LEAST, 1.0 - going_on))
        logprobs[option] = min(0.0, value)
        if any(piece in choice.bounded for choice, piece in steps):
            bounded.append(option)
    return Choice(
        logprobs=logprobs, bounded=tuple(bounded), usage=_sum_usages([one.usage for one in read.values()])
    )


def group_pieces(pieces: Sequence[Piece], sizes: Sequence[int], most: int) -> list[tuple[Piece, ...]]:
    """Group pieces, in order, by a total size of at most `most`; a larger piece is its own group."""
    groups: list[list[Piece]] = []
    room = 0
    for piece, size in zip(pieces, sizes, strict=True):
        if not groups or size > room:
            groups.append([])
            room = most
        groups[-1].append(piece)
        room -= size
    return [tuple(group) for group in groups]


def join_reads(reads: Sequence[Read[Piece]]) -> Read[Piece]:
    """Merge the results of several passes about different pieces."""
    return Read(
        {piece: value for read in reads for piece, value in read.logprobs.items()},
        frozenset(piece for read in reads for piece in read.bounded),
        _sum_usages([read.usage for read in reads]),
    )


def _sum_usages(usages: Sequence[Usage]) -> Usage:
    cached = [usage.cached_tokens for usage in usages]
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        cached_tokens=None if None in cached else sum(count or 0 for count in cached),
    )


def read_pieces(pieces: Mapping[str, Collection[int]], position: TokenLogprobs, usage: Usage) -> Read[str]:
    """Return the log-probabilities of pieces from the alternatives that a server reports for a position.

        l(piece) = ln sum exp(l(t))    over reported tokens t that spell the piece

    A token spells a piece if its number is among the piece's numbers, or, where the server reports texts, if both are
    equal but for white space around them. A piece without a reported token gets an upper bound: each of its tokens is
    at most as likely as the least likely reported token, and together they have at most the probability that the
    reported tokens leave.

        p(piece) <= min(VARIANTS * min p(t), 1 - sum p(t))

    A token with the log-probability -Infinity, which some servers write, counts as not reported.

    Args:
        pieces: Numbers of the tokens that spell each piece; empty for a server without a tokenizer.
        position: What the server reports for the position.
        usage: Token counts of the request.

    Raises:
        MalformedReply: No token has a finite log-probability, the probabilities sum to more than 1, a token is listed
            twice, the sampled token has two log-probabilities, or only some tokens are numbers.
    """
    _check_entries(position)
    reported = [token for token in position.top_logprobs if math.isfinite(token.logprob)]
    if not reported:
        raise MalformedReply("the server returns no finite log-probability; look at the server's log")
    total = math.fsum(math.exp(token.logprob) for token in reported)
    if total > 1.0 + ROUNDING:
        raise MalformedReply(
            f"the server returns alternatives with a probability of {total:.3g} together, which cannot be more than "
            "1; look at the server's log"
        )
    least = math.exp(min(token.logprob for token in reported))
    bound = max(LEAST, min(VARIANTS * least, 1.0 - total))
    spelt = {f"{TOKEN_ID}{number}": piece for piece, numbers in pieces.items() for number in numbers}
    if not reported[0].token.startswith(TOKEN_ID):
        spelt = {piece.strip(): piece for piece in pieces}
    mass = dict.fromkeys(pieces, 0.0)
    for token in reported:
        if (piece := spelt.get(token.token.strip())) is not None:
            mass[piece] += math.exp(token.logprob)
    logprobs = {piece: min(0.0, math.log(p or bound)) for piece, p in mass.items()}
    return Read(logprobs, frozenset(piece for piece, p in mass.items() if p == 0.0), usage)


def _check_entries(position: TokenLogprobs) -> None:
    """Check that the entries of a position do not contradict each other.

    A text with U+FFFD is part of a character and stands for many tokens, so that it may be listed more than once.

    Raises:
        MalformedReply: They do.
    """
    names = [entry.token for entry in position.top_logprobs]
    numbers = sum(name.startswith(TOKEN_ID) for name in names)
    if numbers not in (0, len(names)):
        raise MalformedReply(
            f"the server names {numbers} of {len(names)} alternatives by number and the others by text; look at the "
            "server's log"
        )
    whole = Counter(name for name in names if "\ufffd" not in name)
    for name, times in whole.items():
        if times > 1:
            raise MalformedReply(
                f"the server lists the token {name[:NAME_SHOWN]!r} {times} times among its alternatives; look at the "
                "server's log"
            )
    listed = {entry.token: entry.logprob for entry in position.top_logprobs if entry.token in whole}
    value = listed.get(position.token, position.logprob)
    if value != position.logprob and not abs(value - position.logprob) <= ROUNDING:
        raise MalformedReply(
            f"the server gives its answer {position.token[:NAME_SHOWN]!r} the log-probability "
            f"{position.logprob:.3g} and among its alternatives {value:.3g}; look at the server's log"
        )


def check_options(options: Sequence[str]) -> None:
    """Check that there are two or more options, none of them empty or repeated.

    Raises:
        UnsupportedRequest: The options are invalid.
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
    """Check that the first token distinguishes the options, for a server without a tokenizer.

    Raises:
        UnsupportedRequest: One option begins with another.
    """
    for option, other in permutations(options, 2):
        if other.startswith(option):
            raise UnsupportedRequest(
                f"options {option!r} and {other!r} may begin with the same token, and this server has no tokenizer "
                "to tell; rename one, or use vLLM"
            )
