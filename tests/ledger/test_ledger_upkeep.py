"""Contents, removal, export and import of a ledger."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_judge.base.failures import Failure
from local_judge.ledger.errors import LedgerMissing
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.upkeep import collect, contents, ledger_problems

from .test_calibrations import calibration
from .test_ledger import JUDGE, answer, ask
from .test_ledger_merge import rows


async def filled(path: Path) -> Path:
    """Replies to 40 questions about a long report, a failure, a token count and a calibration."""
    with Ledger.open(path) as ledger:
        for n in range(40):
            request = ask(f"question {n}, \x00 问题", "report " * 500)
            await ledger.put(request, answer(request, f"reply {n} " * 200))
        await ledger.put_failure(ask("failed"), Failure(kind="timeout", detail="no answer"))
        await ledger.put_token_count(JUDGE, "m", 7)
        await ledger.put_calibrations([calibration()])
    return path


def keys_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM replies ORDER BY rowid")]


async def test_contents_are_counted(tmp_path: Path) -> None:
    found = contents(await filled(tmp_path / "l"))
    # 40 + 1 questions, one system text, two reports, one schema
    assert found.rows == {
        "replies": 40,
        "requests": 41,
        "texts": 45,
        "failures": 1,
        "token_counts": 1,
        "judges": 1,
        "calibrations": 1,
    }
    assert found.failures == {"timeout": 1}
    [calls] = found.calls
    assert (calls.judge, calls.kind, calls.replies) == ("m", "generate", 40)
    assert (calls.prompt_tokens, calls.completion_tokens) == (280, 120)
    assert 0 < sum(found.stored.values()) < found.bytes
    assert (tmp_path / "l").stat().st_size >= found.bytes
    with pytest.raises(LedgerMissing, match="no such file"):
        contents(tmp_path / "none")


async def test_what_is_not_kept_is_removed_and_the_file_shrinks(tmp_path: Path) -> None:
    path = await filled(tmp_path / "l")
    keep, before = set(keys_of(path)[:5]), rows(path)
    counted = collect(path, keep=keep, dry_run=True)
    assert (counted.replies, counted.failures, counted.requests, counted.texts) == (35, 0, 35, 35)
    assert rows(path) == before
    done = collect(path, keep=keep)
    assert done[:4] == counted[:4]
    assert done.bytes_after < done.bytes_before / 2
    assert path.stat().st_size == done.bytes_after
    assert list(ledger_problems(path)) == []
    assert set(keys_of(path)) == keep
    with Ledger.open(path) as ledger:
        assert ledger.failures(ask("failed").key) == [Failure(kind="timeout", detail="no answer")]
        assert ledger.calibrations(calibration().judge) == (calibration(),)
        assert ledger.token_count(JUDGE, "m") == 7
    assert collect(path, keep=keep)[:4] == (0, 0, 0, 0)
    assert collect(path, failures=True)[:4] == (0, 1, 1, 2)
    assert set(keys_of(path)) == keep


async def test_a_process_that_has_the_ledger_open_goes_on(tmp_path: Path) -> None:
    path = await filled(tmp_path / "l")
    with Ledger.open(path) as ledger:
        before = ask("before", "report " * 500)
        await ledger.put(before, answer(before, "x"))
        collect(path, keep=set(), failures=True)
        # The judge and the texts that it stored for the earlier call are gone, and are stored again.
        request = ask("more", "report " * 500)
        await ledger.put(request, answer(request, "x"))
        await ledger.put_failure(ask("failed"), Failure(kind="timeout", detail="no answer"))
        assert ledger.get(before.key) is None
        assert ledger.reply(request.key) is not None
    assert keys_of(path) == [request.key]
    assert list(ledger_problems(path)) == []
