"""Merging of ledgers by key.

Invariants: a row is copied only if it matches its digest, and a request only if it hashes to its key. What a ledger has
stays, since the results of finished runs follow from it. A merged ledger does not depend on the order of its parts, and
merging a part again changes nothing. Two different replies to one request are a conflict, which is always named. Every
transaction leaves a valid ledger, so that an interrupted merge continues when it is repeated.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.base.failures import KINDS
from local_judge.ledger.calibrations import DamagedCalibrations, Fit, current_fits, insert_fit
from local_judge.ledger.database import (
    ANY_TEXT,
    COLUMNS,
    PAGE,
    Database,
    Row,
    delete,
    pages,
    select,
    transaction,
)
from local_judge.ledger.errors import LedgerMissing
from local_judge.ledger.file import connect, connect_to_read, ledger_errors
from local_judge.ledger.requests import Request
from local_judge.ledger.rows import (
    UNASKED,
    StoredRequests,
    insert_requests,
    is_text,
    is_token_count,
    passes,
    verify_reply,
)


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


def merge(into: Path, parts: Iterable[Path]) -> Merged:
    """Merge ledgers into a ledger, which is created if it is missing.

    What `into` has stays. Of different replies to one request in the parts, the one that was made first is added; of
    token counts the largest, and of calibrations those that were fitted first. Each such conflict is named. Of equal
    replies, the one that was made first stays, with its time and latency.

    Args:
        into: Ledger that gets the rows. Among the parts it is left out.
        parts: Ledgers to read. They may be in use.

    Raises:
        LedgerError: A part is missing, is not a ledger of this version, or cannot be read or written.
    """
    paths = [path for path in dict.fromkeys(parts) if not _same(path, into)]
    for path in paths:
        if not path.exists():
            raise LedgerMissing(f"ledger {path}: no such file; nothing was merged")
    with ExitStack() as stack:
        opened = [
            _Part(stack.enter_context(closing(connect_to_read(path, must_exist=True))), path)
            for path in paths
        ]
        merging = _Merging(stack.enter_context(closing(connect(into))), into)
        if len(opened) > 1:
            merging.choose(opened)
        for part in opened:
            merging.add(part)
        merging.add_calibrations(opened)
        return merging.done


def _same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)


class _Merging:
    """One merge into a ledger."""

    def __init__(self, target: Database, into: Path) -> None:
        self.done = Merged()
        self._target = target
        self._into = into
        self._chosen: dict[tuple[str, ...], Any] = {}
        """Values that may be added, by the keys to which the parts have different ones."""
        self._named: set[str] = set()

    def choose(self, parts: Sequence[_Part]) -> None:
        """Choose between different values of the parts for one key, which are found by merging their sorted keys."""
        for table, columns in (("replies", "key"), ("token_counts", "judge, messages")):
            streams = [part.sorted_keys(table, columns, number) for number, part in enumerate(parts)]
            found = groupby(heapq.merge(*streams), key=itemgetter(0))
            in_parts = ((key, {number for _, number in numbers}) for key, numbers in found)
            shared = ((key, numbers) for key, numbers in in_parts if len(numbers) > 1)
            while page := dict(islice(shared, PAGE)):
                self._choose_between(parts, table, page)

    def _choose_between(
        self, parts: Sequence[_Part], table: str, page: Mapping[tuple[str, ...], Set[int]]
    ) -> None:
        """Choose between the values of keys that several parts have, given by their numbers."""
        values = [
            part.values(table, [key for key, numbers in page.items() if number in numbers])
            for number, part in enumerate(parts)
        ]
        for key in page:
            own = [(part, found[key]) for part, found in zip(parts, values, strict=True) if key in found]
            places = {value.content: part.place for part, value in own}
            if len(places) > 1:
                whole = [value for part, value in own if part.is_whole(table, key)]
                value = min(whole or [value for _, value in own], key=attrgetter("rank"))
                self._chosen[key] = value.content
                self._name_conflict(_what(table, key), *places.values())

    def add(self, part: _Part) -> None:
        """Add the replies, failures and token counts of a part."""
        with ledger_errors(part.place):
            for rows in pages(part.source, _REQUESTS, _WITH_REPLY):
                with self._writing() as added:
                    self._add_requests(part, rows, added)
            for (key,) in part.source.execute(UNASKED):
                self._name_damage(part.place, f"reply {str(key)[:12]}: its request is missing")
            for rows in pages(part.source, "token_counts", COLUMNS["token_counts"]):
                with self._writing() as added:
                    self._add_token_counts(part, rows, added)

    @contextmanager
    def _writing(self) -> Generator[_Added]:
        """Run the block in a transaction, and insert what it collects."""
        added = _Added()
        with ledger_errors(self._into), transaction(self._target):
            yield added
            insert_requests(self._target, added.requests)
            delete(self._target, "replies", "key", added.replaced)
            self._target.insert("replies", added.replies)
            self._target.insert("failures", added.failures)
            self._target.insert("judges", added.judges)
            self._target.insert("token_counts", added.token_counts)
        self.done.failures += len(added.failures)
        self.done.token_counts += len(added.token_counts)

    def _add_requests(self, part: _Part, rows: Sequence[Row], added: _Added) -> None:
        keys = [row[0] for row in rows if is_text(row[0])]
        stored = {row[0]: row for row in select(self._target, "replies", "key", keys)}
        whole = {key: row for key, row in stored.items() if passes(verify_reply, row)}
        known = set(select(self._target, "failures", "key", keys))
        failed: dict[str, list[Row]] = defaultdict(list)
        for failure in dict.fromkeys(select(part.source, "failures", "key", keys)):
            if failure not in known:
                failed[failure[0]].append(failure)
        wanted: list[tuple[str, list[Row], list[Row]]] = []
        for key, *reply in rows:
            new = self._wanted(part.place, key, tuple(reply), whole.get(key))
            failures = [one for one in failed[key] if _is_failure(one)]
            if len(failures) < len(failed[key]):
                self._name_damage(part.place, f"failure of {str(key)[:12]}: not of a known kind")
            if new or failures:
                wanted.append((key, new, failures))
        part.requests.read([key for key, _, _ in wanted])
        for key, new, failures in wanted:
            try:
                request = part.requests.request(key)
            except ValueError as error:
                self._name_damage(part.place, str(error))
                continue
            added.requests.append(request)
            if new and key in stored:
                added.replaced.append(key)
            if new and key not in whole:
                self.done.replies += 1
            added.replies += new
            added.failures += failures

    def _wanted(self, path: Path, key: str, reply: Row, present: Row | None) -> list[Row]:
        """Return the reply if it is to be stored, given that which is stored, and name what is wrong with it."""
        if reply[0] is None:
            return []
        if reply == present:
            self.done.present += 1
            return []
        if not passes(verify_reply, reply):
            self._name_damage(path, f"reply {str(key)[:12]}: does not match its digest")
            return []
        content = _content(reply)
        if self._chosen.get((key,), content) != content:
            return []
        if present is None:
            return [reply]
        self.done.present += 1
        if _content(present) != content:
            self._name_conflict(_what("replies", (key,)), path, self._into)
            return []
        return [reply] if _age(reply) < _age(present) else []

    def _add_token_counts(self, part: _Part, rows: Sequence[Row], added: _Added) -> None:
        keys = [(row[0], row[1]) for row in rows if is_text(row[0]) and is_text(row[1])]
        stored = _token_counts(self._target, keys)
        whole = {key: row[2] for key, row in stored.items() if is_token_count(row)}
        for row in rows:
            judge, messages, tokens, _ = row
            key, present = (judge, messages), whole.get((judge, messages))
            if not is_token_count(row) or not is_text(judge) or not is_text(messages):
                self._name_damage(
                    part.place, f"token count of {str(messages)[:12]}: does not match its digest"
                )
                continue
            if present == tokens or self._chosen.get(key, tokens) != tokens:
                continue
            try:
                identified = part.requests.judge_of(judge)
            except ValueError as error:
                self._name_damage(part.place, str(error))
                continue
            if present is not None:
                self._name_conflict(_what("token_counts", key), part.place, self._into)
                continue
            if key in stored:
                self._target.execute("DELETE FROM token_counts WHERE judge=? AND messages=?", key)
            added.judges.append((identified.digest, identified.json))
            added.token_counts.append(row)

    def add_calibrations(self, parts: Sequence[_Part]) -> None:
        """Add the current calibrations of all parts; a judge, question and prompt has one set of them."""
        found: dict[tuple[str, str, str], list[tuple[Fit, Path]]] = defaultdict(list)
        for source, place in [*((part.source, part.place) for part in parts), (self._target, self._into)]:
            with ledger_errors(place):
                try:
                    for key, fit in current_fits(source).items():
                        found[key].append((fit, place))
                except DamagedCalibrations as error:
                    self._name_damage(place, str(error))
                    if place == self._into:
                        return
        with ledger_errors(self._into), transaction(self._target):
            present = current_fits(self._target)
            for key, fits in sorted(found.items()):
                places = {fit.digest: place for fit, place in fits}
                if len(places) > 1:
                    self._name_conflict(f"calibrations of judge {key[0][:12]} for {key[1]}", *places.values())
                if key not in present:
                    first, _ = min(fits, key=lambda one: (one[0].created, one[0].digest))
                    insert_fit(self._target, first)
                    self.done.calibrations += 1

    def _name_conflict(self, what: str, path: Path, other: Path, *_: Path) -> None:
        if what not in self._named:
            self._named.add(what)
            self.done.conflicts.append(f"{what}: {path} and {other} differ")

    def _name_damage(self, path: Path, problem: str) -> None:
        self.done.damaged.append(f"{path}: {problem}")


_REQUESTS = "requests LEFT JOIN replies USING (key)"
_WITH_REPLY = ", ".join(["requests.key", *(f"replies.{name}" for name in COLUMNS["replies"].split(", "))])


@dataclass
class _Added:
    """Rows to insert in one transaction."""

    requests: list[Request] = field(default_factory=list[Request])
    replaced: list[str] = field(default_factory=list[str])
    """Keys of stored replies to delete first."""
    replies: list[Row] = field(default_factory=list[Row])
    failures: list[Row] = field(default_factory=list[Row])
    judges: list[Row] = field(default_factory=list[Row])
    token_counts: list[Row] = field(default_factory=list[Row])


class _Part:
    """Ledger to merge."""

    def __init__(self, source: Database, place: Path) -> None:
        source.text_factory = ANY_TEXT
        self.source, self.place = source, place
        self.requests = StoredRequests(source)

    def sorted_keys(self, table: str, columns: str, number: int) -> Iterator[tuple[Any, int]]:
        """Yield the keys of a table, sorted, each with the number of this part."""
        with ledger_errors(self.place):
            for key in self.source.execute(f"SELECT {columns} FROM {table} ORDER BY {columns}"):
                if all(map(is_text, key)):  # else damaged
                    yield key, number

    def values(self, table: str, keys: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], _Value]:
        """Return the values by key, without those of damaged rows."""
        with ledger_errors(self.place):
            if table == "token_counts":
                counts = _token_counts(self.source, keys)
                return {key: _Value(row[2], -row[2]) for key, row in counts.items() if is_token_count(row)}
            rows = select(self.source, table, "key", [key for (key,) in keys])
            return {(row[0],): _Value(_content(row), _age(row)) for row in rows if passes(verify_reply, row)}

    def is_whole(self, table: str, key: tuple[str, ...]) -> bool:
        """Check whether the request of a reply, or the judge of a token count, is whole."""
        return passes(self.requests.request if table == "replies" else self.requests.judge_of, key[0])


def _what(table: str, key: tuple[str, ...]) -> str:
    return f"reply {key[0][:12]}" if table == "replies" else f"token count of {key[1][:12]}"


class _Value(NamedTuple):
    """Value by which the rows of a key are compared."""

    content: Any
    rank: Any
    """Order of different contents; the lowest is chosen."""


def _token_counts(source: Database, keys: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], Row]:
    """Return rows of `token_counts` by judge and messages."""
    by_judge: dict[str, list[str]] = defaultdict(list)
    for judge, messages in keys:
        by_judge[judge].append(messages)
    return {
        (row[0], row[1]): row
        for judge, messages in by_judge.items()
        for row in select(source, "token_counts", "messages", messages, judge=judge)
    }


def _content(reply: Row) -> Row:
    """Return what a judge said: text, reasoning, reason of the end, log-probabilities and their bounds."""
    return reply[1:6]


def _age(reply: Row) -> tuple[str, str]:
    """Return the order in which replies were made; the digest decides between those of one millisecond."""
    return reply[9], reply[11]


def _is_failure(row: Row) -> bool:
    _, kind, detail, attempts, created = row
    return kind in KINDS and isinstance(attempts, int) and all(map(is_text, (detail, created)))
