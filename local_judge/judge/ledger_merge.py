"""Merging of ledgers by key.

Invariants: a row is copied only if it matches its digest, and a request only if it hashes to its key. A merged ledger
does not depend on the order of its parts, and merging a part again changes nothing. Two different replies to one
request are a conflict, which is always named. Every transaction leaves a valid ledger, so that an interrupted merge
continues when it is repeated.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from local_judge.judge.errors import LedgerMissing
from local_judge.judge.failures import KINDS
from local_judge.judge.ledger_calibrations import DamagedCalibrations, Fit, current_fits, insert_fit
from local_judge.judge.ledger_database import ANY_TEXT, Row, insert, pages, transaction
from local_judge.judge.ledger_file import connect, connect_to_read, ledger_errors
from local_judge.judge.ledger_rows import (
    checked_judge,
    checked_reply,
    holds,
    read_text,
    rebuilt_request,
    request_rows,
    select_token_count,
    shared_parts,
)
from local_judge.judge.requests import Request

Policy = Literal["leave", "earliest"]

Source = tuple[sqlite3.Connection, Path]

_ORDER = ("judges", "texts", "requests", "replies", "failures", "token_counts")
"""Tables in an order in which rows can be inserted."""

_KNOWN_AT_MOST = 100_000

_TEXTS_KEPT = 256
"""Number of texts kept in memory, so that a report is decompressed and hashed once for its calls."""


@dataclass
class Merged:
    """Result of a merge: counts of the rows that were added, and what was not."""

    replies: int = 0
    present: int = 0
    """Replies that the ledger already had."""
    failures: int = 0
    token_counts: int = 0
    calibrations: int = 0
    """Sets of calibrations that were fitted together."""
    conflicts: list[str] = field(default_factory=list[str])
    """A line for each key with different replies, token counts or calibrations."""
    damaged: list[str] = field(default_factory=list[str])
    """A line for each row of a part that is damaged and was left out."""


def merge(into: str | Path, parts: Iterable[str | Path], *, conflicts: Policy = "leave") -> Merged:
    """Merge ledgers into a ledger, which is created if it is missing.

    Of equal replies, the one that was made first stays, with its time and latency.

    Args:
        into: Ledger that gets the rows. Among the parts it is left out.
        parts: Ledgers to read. They may be in use.
        conflicts: For different replies to one request: `leave` copies none of them, so that `into` keeps what it has;
            `earliest` keeps the reply that was made first (of token counts the largest), also in place of that of
            `into`. Both name the conflict.

    Raises:
        LedgerError: A file is missing, is not a ledger of this version, or cannot be read or written.
    """
    into = Path(into)
    paths = [path for path in dict.fromkeys(map(Path, parts)) if not _same(path, into)]
    for path in paths:
        if not path.exists():
            raise LedgerMissing(f"ledger {path}: no such file; nothing was merged")
    with ExitStack() as stack:
        sources = [(stack.enter_context(closing(connect_to_read(path))), path) for path in paths]
        for source, _ in sources:
            source.text_factory = ANY_TEXT
        merging = _Merging(stack.enter_context(closing(connect(into))), into, conflicts)
        if conflicts == "leave" and len(sources) > 1:
            merging.dispute(sources)
        for source, path in sources:
            merging.add(source, path)
        merging.add_calibrations(sources)
        return merging.done


def _same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)


class _Merging:
    """One merge into a ledger."""

    def __init__(self, target: sqlite3.Connection, into: Path, policy: Policy) -> None:
        self.done = Merged()
        self._target = target
        self._into = into
        self._policy = policy
        self._disputed: set[tuple[str, ...]] = set()
        """Keys to which the parts have different values, which are left out."""
        self._known: set[Any] = set()
        """Digests of stored judges and shared texts."""
        self._named: set[str] = set()

    def dispute(self, sources: Sequence[Source]) -> None:
        """Find the keys to which the parts have different values, by merging their sorted keys."""
        for table, columns in (("replies", "key"), ("token_counts", "judge, messages")):
            streams = [_sorted_keys(source, table, columns, number) for number, source in enumerate(sources)]
            for key, found in groupby(heapq.merge(*streams), key=itemgetter(0)):
                numbers = [number for _, number in found]
                if len(numbers) == 1:
                    continue
                values = {_value_of(sources[number][0], table, key): sources[number][1] for number in numbers}
                values.pop(None, None)
                if len(values) > 1:
                    self._disputed.add(key)
                    self._name_conflict(_what(table, key), *values.values())

    def add(self, source: sqlite3.Connection, path: Path) -> None:
        """Add the replies, failures and token counts of a part."""
        check = _Check(source)
        with ledger_errors(path):
            for rows in pages(source, _REQUESTS, "requests.key, replies.*"):
                with self._writing() as added:
                    self._add_requests(check, path, rows, added)
            unasked = "SELECT key FROM replies WHERE key NOT IN (SELECT key FROM requests)"
            for (key,) in source.execute(unasked):
                self._name_damage(path, f"reply {str(key)[:12]}: its request is missing")
            for rows in pages(source, "token_counts"):
                with self._writing() as added:
                    self._add_token_counts(check, path, rows, added)

    @contextmanager
    def _writing(self) -> Generator[dict[str, list[Row]]]:
        """Run the block in a transaction, and insert the rows that it collects by table."""
        added: dict[str, list[Row]] = defaultdict(list)
        with ledger_errors(self._into), transaction(self._target):
            yield added
            for table in _ORDER:
                insert(self._target, table, added[table])
        self.done.failures += len(added["failures"])
        self.done.token_counts += len(added["token_counts"])

    def _add_requests(
        self, check: _Check, path: Path, rows: Sequence[Row], added: dict[str, list[Row]]
    ) -> None:
        keys = [row[0] for row in rows if _is_text(row[0])]
        stored = {row[0]: row for row in _select(self._target, "replies", keys)}
        whole = {key: row for key, row in stored.items() if holds(checked_reply, row)}
        known = set(_select(self._target, "failures", keys))
        failed: dict[str, list[Row]] = defaultdict(list)
        for failure in dict.fromkeys(_select(check.source, "failures", keys)):
            if failure not in known:
                failed[failure[0]].append(failure)
        for key, *reply in rows:
            new = self._wanted(path, key, tuple(reply), whole.get(key))
            failures = [one for one in failed[key] if _is_failure(one)]
            if len(failures) < len(failed[key]):
                self._name_damage(path, f"failure of {str(key)[:12]}: not of a known kind")
            if not new and not failures:
                continue
            try:
                request = check.request(key)
            except ValueError as error:
                self._name_damage(path, str(error))
                continue
            for table, row in request_rows(request, self._known):
                added[table].append(row)
            if len(self._known) > _KNOWN_AT_MOST:
                self._known.clear()
            self._known.update(shared_parts(request))
            if new and key in stored:
                self._target.execute("DELETE FROM replies WHERE key=?", (key,))
            if new and key not in whole:
                self.done.replies += 1
            added["replies"] += new
            added["failures"] += failures

    def _wanted(self, path: Path, key: str, reply: Row, present: Row | None) -> list[Row]:
        """Return the reply if it is to be stored, given that which is stored, and name what is wrong with it."""
        if reply[0] is None or (key,) in self._disputed:
            return []
        if reply == present:
            self.done.present += 1
            return []
        if not holds(checked_reply, reply):
            self._name_damage(path, f"reply {str(key)[:12]}: does not match its digest")
            return []
        if present is None:
            return [reply]
        self.done.present += 1
        if _content(present) != _content(reply):
            self._name_conflict(_what("replies", (key,)), path, self._into)
            if self._policy == "leave":
                return []
        return [reply] if _age(reply) < _age(present) else []

    def _add_token_counts(
        self, check: _Check, path: Path, rows: Sequence[Row], added: dict[str, list[Row]]
    ) -> None:
        for row in rows:
            judge, messages, tokens, _ = row
            if not (_is_text(judge) and _is_text(messages)):
                self._name_damage(path, f"token count of {str(messages)[:12]}: does not match its digest")
                continue
            present = select_token_count(self._target, judge, messages)
            if present == tokens or (judge, messages) in self._disputed:
                continue
            try:
                identity = check.judge(judge)
                if select_token_count(check.source, judge, messages) is None:
                    raise ValueError(f"token count of {str(messages)[:12]}: does not match its digest")
            except ValueError as error:
                self._name_damage(path, str(error))
                continue
            if present is not None:
                self._name_conflict(_what("token_counts", (judge, messages)), path, self._into)
                if self._policy == "leave" or present > tokens:
                    continue
            self._target.execute("DELETE FROM token_counts WHERE judge=? AND messages=?", (judge, messages))
            added["judges"].append(identity)
            added["token_counts"].append(row)

    def add_calibrations(self, sources: Sequence[Source]) -> None:
        """Add the current calibrations of all parts; a judge, question and prompt has one set of them."""
        found: dict[tuple[str, str, str], list[tuple[Fit, Path]]] = defaultdict(list)
        for source, path in [*sources, (self._target, self._into)]:
            with ledger_errors(path):
                try:
                    for key, fit in current_fits(source).items():
                        found[key].append((fit, path))
                except DamagedCalibrations as error:
                    self._name_damage(path, str(error))
                    if path == self._into:
                        return
        with ledger_errors(self._into), transaction(self._target):
            present = current_fits(self._target)
            for key, fits in sorted(found.items()):
                paths = {fit.digest: path for fit, path in fits}
                if len(paths) > 1:
                    self._name_conflict(f"calibrations of judge {key[0][:12]} for {key[1]}", *paths.values())
                    if self._policy == "leave":
                        continue
                first, _ = min(fits, key=lambda one: (one[0].created, one[0].digest))
                if key not in present or present[key].digest != first.digest:
                    insert_fit(self._target, first)
                    self.done.calibrations += 1

    def _name_conflict(self, what: str, path: Path, other: Path, *_: Path) -> None:
        if what not in self._named:
            self._named.add(what)
            self.done.conflicts.append(f"{what}: {path} and {other} differ")

    def _name_damage(self, path: Path, problem: str) -> None:
        self.done.damaged.append(f"{path}: {problem}")


_REQUESTS = "requests LEFT JOIN replies USING (key)"


class _Check:
    """Verified requests and judges of a part."""

    def __init__(self, source: sqlite3.Connection) -> None:
        self.source = source
        self._text_of = lru_cache(_TEXTS_KEPT)(partial(read_text, source))
        self.judge = lru_cache(_TEXTS_KEPT)(self._judge)

    def request(self, key: str) -> Request:
        """Return a request; raises ValueError if it is damaged."""
        try:
            return rebuilt_request(self.source, key, self._text_of)
        except UnicodeError:
            raise ValueError(f"request {str(key)[:12]}: not UTF-8") from None

    def _judge(self, digest: str) -> Row:
        """Return the row of a judge; raises ValueError if it is damaged."""
        row = self.source.execute("SELECT digest, identity FROM judges WHERE digest=?", (digest,)).fetchone()
        if row is None:
            raise ValueError(f"judge {str(digest)[:12]}: missing")
        checked_judge(*row)
        return row


def _sorted_keys(source: Source, table: str, columns: str, number: int) -> Iterator[tuple[Any, int]]:
    """Yield the keys of a table, sorted, each with the number of its ledger."""
    with ledger_errors(source[1]):
        for key in source[0].execute(f"SELECT {columns} FROM {table} ORDER BY {columns}"):
            if all(isinstance(part, str) for part in key):  # else damaged
                yield key, number


def _what(table: str, key: tuple[str, ...]) -> str:
    return f"reply {key[0][:12]}" if table == "replies" else f"token count of {key[1][:12]}"


def _value_of(source: sqlite3.Connection, table: str, key: tuple[str, ...]) -> Any:
    """Return what the rows of a key are compared by; None if the row is damaged."""
    if table == "token_counts":
        return select_token_count(source, *key)
    [row] = _select(source, "replies", key)
    return _content(row) if holds(checked_reply, row) else None


def _content(reply: Row) -> Row:
    """Return what a judge said: text, reasoning, reason of the end, log-probabilities and their bounds."""
    return reply[1:6]


def _age(reply: Row) -> tuple[str, str]:
    """Return the order in which replies were made; the digest decides between those of one millisecond."""
    return reply[9], reply[11]


def _select(connection: sqlite3.Connection, table: str, keys: Sequence[Any]) -> list[Row]:
    places = ",".join("?" * len(keys))
    return connection.execute(f"SELECT * FROM {table} WHERE key IN ({places})", keys).fetchall()


def _is_failure(row: Row) -> bool:
    _, kind, detail, attempts, created = row
    return kind in KINDS and isinstance(attempts, int) and all(map(_is_text, (detail, created)))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and holds(value.encode)
