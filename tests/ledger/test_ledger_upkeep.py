"""Contents, removal, export and import of a ledger."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.base.failures import Failure
from local_judge.ledger.errors import LedgerMissing
from local_judge.ledger.jsonl import export_ledger, import_ledger
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.upkeep import collect, contents, ledger_problems

from .test_calibrations import calibration
from .test_ledger import JUDGE, answer, ask
from .test_ledger_damage import alter
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


@pytest.mark.parametrize("name", ["l.jsonl", "l.jsonl.gz"])
async def test_an_export_comes_back_whole(tmp_path: Path, name: str) -> None:
    path, file, damaged = await filled(tmp_path / "l"), tmp_path / name, list[str]()
    text = "".join(export_ledger(path, damaged))
    file.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    assert damaged == []
    merged = import_ledger(tmp_path / "back", file)
    assert (merged.replies, merged.conflicts, merged.damaged) == (40, [], [])
    assert rows(tmp_path / "back") == rows(path)
    assert import_ledger(tmp_path / "back", file).present == 40
    lines = [json.loads(line) for line in text.splitlines()]
    assert {line["table"] for line in lines} == set(rows(path))
    assert any("报告" in line.get("body", "") or "问题" in line.get("body", "") for line in lines)


async def test_what_was_altered_is_named_and_left_out(tmp_path: Path) -> None:
    path, file, damaged = await filled(tmp_path / "l"), tmp_path / "l.jsonl", list[str]()
    alter(path, "DELETE FROM texts WHERE rowid = (SELECT max(rowid) FROM texts)")
    file.write_text("".join(export_ledger(path, damaged)).replace("reply 7 ", "reply 8 ", 1))
    key = keys_of(path)[7]
    merged = import_ledger(tmp_path / "back", file)
    assert f"{file}: reply {key[:12]}: does not match its digest" in merged.damaged
    assert merged.replies == 39
    alter(path, "UPDATE texts SET body = X'00' WHERE rowid = 1")
    assert "".join(export_ledger(path, damaged))
    assert len(damaged) == 1


CHANGED: list[tuple[str, str, object]] = [
    ("requests", "draw", 2**63),
    ("requests", "draw", -(10**30)),
    ("requests", "draw", None),
    ("requests", "key", None),
    ("requests", "own", None),
    ("replies", "latency", float("nan")),
    ("replies", "latency", float("inf")),
    ("replies", "text", None),
    ("replies", "text", "\ud800"),
    ("texts", "body", None),
    ("texts", "body", "\udcff"),
    ("texts", "body", "long \ud800" * 1000),
    ("texts", "body", 7),
    ("judges", "identity", {"model": "m"}),
    ("token_counts", "tokens", True),
]


@pytest.mark.parametrize(("table", "column", "value"), CHANGED)
async def test_a_value_that_no_ledger_can_hold_is_refused(
    tmp_path: Path, table: str, column: str, value: object
) -> None:
    file, into = tmp_path / "l.jsonl", tmp_path / "into"
    lines = [json.loads(line) for line in export_ledger(await filled(tmp_path / "l"), [])]
    number = next(number for number, line in enumerate(lines, 1) if line["table"] == table)
    lines[number - 1][column] = value
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=f"line {number} is no row .*; nothing was imported"):
        import_ledger(into, file)
    assert not into.exists()


@pytest.mark.parametrize(
    "line",
    [
        *("", "{", "[]", "{}", '{"table": "mine"}', '{"table": "replies"}', '{"table": ["a"]}', "\xff"),
        *("[" * 100_000, '{"table": ' * 100_000, '{"table": "judges", "digest": ' + "[" * 100_000),
    ],
    ids=range(11),
)
async def test_what_is_no_export_is_refused(tmp_path: Path, line: str) -> None:
    file, into = tmp_path / "l.jsonl", tmp_path / "into"
    good = next(export_ledger(await filled(tmp_path / "l"), []))
    file.write_bytes(good.encode() + line.encode("latin-1") + b"\n")
    with pytest.raises(InputError, match="line 2 is no row of an exported ledger; nothing was imported"):
        import_ledger(into, file)
    assert not into.exists()
    with pytest.raises(InputError, match="no such file"):
        import_ledger(into, tmp_path / "none")
