"""The ledger: stored before used, whole after a kill, shared by two processes, never on a foreign file."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local_judge.base.failures import Failure
from local_judge.ledger.errors import LedgerCorrupt, LedgerError, LedgerForeign, LedgerMissing, LedgerReadOnly
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified, Reply, Request
from local_judge.ledger.tail import AnsweredCall, LedgerTail
from local_judge.ledger.upkeep import contents
from local_judge.prompts import Prompt
from serving.types import Choice, EngineIdentity, Generation, Sampling, Usage

ROOT = Path(__file__).resolve().parents[2]
JUDGE = Identified.of(EngineIdentity(model="m", engine="scripted", engine_version="1"))


def ask(
    own: str, shared: str = "the report", *, judge: Identified = JUDGE, temperature: float = 0
) -> Request:
    prompt = Prompt(shared=shared, own=own, prefix_key="p")
    return Request(judge, prompt, "generate", sampling=Sampling(temperature=temperature), schema='{"a":1}')


def answer(request: Request, text: str) -> Reply:
    usage = Usage(prompt_tokens=7, completion_tokens=3, cached_tokens=4)
    generation = Generation(text=text, reasoning="hm", finish_reason="length", usage=usage)
    return Reply.of(request.key, generation, "2026-01-01T00:00:00.000+00:00", 0.25)


async def store(path: Path, *requests: Request, text: str = "yes") -> None:
    """Store replies with a text to requests."""
    with Ledger.open(path) as ledger:
        for request in requests:
            await ledger.put(request, answer(request, text))


async def test_a_reply_comes_back_whole_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.db"
    request = ask("Is it so?", "Ein Bericht, 报告")
    with Ledger.open(path) as ledger:
        stored = await ledger.put(request, answer(request, "да"))
        assert stored == ledger.get(request.key) == answer(request, "да")
    with Ledger.open(path, read_only=True) as ledger:
        trace = ledger.reply(request.key)
        assert trace is not None
        assert trace.reply == stored
        assert trace.prompt == request.prompt
        assert trace.messages == request.messages
        assert trace.sampling == request.sampling
        assert trace.json_schema == {"a": 1}
        assert trace.judge == JUDGE.identity
        assert ledger.reply("unknown") is None


async def test_choices_are_kept(tmp_path: Path) -> None:
    prompt = Prompt(shared="s", own="o", prefix_key="p")
    request = Request(JUDGE, prompt, "choose", options=("Yes", "No"))
    choice = Choice(logprobs={"Yes": -0.125, "No": -2.5}, bounded=("No",))
    with Ledger.open(tmp_path / "l.db") as ledger:
        await ledger.put(request, Reply.of(request.key, choice, "2026-01-01T00:00:00Z", 0.1))
        stored = ledger.get(request.key)
    assert stored is not None
    assert stored.kind == "choose"
    assert stored.logprobs == {"Yes": -0.125, "No": -2.5}
    assert stored.bounded == ("No",)


async def test_the_first_reply_stays(tmp_path: Path) -> None:
    request = ask("q")
    with Ledger.open(tmp_path / "l.db") as one, Ledger.open(tmp_path / "l.db") as two:
        await one.put(request, answer(request, "first"))
        assert (await two.put(request, answer(request, "second"))).text == "first"


async def test_a_report_is_stored_once_for_all_its_calls(tmp_path: Path) -> None:
    requests = [ask(f"question {n}", "report " * 10_000) for n in range(50)]
    with Ledger.open(tmp_path / "l.db") as ledger:
        await asyncio.gather(*(ledger.put(request, answer(request, "x")) for request in requests))
        stats = ledger.stats()
    # 50 own parts, one system text, one report, one schema
    found = contents(tmp_path / "l.db")
    rows = {"requests": 50, "replies": 50, "texts": 53, "judges": 1}
    assert {name: found.rows[name] for name in rows} == rows
    assert (stats.prompt_tokens, stats.completion_tokens, stats.cached_tokens) == (350, 150, 200)
    assert found.bytes < 200_000


@pytest.mark.parametrize(("seconds_before", "n_read"), [(60, 1), (60.5, 0)])
async def test_a_tail_reads_no_row_before_a_call_that_ended_a_minute_too_early(
    tmp_path: Path, seconds_before: float, n_read: int
) -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    with Ledger.open(tmp_path / "l.db") as ledger:
        for name, begun in (("wanted", since), ("early", since - 0.25 - seconds_before)):  # each takes 0.25 s
            created = {"created": datetime.fromtimestamp(begun, UTC).isoformat()}
            await ledger.put(ask(name), answer(ask(name), "yes").model_copy(update=created))
    with closing(LedgerTail(tmp_path / "l.db", since, frozenset([JUDGE.digest]))) as tail:
        assert list(tail.answered()) == [AnsweredCall(since, since + 0.25, 7, 3, 4)] * n_read


async def test_seconds_in_which_calls_were_under_way_count_once(tmp_path: Path) -> None:
    # From 0 to 4, 1 to 2 within it, 3 to 6 beyond it, and 10 to 11: 6 + 1.
    begun = {"a": (0, 4.0), "b": (1, 1.0), "c": (3, 3.0), "d": (10, 1.0)}
    with Ledger.open(tmp_path / "l.db") as ledger:
        for name, (second, latency) in begun.items():
            request = ask(name)
            made = Generation(text="x", finish_reason="stop", usage=Usage())
            at = f"2026-01-01T00:00:{second:02d}.000+00:00"
            await ledger.put(request, Reply.of(request.key, made, at, latency))
        assert ledger.stats().busy_seconds == 7.0


async def test_failures_are_kept_and_not_replayed(tmp_path: Path) -> None:
    request = ask("q")
    failure = Failure(kind="timeout", detail="no answer in 5 s")
    with Ledger.open(tmp_path / "l.db") as ledger:
        await ledger.put_failure(request, failure)
        assert ledger.get(request.key) is None
        assert ledger.failures(request.key) == [failure]


async def test_a_miss_is_explained_by_what_changed(tmp_path: Path) -> None:
    stored = ask("Is claim 1 so?")
    newer = Identified.of(JUDGE.identity.model_copy(update={"engine_version": "2"}))
    with Ledger.open(tmp_path / "l.db") as ledger:
        assert ledger.explain(stored).nearest is None
        for request in (stored, ask("Another question?", "another report")):
            await ledger.put(request, answer(request, "x"))
        assert ledger.explain(stored).hit
        changed = ledger.explain(ask("Is claim 1 so?", judge=newer, temperature=0.5))
        edited = ledger.explain(ask("Is claim 2 so?"))
    assert not changed.hit
    assert changed.nearest == stored.key
    assert [(c.part, c.stored, c.asked) for c in changed.changes] == [
        ("judge.engine_version", '"1"', '"2"'),
        ("sampling.temperature", "0.0", "0.5"),
    ]
    assert edited.nearest == stored.key
    assert [(c.part, c.stored.strip(), c.asked.strip()) for c in edited.changes] == [
        ("own", "Is claim 1 so?", "Is claim 2 so?")
    ]


async def test_read_only_refuses_writes(tmp_path: Path) -> None:
    request = ask("q")
    path = tmp_path / "l.db"
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.get(request.key) is None
        with pytest.raises(LedgerReadOnly, match="opened for reading"):
            await ledger.put(request, answer(request, "x"))


def test_read_only_makes_no_file(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "l.db", read_only=True).close()
    assert list(tmp_path.iterdir()) == []


async def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db")
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        await ledger.put(ask("q"), answer(ask("q"), "x"))


async def test_a_write_whose_waiter_was_cancelled_is_kept(tmp_path: Path) -> None:
    request = ask("q")
    with Ledger.open(tmp_path / "l.db") as ledger:
        task = asyncio.create_task(ledger.put(request, answer(request, "x")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    with Ledger.open(tmp_path / "l.db") as ledger:
        assert ledger.get(request.key) is not None


def test_foreign_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, database, newer = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "newer.db"
    text.write_text("These are my notes, not a ledger. " * 100)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    Ledger.open(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    for path, message in [(text, "not a ledger"), (database, "not a ledger"), (newer, "version 99")]:
        before = path.read_bytes()
        for read_only in (True, False):
            with pytest.raises(LedgerForeign, match=message) as caught:
                Ledger.open(path, read_only=read_only)
            assert str(path) in str(caught.value)
            assert "\n" not in str(caught.value)
        assert path.read_bytes() == before


async def test_a_damaged_ledger_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with Ledger.open(path) as ledger:
        for n in range(40):
            await ledger.put(ask(f"{n}"), answer(ask(f"{n}"), "x" * 2000))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with (
        Ledger.open(path, read_only=True) as ledger,
        pytest.raises(LedgerCorrupt, match=r"l\.db: .*malformed.*verify"),
    ):
        ledger.get("0" * 64)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerMissing, match="its folder cannot be made"):
        Ledger.open(tmp_path / "file" / "runs" / "l.db")


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerMissing, match="cannot be opened"):
        Ledger.open(tmp_path)


CHILD = """
import asyncio, sys
sys.path.insert(0, sys.argv[3])
import test_ledger as t
from local_judge.ledger.ledger import Ledger

async def main():
    ledger = Ledger.open(sys.argv[1])
    async def one(n):
        request = t.ask(f"{sys.argv[2]} {n}", "report " * 500)
        await ledger.put(request, t.answer(request, f"reply {n}"))
        print(request.key, flush=True)
    n = 0
    while n < int(sys.argv[4]):
        await asyncio.gather(*(one(n + k) for k in range(20)))
        n += 20

asyncio.run(main())
"""


def child(path: Path, name: str, calls: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(path), name, str(Path(__file__).parent), str(calls)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_nothing_that_was_used_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    used: list[str] = []
    for round_ in range(3):
        process = child(path, f"round {round_}", 1_000_000)
        assert process.stdout is not None
        used.append(process.stdout.readline().strip())
        time.sleep(0.013 * round_)  # at another instant each time
        process.send_signal(signal.SIGKILL)
        used += process.stdout.read().split("\n")[:-1]
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
        with Ledger.open(path) as ledger:
            assert all(ledger.get(key) is not None for key in used)
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
    assert len(used) > 3


def test_two_processes_may_share_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    processes = [child(path, name, 200) for name in ("one", "two")]
    keys = [key for process in processes for key in process.communicate()[0].split()]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(set(keys)) == 400
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.stats().replies == 400
        assert all(ledger.get(key) is not None for key in keys)


@pytest.mark.parametrize(
    "place", ["postgresql://me:secret@db/replies", "/runs/postgresql:/me:secret@db/replies"]
)
def test_a_url_is_refused_without_its_text(place: str) -> None:
    with pytest.raises(LedgerMissing, match=r"^ledger postgresql:\.\.\.: a ledger is a file"):
        Ledger.open(place)
