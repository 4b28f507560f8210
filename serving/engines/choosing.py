"""Reading the probabilities of a closed set of answers off one token's alternatives.

Invariant: every number comes from the unconstrained model; what the server did not report is bounded and
said to be, never invented.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from serving.engines.wire import TopToken
from serving.errors import MalformedReply, UnsupportedRequest
from serving.types import Choice, Usage


def read_choice(options: Sequence[str], top: Sequence[TopToken], usage: Usage) -> Choice:
    """See `OpenAIEngine.choose`: l(option) = log sum exp(l(t)) over tokens t with strip(t) = option.

    A token without a finite log-probability, which some servers write as -Infinity, counts as not reported.

    Raises:
        MalformedReply: no token has one.
    """
    told = [token for token in top if math.isfinite(token.logprob)]
    if not told:
        raise MalformedReply("the server returns no finite log-probability; look at the server's log")
    floor = min(token.logprob for token in told)
    mass = dict.fromkeys(options, 0.0)
    for token in told:
        option = token.token.strip()
        if option in mass:
            mass[option] += math.exp(token.logprob)
    logprobs = {option: min(0.0, math.log(p)) if p > 0.0 else floor for option, p in mass.items()}
    return Choice(logprobs=logprobs, bounded=tuple(o for o, p in mass.items() if p == 0.0), usage=usage)


def check_options(options: Sequence[str]) -> None:
    """Refuse a menu whose options cannot be told apart by one token.

    Raises:
        UnsupportedRequest: fewer than two, empty, doubled, or one that another begins with.
    """
    if len(options) < 2:
        raise UnsupportedRequest(f"{len(options)} options given; a choice needs at least two")
    for option in options:
        if not option or option != option.strip():
            raise UnsupportedRequest(
                f"option {option!r} is empty or has white space around it; give the bare word"
            )
    for place, option in enumerate(options):
        for other in (*options[:place], *options[place + 1 :]):
            if other.startswith(option):
                raise UnsupportedRequest(
                    f"options {option!r} and {other!r} may begin with the same token; rename one"
                )
