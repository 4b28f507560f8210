"""Merging of ledgers: by key, in any order, again and again, and never anything damaged or contradictory unnamed."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.failures import Failure
from local_judge.ledger.errors import LedgerForeign, LedgerMissing
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.merge import merge
from local_judge.ledger.requests import Reply, Request
from local_judge.ledger.upkeep import ledger_problems

from .test_calibrations import calibration
from .test_ledger import JUDGE, ROOT, answer, ask
from .test_ledger_damage import alter

TABLES = ("texts", "judges", "requests", "replies", "failures", "calibrations", "token_counts")


def rows(path: Path) -> dict[str, list[Any]]:
    """All rows of a ledger, sorted."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
            for table in TABLES
        }


def made_at(request: Request, text: str, second: int) -> Reply:
    return answer(request, text).model_copy(update={"created": f"2026-01-01T00:00:{second:02d}.000+00:00"})


async def write(path: Path, *replies: tuple[str, str, int]) -> Path:
    """A ledger with replies to questions: question, text, second."""
    with Ledger.open(path) as ledger:
        for question, text, second in replies:
            request = ask(question)
            await ledger.put(request, made_at(request, text, second))
    return path


def text_in(path: Path, question: str) -> str | None:
    with Ledger.open(path, read_only=True) as ledger:
        reply = ledger.get(ask(question).key)
        return None if reply is None else reply.text


async def test_parts_merge_in_any_order_and_again_with_the_same_result(tmp_path: Path) -> None:
    parts = [
        await write(tmp_path / "a", ("one", "1", 3), ("two", "2", 1)),
        await write(tmp_path / "b", ("one", "1", 2), ("three", "3", 1)),  # the same reply, made earlier
        await write(tmp_path / "c", ("four", "4", 1)),
    ]
    with Ledger.open(parts[2]) as ledger:
        await ledger.put_failure(ask("five"), Failure(kind="timeout", detail="no answer", attempts=2))
        await ledger.put_token_count(JUDGE, "m", 7)
        await ledger.put_calibrations([calibration()])
    found: list[object] = []
    for number, order in enumerate(itertools.permutations(parts)):
        into = tmp_path / f"into{number}"
        merged = merge(into, order)
        assert (merged.replies + merged.present, merged.failures, merged.token_counts) == (5, 1, 1)
        assert (merged.calibrations, merged.conflicts, merged.damaged) == (1, [], [])
        found.append(rows(into))
        again = merge(into, [*order, into])
        assert (again.replies, again.failures, again.token_counts, again.calibrations) == (0, 0, 0, 0)
        assert again.present == 5
        assert rows(into) == found[-1]
        assert list(ledger_problems(into)) == []
    assert all(one == found[0] for one in found)
    with Ledger.open(tmp_path / "into0", read_only=True) as ledger:
        stored = ledger.get(ask("one").key)
        assert stored == made_at(ask("one"), "1", 2)
        assert ledger.failures(ask("five").key) == [Failure(kind="timeout", detail="no answer", attempts=2)]
        assert ledger.calibrations(calibration().judge) == (calibration(),)
        trace = ledger.reply(ask("four").key)
        assert trace is not None and trace.messages == ask("four").messages


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
async def test_of_different_replies_to_one_request_the_first_is_copied_and_the_conflict_named(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    made = {
        "a": await write(tmp_path / "a", ("one", "yes", 2), ("two", "2", 1)),
        "b": await write(tmp_path / "b", ("one", "no", 1)),
        "c": await write(tmp_path / "c", ("one", "yes", 3)),
    }
    into = tmp_path / "into"
    for _ in range(2):
        [conflict] = merge(into, [made[name] for name in order]).conflicts
        assert conflict.startswith(f"reply {ask('one').key[:12]}: ")
        assert conflict.endswith(" differ")
        assert (text_in(into, "one"), text_in(into, "two")) == ("no", "2")


async def test_a_conflict_is_decided_by_replies_whose_request_is_whole(tmp_path: Path) -> None:
    first = await write(tmp_path / "first", ("one", "no", 1))
    alter(first, "DELETE FROM texts WHERE body LIKE '%one%'")
    second = await write(tmp_path / "second", ("one", "yes", 2))
    for order in ((first, second), (second, first)):
        into = tmp_path / f"into_{order[0].name}"
        merge(into, order)
        assert text_in(into, "one") == "yes"


async def test_what_the_ledger_has_stays_beside_another_reply(tmp_path: Path) -> None:
    into = await write(tmp_path / "into", ("one", "late", 9))
    part = await write(tmp_path / "part", ("one", "early", 1))
    other = await write(tmp_path / "other", ("one", "earlier", 0), ("two", "2", 1))
    for _ in range(2):
        merged = merge(into, [part])
        assert merged.conflicts == [f"reply {ask('one').key[:12]}: {part} and {into} differ"]
        assert text_in(into, "one") == "late"
    assert len(merge(into, [part, other]).conflicts) == 1
    assert (text_in(into, "one"), text_in(into, "two")) == ("late", "2")


async def test_token_counts_and_calibrations_that_differ_are_conflicts(tmp_path: Path) -> None:
    parts = [tmp_path / "a", tmp_path / "b"]
    for number, part in enumerate(parts):
        with Ledger.open(part) as ledger:
            await ledger.put_token_count(JUDGE, "m", 7 + number)
            await ledger.put_calibrations([calibration(seed=number)])
    for order in (parts, parts[::-1]):
        into = tmp_path / f"into{order[0].name}"
        for _ in range(2):
            assert len(merge(into, order).conflicts) == 2
        assert _counted(into) == (8, [0])
    assert len(merge(parts[0], [parts[1]]).conflicts) == 2
    assert _counted(parts[0]) == (7, [0])


def _counted(path: Path) -> tuple[int | None, list[int]]:
    """The token count and the seeds of the calibrations in a ledger."""
    with Ledger.open(path, read_only=True) as ledger:
        fitted = ledger.calibrations(calibration().judge)
        return ledger.token_count(JUDGE, "m"), [one.seed for one in fitted]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE replies SET text='no'",
        "UPDATE replies SET text=CAST(X'ff' AS TEXT)",
        "UPDATE texts SET body='And so?' WHERE body LIKE '%one%'",
        "DELETE FROM texts WHERE body LIKE '%one%'",
        "UPDATE judges SET identity='{}'",
        "UPDATE requests SET draw=7",
        "DELETE FROM requests",
        "UPDATE replies SET key=X'00'",
        "UPDATE requests SET key=CAST(X'ff' AS TEXT)",
    ],
)
async def test_damaged_rows_are_named_and_left_out(tmp_path: Path, statement: str) -> None:
    bad = await write(tmp_path / "bad", ("one", "yes", 1))
    good = await write(tmp_path / "good", ("one", "yes", 1))
    alter(bad, statement)
    for order in ((bad, good), (good, bad)):
        into = tmp_path / f"from_{order[0].name}"
        first = merge(into, [bad])
        assert first.replies == 0
        assert all(line.startswith(f"{bad}: ") for line in first.damaged)
        assert first.damaged
        assert merge(into, order).conflicts == []
        assert text_in(into, "one") == "yes"
        assert list(ledger_problems(into)) == []


async def test_a_whole_reply_takes_the_place_of_a_damaged_one(tmp_path: Path) -> None:
    into = await write(tmp_path / "into", ("one", "yes", 1))
    part = await write(tmp_path / "part", ("one", "yes", 1))
    alter(into, "UPDATE replies SET text='no'")
    assert merge(into, [part]).conflicts == []
    assert text_in(into, "one") == "yes"


async def test_a_failure_of_no_known_kind_is_left_out(tmp_path: Path) -> None:
    part = tmp_path / "part"
    with Ledger.open(part) as ledger:
        await ledger.put_failure(ask("one"), Failure(kind="timeout", detail="x"))
    alter(part, "UPDATE failures SET kind='no kind'")
    merged = merge(tmp_path / "into", [part])
    assert merged.failures == 0
    assert merged.damaged == [f"{part}: failure of {ask('one').key[:12]}: not of a known kind"]


async def test_a_part_that_is_missing_or_none_merges_nothing(tmp_path: Path) -> None:
    part, into = await write(tmp_path / "a", ("one", "1", 1)), tmp_path / "into"
    with pytest.raises(LedgerMissing, match=r"none: no such file; nothing was merged"):
        merge(into, [part, tmp_path / "none"])
    (tmp_path / "text").write_text("not a ledger " * 100)
    with pytest.raises(LedgerForeign, match=r"text: .*name another path"):
        merge(into, [part, tmp_path / "text"])
    assert not into.exists()


async def test_a_part_may_be_in_use(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "part") as ledger:
        await ledger.put(ask("one"), answer(ask("one"), "1"))
        assert merge(tmp_path / "into", [tmp_path / "part"]).replies == 1
        await ledger.put(ask("two"), answer(ask("two"), "2"))
        assert merge(tmp_path / "into", [tmp_path / "part"]).replies == 1
    assert text_in(tmp_path / "into", "two") == "2"


@pytest.mark.slow
async def test_a_killed_merge_continues(tmp_path: Path) -> None:
    part = await write(tmp_path / "part", *((f"question {n}", f"reply {n}", n % 60) for n in range(1500)))
    into, whole = tmp_path / "into", tmp_path / "whole"
    before = _merged_until_killed(into, part)
    assert before % 500 == 0
    merged = merge(into, [part])
    assert (merged.replies, merged.present) == (1500 - before, before)
    merge(whole, [part])
    assert rows(into) == rows(whole)


def _merged_until_killed(into: Path, part: Path) -> int:
    """Kill a merge after its first transaction; the number of replies that it has stored."""
    code = f"from local_judge.ledger.merge import merge; merge({str(into)!r}, [{str(part)!r}])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    try:
        while process.poll() is None and not _count(into):
            time.sleep(0.001)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return _count(into)


def _count(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT count(*) FROM replies").fetchone()[0]
    except sqlite3.OperationalError:  # no tables yet
        return 0
