"""Faults of one request.

    FetchFault           the request brought no answer that can be kept
    ├── Refused          this fetcher does not send it: the address, the port or robots.txt forbid it
    ├── Unreachable      no connection to the host
    │   └── NoSuchHost   nor a host of this name
    ├── TimedOut         the answer did not come, or did not end, in time
    ├── Broken           the answer is not HTTP, or is cut short
    └── TooMuch          the answer passes a bound, or was packed in a way that was not offered

Invariant: each is the outcome of one address, with a reason in words on one line; none ends a run.
"""

from __future__ import annotations

from indexes.archive.model import Outcome


class FetchFault(Exception):
    """Root of what ends one request."""

    outcome: Outcome = "unavailable"
    passing = False
    """True if the same request may succeed a little later."""

    @property
    def reason(self) -> str:
        """Reason in words, on one line."""
        return one_line(str(self))


class Refused(FetchFault):
    """Not sent, because it may not be."""

    outcome: Outcome = "blocked"


class Unreachable(FetchFault):
    """No connection to the host."""

    def __init__(self, message: str, *, passing: bool = True) -> None:
        super().__init__(message)
        self.passing = passing


class NoSuchHost(Unreachable):
    """The name of the host has no address."""

    outcome: Outcome = "dead"

    def __init__(self, message: str) -> None:
        super().__init__(message, passing=False)


class TimedOut(FetchFault):
    """Too slow."""

    passing = True


class Broken(FetchFault):
    """No HTTP, or not all of it."""

    passing = True


class TooMuch(FetchFault):
    """Past a bound."""

    outcome: Outcome = "unsupported_type"


def one_line(text: str, limit: int = 300) -> str:
    """Printable characters only, on one line: what a server says goes to a terminal."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
