"""Ledgers in a real PostgreSQL server: the same results as in a file, several writers, lost connections."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from local_judge.base.failures import Failure
from local_judge.ledger.errors import LedgerError, LedgerMissing
from local_judge.ledger.jsonl import exported
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.merge import merge
from local_judge.ledger.requests import Identified, Reply, Request
from local_judge.ledger.tail import LedgerTail
from local_judge.ledger.upkeep import collect, contents, ledger_problems, remove_damaged
from local_judge.prompts import Prompt

from local_judge.judge.errors import LedgerUnreachable
from local_judge.judge.ledger_connect import connect_to_read
from local_judge.judge.ledger_place import PostgresUrl
from local_judge.judge.ledger_session import Session
from serving.types import EngineIdentity, Generation, Sampling, Usage
from tests.postgres_server import PASSWORD, PostgresServer, needs_postgres, running

from ..waiting import SECONDS, wait_until

pytestmark = needs_postgres

ROOT = Path(__file__).resolve().parents[2]
JUDGE = Identified.of(EngineIdentity(model="m", engine="scripted", engine_version="1"))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with pytest.MonkeyPatch.context() as patch, running() as found:
        patch.setenv("PGPASSWORD", PASSWORD)
        yield found


@pytest.fixture
def url(server: PostgresServer) -> PostgresUrl:
    return PostgresUrl.parse(server.new())


def ask(own: str, shared: str = "the report") -> Request:
    prompt = Prompt(shared=shared, own=own, prefix_key="p")
    return Request(JUDGE, prompt, "generate", sampling=Sampling(), schema='{"a":1}')


def answer(request: Request, text: str) -> Reply:
    generation = Generation(
        text=text, finish_reason="stop", usage=Usage(prompt_tokens=7, completion_tokens=3)
    )
    return Reply.of(request.key, generation, "2026-01-01T00:00:00.000+00:00", 0.1)


async def fill(place: Path | PostgresUrl) -> None:
    hostile = "a\0b\x01c\x02\x03 \\x00 '; DROP TABLE replies; -- ? $1 \u202e 😀" + "x" * 100_000
    with Ledger.open(place) as ledger:
        requests = [ask(f"question {n}", hostile) for n in range(20)]
        stored = await asyncio.gather(
            *(ledger.put(one, answer(one, f"{hostile}{one.key}")) for one in requests)
        )
        assert [one.text for one in stored] == [f"{hostile}{one.key}" for one in requests]
        assert (await ledger.put(requests[0], answer(requests[0], "later"))) == stored[0]
        assert [ledger.get(one.key) for one in requests] == stored
        failed = ask("failed")
        await ledger.put_failure(failed, Failure(kind="timeout", detail="no\0answer"))
        assert ledger.failures(failed.key) == [Failure(kind="timeout", detail="no\0answer")]
        await ledger.put_token_count(JUDGE, "messages", 5)
        await ledger.put_token_count(JUDGE, "messages", 6)
        assert ledger.token_count(JUDGE, "messages") == 6
        trace = ledger.reply(requests[3].key)
        assert trace is not None
        assert trace.prompt == requests[3].prompt
        assert ledger.explain(ask("question 1", "another report")).changes[0].part == "shared"
        assert ledger.judges() == [JUDGE.identity]


def rows(place: Path | PostgresUrl) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in exported(place, [])]
    return [line | ({"created": ""} if line["table"] == "failures" else {}) for line in lines]


async def test_a_database_has_the_rows_of_a_file(tmp_path: Path, url: PostgresUrl) -> None:
    file = tmp_path / "l.sqlite"
    await fill(file)
    await fill(url)
    assert rows(url) == rows(file)
    assert list(ledger_problems(url)) == []
    of_file, of_url = contents(file), contents(url)
    assert (of_url.rows, of_url.calls, of_url.failures) == (of_file.rows, of_file.calls, of_file.failures)
    back = tmp_path / "back.sqlite"
    assert merge(back, [url]).replies == 20
    assert rows(back) == rows(file)
    assert merge(url, [back]).present == 20
    assert collect(url, keep=set(), dry_run=True).replies == 20
    assert collect(url, keep=set(), failures=True).requests == 21


def test_a_database_without_a_ledger_is_missing_and_stays_empty(tmp_path: Path, url: PostgresUrl) -> None:
    calls: list[Callable[[], object]] = [
        lambda: merge(tmp_path / "l.sqlite", [url]),
        lambda: contents(url),
        lambda: list(ledger_problems(url)),
        lambda: collect(url, dry_run=True),
        lambda: list(exported(url, [])),
    ]
    for call in calls:
        with pytest.raises(LedgerMissing, match="this database has no ledger"):
            call()
    assert not (tmp_path / "l.sqlite").exists()
    with Ledger.open(url, read_only=True) as ledger:
        assert ledger.judges() == []  # a run still begins with an empty one


async def test_a_ledger_that_another_command_reads_is_collected(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(url)
    with closing(connect_to_read(url)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM replies").fetchone() == (
            20,
        )  # locks it against VACUUM FULL
        monkeypatch.setattr("local_judge.judge.ledger_session.BUSY_SECONDS", 1.0)
        assert collect(url, keep=set()).replies == 20


async def test_calls_are_followed_while_they_are_added(url: PostgresUrl) -> None:
    await fill(url)
    tail = LedgerTail(url, 0.0, frozenset([JUDGE.digest]))
    assert [call.prompt_tokens for call in tail.answered()] == [7] * 20
    assert [call.kind for call in tail.failed()] == ["timeout"]
    with Ledger.open(url) as ledger:
        await ledger.put(ask("later"), answer(ask("later"), "yes"))
    assert len(list(tail.answered())) == 1
    tail.close()


async def test_a_tail_reads_the_latest_calls_only(server: PostgresServer, url: PostgresUrl) -> None:
    with Ledger.open(url) as ledger:
        await ledger.put(ask("old"), answer(ask("old"), "yes"))
    server.run_sql(
        url.database,
        "INSERT INTO local_judge.replies SELECT 'key' || n, text, reasoning, finish_reason, logprobs, bounded, "
        "prompt_tokens, completion_tokens, cached_tokens, created, latency, digest "
        "FROM local_judge.replies, generate_series(1, 20000) AS n",
    )
    since = datetime(2026, 6, 1, tzinfo=UTC).timestamp()
    with Ledger.open(url) as ledger:
        for n in range(3):
            request = ask(f"new {n}")
            later = {"created": "2026-06-02T00:00:00.000+00:00"}
            await ledger.put(request, answer(request, "yes").model_copy(update=later))
    before = rows_read(server, url)
    with closing(LedgerTail(url, since, frozenset([JUDGE.digest]))) as tail:
        assert len(list(tail.answered())) == 3
        assert list(tail.answered()) == []
    assert rows_read(server, url) - before < 2000  # two pages, and what the look-up of their judges reads


def sessions(server: PostgresServer, url: PostgresUrl) -> int:
    count = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{url.database}'"
    return int(str(server.run_sql("postgres", count)[0][0]))


def rows_read(server: PostgresServer, url: PostgresUrl) -> int:
    """Number of rows of the table of replies that closed sessions have read."""
    wait_until(lambda: sessions(server, url) == 0)  # a session reports them as it ends
    sql = (
        "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = 'replies'"
    )
    return int(str(server.run_sql(url.database, sql)[0][0]))


async def test_the_event_loop_runs_while_a_reply_is_looked_up(url: PostgresUrl) -> None:
    await fill(url)
    key = ask("question 1", "the report").key
    ticked = threading.Event()

    def slow(ledger: Ledger) -> Reply | None:
        """As over a network that takes as long as ten turns of the loop."""
        assert ticked.wait(SECONDS)
        return ledger.get(key)

    with Ledger.open(url, read_only=True) as reader:
        assert reader.is_remote
        looking = asyncio.create_task(reader.apart(slow, reader))
        for _ in range(10):
            await asyncio.sleep(0.001)
        ticked.set()
        assert await looking is None


async def test_damage_is_found_and_removed(server: PostgresServer, url: PostgresUrl) -> None:
    await fill(url)
    key = ask("question 2").key
    server.run_sql(
        url.database, f"UPDATE local_judge.replies SET text = 'changed' WHERE key <> '{key}' AND rowid = 3"
    )
    assert len(list(ledger_problems(url))) == 1
    assert remove_damaged(url).replies == 1
    assert list(ledger_problems(url)) == []


WRITER = """
import asyncio, sys
from local_judge.ledger.ledger import Ledger
from tests.judge.test_ledger_postgres import answer, ask

async def main() -> None:
    with Ledger.open(sys.argv[1]) as ledger:
        requests = [ask(f"question {n}") for n in range(200)]
        await asyncio.gather(*(ledger.put(one, answer(one, sys.argv[2])) for one in requests))

asyncio.run(main())
"""


def test_two_processes_write_at_once(server: PostgresServer) -> None:
    url = server.new()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, url, name], env=environment)
        for name in ("one", "two")
    ]
    assert [process.wait(120) for process in started] == [0, 0]
    place = PostgresUrl.parse(url)
    assert contents(place).rows["replies"] == 200
    assert list(ledger_problems(place)) == []


@pytest.mark.slow
async def test_a_killed_server_loses_nothing_that_was_stored(
    server: PostgresServer, url: PostgresUrl
) -> None:
    with Ledger.open(url) as ledger:
        first, second, third = ask("first"), ask("second"), ask("third")
        await ledger.put(first, answer(first, "1"))
        server.kill()
        server.start()
        assert ledger.get(first.key) == answer(first, "1")
        server.kill()
        writing = asyncio.create_task(ledger.put(second, answer(second, "2")))
        await asyncio.sleep(0.05)  # the write waits for the server
        await asyncio.to_thread(server.start)
        assert (await writing).text == "2"
        await ledger.put(third, answer(third, "3"))
    with Ledger.open(url, read_only=True) as ledger:
        assert [ledger.get(one.key) is not None for one in (first, second, third)] == [True] * 3


async def test_a_failure_is_stored_once_if_the_answer_to_a_commit_is_lost(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(url) as ledger:
        failed, replied = ask("failed"), ask("replied")
        failure = Failure(kind="timeout", detail="no\0answer")
        lose_the_answer(monkeypatch, "COMMIT")
        await asyncio.gather(ledger.put_failure(failed, failure), ledger.put(replied, answer(replied, "yes")))
        assert ledger.failures(failed.key) == [failure]
        assert ledger.get(replied.key) == answer(replied, "yes")
        await ledger.put_failure(failed, failure)  # a second call that fails alike
        assert ledger.failures(failed.key) == [failure, failure]


async def test_a_failure_is_stored_if_its_transaction_is_lost(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(url) as ledger:
        lose_the_answer(monkeypatch, "BEGIN")
        failure = Failure(kind="timeout", detail="no answer")
        await ledger.put_failure(ask("failed"), failure)
        assert ledger.failures(ask("failed").key) == [failure]


async def test_what_was_written_before_a_refused_statement_is_rolled_back(
    server: PostgresServer, url: PostgresUrl
) -> None:
    """The request of a reply is written before the reply, for which there is no table."""
    with Ledger.open(url) as ledger:
        server.run_sql(url.database, "ALTER TABLE local_judge.replies RENAME TO elsewhere")
        with pytest.raises(LedgerError, match="replies"):
            await ledger.put(ask("first"), answer(ask("first"), "1"))
        server.run_sql(url.database, "ALTER TABLE local_judge.elsewhere RENAME TO replies")
        await ledger.put(ask("second"), answer(ask("second"), "2"))
    assert (contents(url).rows["requests"], contents(url).rows["replies"]) == (1, 1)


def lose_the_answer(monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    """Close the connection after the next statement of these words, before its answer is read."""
    run, left = Session.run, [lost]

    def losing(session: Session, sql: str, values: list[object]) -> object:
        found = run(session, sql, values)
        if sql in left:
            left.remove(sql)
            session.close()
            raise session.unreachable("the connection was lost")
        return found

    monkeypatch.setattr(Session, "run", losing)


def test_a_stream_whose_connection_is_lost_says_so(server: PostgresServer, url: PostgresUrl) -> None:
    asyncio.run(fill(url))
    with closing(connect_to_read(url)) as reader:
        rows = reader.stream("SELECT rowid FROM replies")
        next(rows)
        server.run_sql(url.database, ENDED)
        with pytest.raises(LedgerUnreachable, match="the connection was lost"):
            list(rows)
        assert len(list(reader.stream("SELECT rowid FROM replies"))) == 20  # on a new connection


ENDED = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


async def test_a_full_server_is_asked_again(
    server: PostgresServer, url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pg8000.native import Connection, DatabaseError

    monkeypatch.setattr("local_judge.judge.ledger_session.CONNECT_SECONDS", SECONDS)
    others: list[Connection] = []
    with Ledger.open(url) as ledger:
        await ledger.put(ask("one"), answer(ask("one"), "yes"))
        server.run_sql(url.database, ENDED)
        with pytest.raises(DatabaseError, match="too many"):
            while True:
                others.append(
                    Connection(
                        "judge", host="127.0.0.1", port=server.port, database="postgres", password=PASSWORD
                    )
                )
        looking = asyncio.create_task(asyncio.to_thread(ledger.get, ask("one").key))
        await asyncio.sleep(0.5)
        assert not looking.done()
        for other in others:
            other.close()
        assert await looking is not None


def test_an_absent_server_or_wrong_login_is_one_line(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_judge.judge.ledger_session.CONNECT_SECONDS", 0.1)
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    there = f"postgresql://judge@127.0.0.1:{server.port}/postgres"
    for text, password, error in (
        ("postgresql://judge@127.0.0.1:1/replies", "secret", LedgerUnreachable),
        (there, "secret", LedgerMissing),
        (there, None, LedgerMissing),
        (server.url("absent"), PASSWORD, LedgerMissing),
    ):
        if password is None:
            monkeypatch.delenv("PGPASSWORD")
        else:
            monkeypatch.setenv("PGPASSWORD", password)
        with pytest.raises(error) as raised:
            Ledger.open(text)
        assert "\n" not in str(raised.value)
        assert "secret" not in str(raised.value)


def test_a_closed_ledger_does_not_connect_again(server: PostgresServer, url: PostgresUrl) -> None:
    ledger = Ledger.open(url)
    ledger.close()
    with pytest.raises(LedgerError, match="closed; open it again"):
        ledger.get("key")
    wait_until(lambda: sessions(server, url) == 0)
