"""Calls that are added to a ledger while another process writes it.

Invariant: a row is read once, the newest first, and older rows than asked for are not read. Rows are counted, so they
are not checked against their digests; no reply is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.ledger.database import PAGE, Row
from local_judge.ledger.errors import LedgerMissing
from local_judge.ledger.file import connect_to_read, damage_error, ledger_errors

_LATEST_COMMIT = 60.0
"""Seconds after its end within which a call is committed: twice the time that a process waits for another's write."""


class AnsweredCall(NamedTuple):
    """Call that an engine answered."""

    begun: float
    """Seconds since 1970."""
    ended: float
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int


class FailedCall(NamedTuple):
    """Call that failed."""

    ended: float
    kind: str


class LedgerTail:
    """Reader of the calls to some judges since a time. Close it when done.

    Args:
        path: the ledger.
        since: seconds since 1970; calls that ended earlier are left out.
        judges: digests of the judges.

    Raises:
        LedgerError: any of its kinds; the file must exist.
    """

    def __init__(self, path: Path, since: float, judges: frozenset[str]) -> None:
        if not path.exists():
            raise LedgerMissing(f"ledger {path}: not there; name the run's ledger with --ledger")
        self._path, self._since, self._judges = path, since, judges
        self._connection = connect_to_read(path)
        self._last: Counter[str] = Counter()
        """Last row that was read, by query."""

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def answered(self) -> Iterator[AnsweredCall]:
        """Yield the answered calls that were added since the last call of this method, the latest first."""
        for begun, ended, tokens in self._added(_REPLIES):
            if all(isinstance(number, int) for number in tokens):
                yield AnsweredCall(begun, ended, *tokens)

    def failed(self) -> list[FailedCall]:
        """Return the failed calls that were added since the last call of this method, the latest first."""
        return [FailedCall(ended, str(kind)) for _, ended, (kind,) in self._added(_FAILURES)]

    def _added(self, sql: str) -> Iterator[tuple[float, float, tuple[Any, ...]]]:
        with ledger_errors(self._path):
            last = self._last[sql]
            there = {digest for (digest,) in self._connection.execute("SELECT digest FROM judges")}
            others = not there <= self._judges
            # Finding each call's judge takes most of the time in a large ledger.
            named = sql.replace("NULL", _JUDGE) if others else sql
            for row, judge, created, latency, *rest in self._latest(named, last):
                self._last[sql] = max(self._last[sql], row)
                try:
                    begun = datetime.fromisoformat(created).timestamp()
                    ended = begun + latency
                except (TypeError, ValueError, OverflowError):
                    continue  # damaged
                if ended < self._since - _LATEST_COMMIT:
                    break
                if ended >= self._since and (not others or judge in self._judges):
                    yield begun, ended, tuple(rest)

    def _latest(self, sql: str, last: int) -> Iterator[Row]:
        """Yield the rows after a row, the newest first; they are read in pages, as far as they are asked for."""
        page = f"{sql} WHERE rowid > ? AND rowid < ? ORDER BY rowid DESC LIMIT {PAGE}"
        below = _BEYOND
        while rows := self._connection.execute(page, (last, below)).fetchall():
            if rows[-1][0] >= below:
                raise damage_error(self._path, "rows are not in order")
            yield from rows
            below = rows[-1][0]


_BEYOND = 2**63 - 1
"""Number beyond those of all rows."""
_REPLIES = """
SELECT rowid, NULL, created, latency, prompt_tokens, completion_tokens, coalesce(cached_tokens, 0)
FROM replies AS calls
"""
_FAILURES = "SELECT rowid, NULL, created, 0, kind FROM failures AS calls"
_JUDGE = "(SELECT judge FROM requests WHERE requests.key = calls.key)"
"""Replacement for NULL in the queries."""
