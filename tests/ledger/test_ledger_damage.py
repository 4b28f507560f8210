"""A damaged ledger: no altered reply is used, whatever is altered is named, and what was lost is asked for again."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from itertools import product
from pathlib import Path
from random import Random

import pytest
from pydantic import BaseModel

from local_judge.base.failures import Failure
from local_judge.base.sqlite_files import SUPER_JOURNAL
from local_judge.judge.judge import Answer
from local_judge.ledger import rows
from local_judge.ledger.errors import LedgerCorrupt, LedgerError
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified, Reply, Request
from local_judge.ledger.rows import verify_text
from local_judge.ledger.upkeep import ledger_problems, remove_damaged
from local_judge.prompts import Prompt
from serving.engines.scripted import Call
from serving.types import Choice

from ..scripted_judge import MakeJudge
from .test_calibrations import calibration
from .test_ledger import JUDGE, answer, ask, store


class Mark(BaseModel):
    mark: int


PROMPT = Prompt(shared="the report", own="How good is it?", prefix_key="p")


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


async def test_an_altered_reply_is_a_failure_and_the_next_run_asks_again(
    tmp_path: Path, make_judge: MakeJudge
) -> None:
    def script(call: Call) -> dict[str, int]:
        return {"mark": 3}

    path = tmp_path / "l.sqlite"
    judge, engine = make_judge(script, ledger="l.sqlite")
    first = await judge.ask(PROMPT, Mark)
    assert isinstance(first, Answer)
    alter(path, """UPDATE replies SET text = '{"mark": 9}'""")
    assert list(ledger_problems(path)) == [f"reply {first.replies[0][:12]}: does not match its digest"]

    again, engine = make_judge(script, ledger="l.sqlite")
    for _ in range(2):  # in one run, all who ask get the same
        failed = await again.ask(PROMPT, Mark)
        assert isinstance(failed, Failure)
        assert failed.kind == "corrupt_reply"
        assert failed.detail == f"reply {first.replies[0][:12]}: does not match its digest"
    assert engine.calls == []
    assert again.meter.failed == 2

    next_run, engine = make_judge(script, ledger="l.sqlite")
    answered = await next_run.ask(PROMPT, Mark)
    assert isinstance(answered, Answer)
    assert answered.value == Mark(mark=3)
    assert len(engine.calls) == 1
    assert list(ledger_problems(path)) == []
    assert {failure.kind for failure in next_run.ledger.failures(first.replies[0])} == {"corrupt_reply"}


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE replies SET reasoning = 'ha'", "reply"),
        ("UPDATE replies SET finish_reason = 'stop'", "reply"),
        ("UPDATE replies SET prompt_tokens = 1", "reply"),
        ("UPDATE replies SET latency = 1.0", "reply"),
        ("UPDATE replies SET text = CAST(text AS BLOB)", "reply"),
        ("UPDATE replies SET text = CAST(x'ff' AS TEXT)", "reply"),
        ("UPDATE replies SET logprobs = '{\"Yes\": 0}'", "reply"),
        ("UPDATE replies SET digest = ''", "reply"),
        ("UPDATE texts SET body = 'Is it not so?'", "text"),
        ("UPDATE texts SET body = zeroblob(9)", "text"),
        ("DELETE FROM texts", "text"),
        ("UPDATE judges SET identity = replace(identity, 'scripted', 'vllm')", "judge"),
        ("DELETE FROM judges", "judge"),
        ("UPDATE requests SET draw = 1", "request"),
        ("UPDATE requests SET sampling = '['", "request"),
        ("UPDATE requests SET own = shared", "request"),
        ("DELETE FROM requests", "request"),
    ],
)
async def test_whatever_is_altered_is_refused_when_it_is_read(
    tmp_path: Path, statement: str, named: str
) -> None:
    path = tmp_path / "l.sqlite"
    request = ask("Is it so?")
    await store(path, request)
    alter(path, statement)
    with Ledger.open(path, read_only=True) as ledger, pytest.raises(LedgerCorrupt, match=named) as caught:
        ledger.reply(request.key)
    assert "ledger verify" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert any(named in problem for problem in ledger_problems(path))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE replies SET text='no'",
        "UPDATE replies SET text=CAST(X'ff' AS TEXT)",
        "UPDATE texts SET body='And so?' WHERE body LIKE '%Is it%'",
        "UPDATE texts SET body=CAST(X'ff' AS TEXT) WHERE body LIKE '%Is it%'",
        "DELETE FROM texts WHERE body LIKE '%Is it%'",
        "UPDATE judges SET identity='{}'",
        "UPDATE requests SET draw=7",
        "DELETE FROM requests",
        "UPDATE replies SET key=CAST(X'ff' AS TEXT)",
        "UPDATE replies SET key=X'00'",
        "UPDATE requests SET key=CAST(X'ff' AS TEXT)",
    ],
)
async def test_what_is_damaged_is_removed_and_the_rest_stays(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "l.sqlite"
    request, other = ask("Is it so?"), ask("And what else?")
    await store(path, request)
    alter(path, statement)
    await store(path, other, text="more")
    assert remove_damaged(path) == (2 if "judges" in statement else 1, 0, False)
    assert list(ledger_problems(path)) == []
    with Ledger.open(path) as ledger:
        assert ledger.get(request.key) is None
    await store(path, request)
    await store(path, other, text="more")
    assert list(ledger_problems(path)) == []
    with Ledger.open(path) as ledger:
        kept = [ledger.reply(one.key) for one in (request, other)]
    assert [None if one is None else one.reply.text for one in kept] == ["yes", "more"]


async def test_a_text_that_many_requests_share_is_unpacked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "l.sqlite"
    with Ledger.open(path) as ledger:
        for report, number in product(("first ", "second "), range(20)):
            prompt = Prompt(shared=report * 1000, own=f"Is it so? {number}", prefix_key="p")
            request = Request(JUDGE, prompt, "choose", options=("a", "b"))
            await ledger.put(request, answer(request, "yes"))
    unpacked: list[int] = []

    def counted(digest: object, body: object) -> str:
        unpacked.append(len(body) if isinstance(body, bytes) else 0)
        return verify_text(digest, body)

    monkeypatch.setattr(rows, "verify_text", counted)
    assert list(ledger_problems(path)) == []
    # Each of the 2 reports, the 20 questions of each, and the system text, which is short, as all questions are.
    assert sum(size > 0 for size in unpacked) == 2


@pytest.mark.parametrize(
    ("table", "column", "kind", "replies"),
    [
        ("replies", "text", "TEXT", 1),
        ("replies", "latency", "REAL", 1),
        ("requests", "draw", "INTEGER", 1),
        ("texts", "body", "BLOB", 1),
        ("judges", "identity", "TEXT", 2),
    ],
)
async def test_a_missing_value_is_removed(
    tmp_path: Path, table: str, column: str, kind: str, replies: int
) -> None:
    path = tmp_path / "l.sqlite"
    requests = [ask("Is it so?"), ask("And what else?")]
    await store(path, *requests)
    # Without the condition in the schema, SQLite stores what a flipped bit can make of a value.
    needed, free = f"{kind} NOT NULL", f"{kind} DEFAULT 0"
    row = "body LIKE '%And what%'" if table == "texts" else "rowid = (SELECT max(rowid) FROM " + table + ")"
    alter(
        path,
        "PRAGMA writable_schema=ON",
        f"UPDATE sqlite_master SET sql=replace(sql, '{needed}', '{free}') WHERE name='{table}'",
        "PRAGMA writable_schema=RESET",
        f"UPDATE {table} SET {column}=NULL WHERE {row}",
        "PRAGMA writable_schema=ON",
        f"UPDATE sqlite_master SET sql=replace(sql, '{free}', '{needed}') WHERE name='{table}'",
        "PRAGMA writable_schema=RESET",
    )
    assert any("NULL value" in problem for problem in ledger_problems(path))
    assert remove_damaged(path) == (replies, 0, True)
    assert list(ledger_problems(path)) == []
    with Ledger.open(path) as ledger:
        kept = [ledger.get(request.key) for request in requests]
        assert sum(reply is not None for reply in kept) == 2 - replies
    await store(path, *requests)
    assert list(ledger_problems(path)) == []


async def test_two_replies_that_changed_places_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    one, other = ask("one"), ask("other")
    with Ledger.open(path) as ledger:
        for request in (one, other):
            await ledger.put(request, answer(request, request.prompt.own))
    alter(
        path,
        f"UPDATE replies SET key = '' WHERE key = '{one.key}'",
        f"UPDATE replies SET key = '{one.key}' WHERE key = '{other.key}'",
        f"UPDATE replies SET key = '{other.key}' WHERE key = ''",
    )
    with Ledger.open(path) as ledger:
        for request in (one, other):
            with pytest.raises(LedgerCorrupt, match="does not match its digest"):
                ledger.get(request.key)
        assert ledger.stats().replies == 0


@pytest.mark.parametrize("offset", [0, 5])
async def test_a_file_with_a_damaged_page_is_made_anew_of_the_rows_that_can_be_read(
    tmp_path: Path, offset: int
) -> None:
    path = tmp_path / "l.sqlite"
    requests = [ask(f"Is it so? {number}") for number in range(20)]
    with Ledger.open(path) as ledger:
        for request in requests:
            await ledger.put(request, answer(request, f"yes {request.key}"))
        [size] = ledger_page(path)
    whole = path.read_bytes()
    for page in range(1, len(whole) // size):
        content = bytearray(whole)
        content[page * size + offset] ^= 0x14  # of the page's header: its kind, its cells, where they begin
        path.write_bytes(content)
        if not any(ledger_problems(path)):  # a byte that is not used
            continue
        remove_damaged(path)
        assert list(ledger_problems(path)) == []
        with Ledger.open(path) as ledger:
            kept = [reply for request in requests if (reply := ledger.get(request.key)) is not None]
            assert len(kept) == ledger.stats().replies
            assert all(reply.text == f"yes {reply.key}" for reply in kept)
            # A page of a table holds a part of its rows; one of an index, which is made anew, holds none of them.
            for request in requests:
                await ledger.put(request, answer(request, f"yes {request.key}"))
        assert list(ledger_problems(path)) == []


def ledger_page(path: Path) -> tuple[int]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return connection.execute("PRAGMA page_size").fetchone()


async def test_calibrations_of_which_one_is_damaged_are_removed_and_can_be_put_in_anew(
    tmp_path: Path,
) -> None:
    path = tmp_path / "l.sqlite"
    fitted = calibration()
    with Ledger.open(path) as ledger:
        await ledger.put_calibrations([fitted])
    alter(path, "UPDATE calibrations SET body = replace(body, '0.5', '0.6')")
    with Ledger.open(path) as ledger, pytest.raises(LedgerCorrupt, match=r"ledger verify .* --remove"):
        ledger.calibrations(fitted.judge)
    assert remove_damaged(path) == (0, 1, False)
    with Ledger.open(path) as ledger:
        assert ledger.calibrations(fitted.judge) == ()
        await ledger.put_calibrations([fitted])
        assert ledger.calibrations(fitted.judge) == (fitted,)


async def test_a_corrupt_reply_gives_way_to_a_new_one(tmp_path: Path) -> None:
    request = ask("q")
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        await ledger.put(request, answer(request, "x"))
        alter(tmp_path / "l.sqlite", "UPDATE replies SET text = 'y'")
        assert (await ledger.put(request, answer(request, "z"))).text == "z"
        stored = ledger.get(request.key)
    assert stored is not None
    assert stored.text == "z"


def contents(path: Path, requests: list[Request]) -> list[object]:
    """All that can be read of a ledger: what is asked for, or the error in its place."""

    def read(work: object) -> object:
        assert callable(work)
        try:
            return work()
        except LedgerError as error:
            assert "\n" not in str(error)
            return error

    try:
        ledger = Ledger.open(path, read_only=True)
    except LedgerError as error:
        return [error]
    with ledger:

        def reply(key: str) -> object:
            # What a call was grouped under is not in its key, and changes no reply.
            trace = ledger.reply(key)
            return trace and trace.model_dump(exclude={"prompt": {"prefix_key"}})

        found = [read(lambda key=request.key: reply(key)) for request in requests]
        read(ledger.stats)
        return [*found, read(lambda: ledger.calibrations(JUDGE.digest))]


async def test_no_flipped_bit_changes_what_is_read_unnoticed(tmp_path: Path) -> None:
    path, flipped = tmp_path / "l.sqlite", tmp_path / "flipped.sqlite"
    requests = [ask(f"Is {n} so?", "the report " * 200 * (n % 3)) for n in range(24)]
    menu = Prompt(shared="s", own="o", prefix_key="p")
    requests += [Request(JUDGE, menu, "choose", options=("Yes", "No"), draw=draw) for draw in range(8)]
    one = calibration(identity=JUDGE.identity)
    with Ledger.open(path) as ledger:
        for number, request in enumerate(requests):
            if request.kind == "choose":
                choice = Choice(logprobs={"Yes": -0.25, "No": -2.0 - number}, bounded=("No",))
                await ledger.put(request, Reply.of(request.key, choice, "2026-01-01T00:00:00Z", 0.5))
            else:
                await ledger.put(request, answer(request, f"reply {number} " * 20))
        await ledger.put_calibrations([one])
    whole, before = path.read_bytes(), contents(path, requests)
    assert not any(isinstance(part, LedgerError) for part in before)
    rng = Random(17)
    noticed = 0
    for _ in range(400):
        content = bytearray(whole)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        flipped.write_bytes(content)
        after = contents(flipped, requests)
        if after == before:
            continue
        noticed += 1
        try:
            problems = list(ledger_problems(flipped))
        except LedgerError as error:
            problems = [str(error)]
        assert problems
        for part, was in zip(after, before, strict=False):
            # Refused, or lost and to be asked for again; never another.
            assert part == was or part is None or isinstance(part, LedgerError)
    assert noticed > 100


def test_no_journal_has_another_file_removed(tmp_path: Path) -> None:
    path, mine = tmp_path / "ledger.sqlite", tmp_path / "mine.txt"
    Ledger.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA cache_size=1")  # so that the journal is written before the end
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO texts VALUES (?,?)", [(b"%032d" % n, b"x" * 2000) for n in range(200)]
        )
        half, journal = path.read_bytes(), (tmp_path / "ledger.sqlite-journal").read_bytes()
        connection.rollback()
    mine.write_text("mine")
    path.write_bytes(half)
    name = str(mine).encode()
    page = (0x40000000 // 4096 + 1).to_bytes(4, "big")
    end = len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + SUPER_JOURNAL
    (tmp_path / "ledger.sqlite-journal").write_bytes(journal + page + name + end)
    for read_only in (False, True):
        with pytest.raises(LedgerError, match="names other files"):
            Ledger.open(path, read_only=read_only)
    assert mine.exists()


def test_a_link_to_nothing_is_no_ledger(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite"
    (tmp_path / "ledger.sqlite").symlink_to(elsewhere)
    with pytest.raises(LedgerError, match="a link to a file that is not there"):
        Ledger.open(tmp_path / "ledger.sqlite")
    assert not elsewhere.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into every folder")
async def test_a_ledger_in_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "shared" / "ledger.sqlite"
    request = ask("Is it so?")
    await store(path, request)
    path.parent.chmod(0o555)
    try:
        assert list(ledger_problems(path)) == []
        with Ledger.open(path, read_only=True) as ledger:
            assert ledger.get(request.key) is not None
    finally:
        path.parent.chmod(0o755)


async def test_a_table_that_takes_no_reply_is_refused(tmp_path: Path) -> None:
    """SQLite passes over a reply that a check forbids, without a word."""
    path = tmp_path / "ledger.sqlite"
    Ledger.open(path).close()
    change = "sql=replace(sql, 'text              TEXT', 'text TEXT CHECK (0)')"
    alter(path, "PRAGMA writable_schema=ON", f"UPDATE sqlite_master SET {change} WHERE name='replies'")
    with pytest.raises(LedgerError, match="'replies' in it is not as this program makes it"):
        Ledger.open(path)


def test_a_journal_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "ledger.sqlite").close()
    os.mkfifo(tmp_path / "ledger.sqlite-journal")
    for read_only in (False, True):
        with pytest.raises(LedgerError, match="it is no file"):
            Ledger.open(tmp_path / "ledger.sqlite", read_only=read_only)


def test_what_is_no_file_is_no_ledger(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ledger.sqlite")
    for read_only in (False, True):
        with pytest.raises(LedgerError, match="name another path"):
            Ledger.open(tmp_path / "ledger.sqlite", read_only=read_only)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER gone AFTER INSERT ON replies BEGIN DELETE FROM replies; END",
        "CREATE VIEW more AS SELECT * FROM replies",
        "ALTER TABLE replies ADD COLUMN more TEXT",
        "ALTER TABLE replies DROP COLUMN latency",
        "CREATE UNIQUE INDEX one ON replies (finish_reason)",  # of two replies, only the first would be stored
        "CREATE INDEX slow ON replies (length(hex(zeroblob(300000000))))",
        "CREATE TABLE more (text)",
    ],
)
def test_a_ledger_with_anything_of_its_own_is_refused(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger.open(path).close()
    alter(path, statement)
    for read_only in (False, True):
        with pytest.raises(LedgerError, match=r"is not as .*name another path"):
            Ledger.open(path, read_only=read_only)


async def test_an_altered_token_count_is_counted_again(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with Ledger.open(path) as ledger:
        await ledger.put_token_count(JUDGE, "a", 7)
        await ledger.put_token_count(JUDGE, "b", 8)
        assert ledger.token_count(JUDGE, "a") == 7
        assert ledger.token_count(JUDGE, "c") is None
        assert ledger.judges() == [JUDGE.identity]
    alter(path, "UPDATE token_counts SET tokens = 9 WHERE messages = 'a'")
    with Ledger.open(path) as ledger:
        assert ledger.token_count(JUDGE, "a") is None
        assert ledger.token_count(JUDGE, "b") == 8
    assert list(ledger_problems(path)) == ["token count of a: does not match its digest"]
    remove_damaged(path)
    assert list(ledger_problems(path)) == []
    with Ledger.open(path) as ledger:
        await ledger.put_token_count(JUDGE, "a", 7)
        assert [ledger.token_count(JUDGE, each) for each in "ab"] == [7, 8]


async def test_a_ledger_without_token_counts_gets_them_when_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    Ledger.open(path).close()
    alter(path, "DROP TABLE token_counts")
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.token_count(JUDGE, "a") is None
    assert list(ledger_problems(path)) == []
    with Ledger.open(path) as ledger:
        await ledger.put_token_count(JUDGE, "a", 7)
        assert ledger.token_count(JUDGE, "a") == 7


async def test_the_judge_with_the_latest_reply_comes_first(tmp_path: Path) -> None:
    silent, early, late = (
        Identified.of(JUDGE.identity.model_copy(update={"engine_version": version}))
        for version in ("0", "1", "2")
    )
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        for judge in (late, silent, early):
            await ledger.put_token_count(judge, "a", 1)
        for judge in (early, late):
            request = ask("Is it so?", judge=judge)
            await ledger.put(request, answer(request, "yes"))
        assert [one.engine_version for one in ledger.judges()] == ["2", "1", "0"]
