"""Finished runs are sealed: every reader names what was changed, and the same command takes them up cheaply."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_judge.base.errors import RunError
from local_judge.ledger.ledger import Ledger
from local_judge.runs.execution import execute
from local_judge.runs.storage.lock import locked
from local_judge.runs.storage.store import JOURNAL, RunStore
from tests.stub_server import StubPlan

from ..ledger.test_ledger_merge import text_in, write
from ..stub_thread import StubThread, answer, write_preset
from .conftest import REPORT, Command, Ended
from .test_interrupted_run import files

READERS = (
    ("show",),
    ("rescore",),
    ("show", "--verticals"),
    ("results", "stats", "length"),
    ("results", "rank", "--score", "overall"),
    ("export", "--format", "csv"),
    ("export", "--format", "deer"),
    ("show", "--transcripts"),
)


class Made:
    """A run of two reports, and the command that makes it."""

    def __init__(self, folder: Path, snapshot: Path, command: Command, server: StubThread) -> None:
        self.folder, self.server, self._command = folder, server, command
        self.out = folder / "run"
        reports = folder / "reports"
        reports.mkdir()
        for name in "ab":
            (reports / f"{name}.md").write_text(REPORT.replace("eleven", f"eleven {name}"), encoding="utf-8")
        tasks = folder / "tasks.jsonl"
        tasks.write_text("".join(f'{{"id": "{name}", "task": "What is it?"}}\n' for name in "ab"))
        self.given: tuple[str | Path, ...] = ("run", reports, "--tasks", tasks, "--snapshot", snapshot)
        self.given += ("--judge", write_preset(folder), "--base-url", server.url, "--out", self.out)

    def run(self, *more: str) -> Ended:
        return self._command(*self.given, *more)

    def read(self, *reader: str, more: tuple[str, ...] = ()) -> Ended:
        """One of `READERS` on the run."""
        words = {"results": 2, "lab": 3}.get(reader[0], 1) + (reader[1:2] == ("stats",))
        target: tuple[Path, ...] = (self.out,)
        if reader[0] == "export":
            shutil.rmtree(self.folder / "exported", ignore_errors=True)
            target = (self.out, self.folder / "exported")
        return self._command(*reader[:words], *target, *reader[words:], *more)


@pytest.fixture
def made(tmp_path: Path, snapshot: Path, command: Command) -> Iterator[Made]:
    with StubThread(StubPlan(answer=answer)) as server:
        made = Made(tmp_path, snapshot, command, server)
        assert made.run().code == 0
        yield made


def alter(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def first(out: Path, pattern: str) -> Path:
    return sorted(out.glob(pattern))[0]


def flip_label(out: Path) -> Path:
    path = out / "claims.jsonl"
    alter(path, '"label":"supported"', '"label":"contradicted"')
    return path


def flip_finding(out: Path) -> Path:
    path = out / "findings/deer.jsonl"
    alter(path, '"outcome":"supported"', '"outcome":"not_supported"')
    return path


def raise_score(out: Path) -> Path:
    path = out / "scores/deer.jsonl"
    alter(path, '"value":', '"value":1')
    return path


def raise_mean(out: Path) -> Path:
    path = out / "scores/deer.systems.jsonl"
    alter(path, '"value":', '"value":1')
    return path


def rename_report(out: Path) -> Path:
    alter(out / "cases.jsonl", '"id":"a"', '"id":"c"')
    return out / "cases.jsonl"


def other_judge(out: Path) -> Path:
    alter(out / "manifest.json", '"model": "', '"model": "much-better-')
    return out / "manifest.json"


def lose(out: Path) -> Path:
    path = out / "findings/deer.jsonl"
    path.unlink()
    return path


def add(out: Path) -> Path:
    path = out / "scores/other.jsonl"
    path.touch()
    return path


READ_FINDINGS = (*READERS[1:2], *READERS[5:])


@pytest.mark.parametrize(
    ("change", "said", "readers"),
    [
        (flip_label, "differs from the seal", (*READERS[:2], READERS[5])),
        (flip_finding, "differs from the seal", READ_FINDINGS),
        (raise_score, "differs from the seal", READERS[1:6]),
        (raise_mean, "differs from the seal", (*READERS[:2], *READERS[3:6])),
        (rename_report, "differs from the seal", READERS),
        (other_judge, "differs from the seal", READERS),
        (lose, "is missing", READERS),
        (add, "is not in the seal", READERS),
    ],
)
def test_whoever_reads_what_was_changed_names_it_and_stops(
    made: Made, change: Callable[[Path], Path], said: str, readers: tuple[tuple[str, ...], ...]
) -> None:
    path = change(made.out)
    before = files(made.out)
    for reader in READERS:
        ended = made.read(*reader)
        if reader not in readers:
            assert "modified" not in ended.out + ended.err, reader
            continue
        assert (ended.code, ended.out) == (1, ""), reader
        assert f"{path.relative_to(made.out)} {said}" in ended.line(), reader
        assert files(made.out) == before
        assert not (made.folder / "exported").exists()


def test_a_run_without_a_seal_is_refused_too(made: Made) -> None:
    manifest = made.out / "manifest.json"
    manifest.write_text(
        json.dumps({key: value for key, value in json.loads(manifest.read_text()).items() if key != "seal"})
    )
    assert "manifest.json has no seal" in made.read("show").line()
    assert made.read("show", more=("--allow-modified",)).out.startswith("modified: ")
    assert made.read("rescore", more=("--allow-modified",)).code == 0
    assert made.read("show").code == 1  # rescoring seals nothing that was not sealed


def test_a_run_of_another_format_is_refused_in_one_line_that_says_what_to_do(made: Made) -> None:
    manifest = made.out / "manifest.json"
    written = json.loads(manifest.read_text())
    del written["format_version"]  # as of runs before formats had numbers
    manifest.write_text(json.dumps(written))
    before = files(made.out)
    for more in ((), ("--allow-modified",)):
        for reader in READERS:
            ended = made.read(*reader, more=more)
            assert (ended.code, ended.out) == (1, ""), reader
            assert "a run of format 1, and this version of local_judge reads format 4" in ended.line(), reader
            assert "run the evaluation again with another --out" in ended.line(), reader
    assert "a run of format 1" in made.run().line()
    assert files(made.out) == before


@pytest.mark.parametrize("protocols", [3, [], ["race"]])
def test_a_modified_manifest_is_refused_before_anything_is_read_from_it(
    made: Made, protocols: object
) -> None:
    manifest = made.out / "manifest.json"
    written = json.loads(manifest.read_text())
    written["config"]["protocols"] = protocols
    manifest.write_text(json.dumps(written))
    for reader in READERS:
        ended = made.read(*reader)
        assert (ended.code, ended.out) == (1, ""), reader
        assert "modified since the run ended: manifest.json differs from the seal" in ended.line(), reader


def test_what_may_be_modified_is_marked_wherever_it_is_printed(made: Made) -> None:
    path = flip_finding(made.out)
    allowed = ("--allow-modified",)
    line = made.read("show", more=allowed).out.splitlines()[0].removeprefix("modified: ")
    assert line.startswith(f"{made.out}: {path.relative_to(made.out)} differs ") and line.endswith("(of 'a')")
    for reader in READERS[:7]:
        if "rank" in reader or "rescore" in reader:  # two reports on two tasks; changes the scores
            continue
        ended = made.read(*reader, more=allowed)
        assert (ended.code, ended.out.splitlines()[0]) == (0, f"modified: {line}"), reader
        text = made.read(*reader, more=(*allowed, "--json")).out
        assert json.dumps({"modified": [line]})[1:-1] in text, reader
    made.read("export", "--format", "csv", more=allowed)
    rows = (made.folder / "exported/scores.csv").read_text().splitlines()
    assert rows[0].endswith(",modified")
    assert all(row.endswith(f",{line}") for row in rows[1:])
    assert (made.folder / "exported/MODIFIED.txt").read_text() == f"{line}\n"


def test_scores_of_a_modified_run_are_not_sealed(made: Made) -> None:
    scores = (made.out / "scores/deer.jsonl").read_bytes()
    path = made.out / "findings/deer.jsonl"
    findings = path.read_bytes()
    flip_finding(made.out)
    rescored = made.read("rescore", more=("--allow-modified",))
    mark, _, line = rescored.out.splitlines()[0].partition(": ")
    assert (rescored.code, mark) == (0, "modified")
    assert line.startswith(f"{made.out}: {path.relative_to(made.out)} differs ") and line.endswith("(of 'a')")
    assert (made.out / "scores/deer.jsonl").read_bytes() != scores
    rows = json.loads(made.read("rescore", more=("--allow-modified", "--json")).out)
    assert all(line in row["modified"] for row in rows)
    ended = made.read("show")
    assert ended.code == 1
    assert "ended: scores/deer.systems.jsonl differs" in ended.line()
    ended = made.read("rescore")
    assert ended.code == 1
    differing = rf"{path.relative_to(made.out)} differs .*\(of 'a'\), scores/deer\.jsonl differs"
    assert re.search(differing, ended.line())
    path.write_bytes(findings)
    assert ": scores/deer.systems.jsonl differs" in made.read("show").line()
    assert made.read("rescore", more=("--allow-modified",)).code == 0
    assert (made.out / "scores/deer.jsonl").read_bytes() == scores
    assert made.read("show").code == 0


def test_rescoring_changes_nothing_of_a_whole_run_and_restores_scores(made: Made) -> None:
    before = files(made.out)
    assert made.read("rescore").code == 0
    assert files(made.out) == before
    raise_score(made.out)
    assert made.read("rescore", more=("--allow-modified",)).code == 0
    assert files(made.out) == before
    assert made.read("show").code == 0


def test_a_rescoring_that_is_killed_is_continued_by_the_same_command(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(made.out)

    def killed(store: RunStore) -> None:
        raise RunError("killed")

    with monkeypatch.context() as patch:
        patch.setattr("local_judge.cli.show.reseal_scores", killed)
        assert made.read("rescore").line().endswith("killed")
    raise_score(made.out)  # the scores of another version
    assert "scores/deer.jsonl is not in" in made.read("show").line()
    assert made.read("rescore").code == 0
    assert files(made.out) == before
    assert made.read("show").code == 0


def test_an_imported_run_is_sealed(tmp_path: Path, command: Command) -> None:
    row: dict[str, object] = {
        "id": "1",
        "prompt": "Why?",
        "article": "It is. [1]",
        "citations": [],
        "citations_deduped": {
            "https://a.example/": {"facts": ["It is."], "validate_res": [], "validate_error": None}
        },
    }
    file = tmp_path / "validated.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assert command("import", file, tmp_path / "run").code == 0
    assert command("show", tmp_path / "run").code == 0
    alter(tmp_path / "run/findings/fact.jsonl", "It is.", "It was.")
    shown = command("show", tmp_path / "run", "--report", "1")
    assert "findings/fact.jsonl differs" in shown.line()


def test_a_whole_run_is_confirmed_without_judging_or_scoring(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, printed = files(made.out), made.read("show").out

    def never(*arguments: object, **more: object) -> None:
        raise AssertionError

    monkeypatch.setattr(execute, "_evaluate", never)
    monkeypatch.setattr(execute, "rescore", never)
    monkeypatch.setattr(Ledger, "get", never)
    n_asked = len(made.server.chats)
    ended = made.run()
    assert (ended.code, ended.line()) == (0, f"{made.out} is finished; 0 calls")
    assert len(made.server.chats) == n_asked
    assert files(made.out) == before
    assert made.read("show").out == printed


@pytest.mark.parametrize("change", [flip_label, flip_finding, raise_score, rename_report, lose, add])
def test_the_command_that_made_a_run_restores_it_without_asking(
    made: Made, change: Callable[[Path], Path]
) -> None:
    before = files(made.out)
    n_asked = len(made.server.chats)
    change(made.out)
    assert made.run().code == 0
    assert files(made.out) == before
    assert len(made.server.chats) == n_asked


def test_a_manifest_that_was_changed_is_not_gone_on_with(made: Made) -> None:
    alter(made.out / "manifest.json", '"run"', '"run and more"')
    assert "manifest.json differs from its seal" in made.run().line()
    assert "restore manifest.json from a copy, --allow-modified" in made.read("show").line()


def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the reports that are evaluated from now on."""
    seen: list[str] = []
    evaluate = execute._evaluate  # pyright: ignore[reportPrivateUsage]

    async def counting(report: object, *arguments: object) -> object:
        seen.append(str(getattr(report, "id")))  # noqa: B009
        return await evaluate(report, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(execute, "_evaluate", counting)
    return seen


def test_only_what_is_open_is_evaluated(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(made.out)
    seen = evaluated(monkeypatch)
    flip_finding(made.out)
    assert made.run().code == 0
    assert len(seen) == 1
    assert files(made.out) == before


def test_another_version_derives_everything_anew(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(made.out)
    seen = evaluated(monkeypatch)
    n_asked = len(made.server.chats)
    monkeypatch.setattr("local_judge.__version__", "99.0")
    assert made.run().code == 0
    assert sorted(seen) == ["a", "b"]
    assert len(made.server.chats) == n_asked
    after = files(made.out)
    assert json.loads(after["manifest.json"])["local_judge"] == "99.0"
    assert {name: after[name] for name in after if name != "manifest.json"} == {
        name: before[name] for name in before if name != "manifest.json"
    }
    assert made.read("show").code == 0


@pytest.mark.parametrize("damage", ["torn", "altered"])
def test_a_journal_with_a_damaged_line_is_taken_up(
    made: Made, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """The run as a kill leaves it when both reports are complete; the second one's line is half written, or altered."""
    before = files(made.out)

    def killed(*arguments: object) -> None:
        raise RuntimeError("killed")

    shutil.rmtree(made.out)
    with monkeypatch.context() as patch:
        patch.setattr(execute, "rescore", killed)
        assert made.run().code == 70
    journal = made.out / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    altered = lines[2].replace(b'"n_sources":', b'"n_sources":1', 1)  # another count, in JSON that is whole
    assert altered != lines[2]
    last = altered if damage == "altered" else lines[2][: len(lines[2]) // 2]
    journal.write_bytes(b"".join(lines[:2]) + last)
    assert "no seal" in made.read("show").line() or "no cases.jsonl" in made.read("show").line()
    seen = evaluated(monkeypatch)
    assert made.run().code == 0
    assert seen == [json.loads(lines[2].split(b"\t")[4])["id"]]
    assert not journal.exists()
    assert files(made.out) == before


def test_a_report_with_a_failure_is_open(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(made.out)
    (made.folder / "config.yaml").write_text("reasks: 0\n")
    broken: list[bool] = []

    def once(asked: object) -> str:
        if not broken and "eleven b" in json.dumps(asked):
            broken.append(True)
            return "no JSON"
        return answer(asked)  # type: ignore[arg-type]

    with StubThread(StubPlan(answer=once)) as server:
        made.given = (*made.given[:-4], "--base-url", server.url, *made.given[-2:])
        config = (str(made.folder / "config.yaml"),)
        assert made.run(*config).code == 3
        seen = evaluated(monkeypatch)
        made.run(*config)
        assert seen == ["b"]


def test_a_second_process_asks_nothing(made: Made) -> None:
    shutil.rmtree(made.out)
    n_asked = len(made.server.chats)
    with locked(made.out):
        ended = made.run()
        assert ended.code == 1
        assert "is writing to" in ended.line() and "wait" in ended.line()
        assert len(made.server.chats) == n_asked
        assert not (made.out / "manifest.json").exists()
    assert made.run().code == 0
    with locked(made.out):
        assert "is writing to" in made.read("rescore").line()
        assert made.read("show").code == 0
    assert RunStore(made.out).read_json("manifest.json")["seal"]["files"].keys() >= {"cases.jsonl"}


def test_ledger_verify_names_what_is_damaged(made: Made, command: Command) -> None:
    ledger = made.out / "ledger.sqlite"
    ended = command("ledger", "verify", ledger)
    assert (ended.code, ended.out.splitlines()[0]) == (0, f"{ledger}: every row matches its digest")
    assert ": 15 replies, " in ended.out
    assert json.loads(command("ledger", "verify", ledger, "--json").out)["contents"]["rows"]["replies"] == 15
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("UPDATE replies SET text = replace(text, 'supported', 'contradicted')")
        connection.commit()
    ended = command("ledger", "verify", ledger)
    assert ended.code == 1
    assert all(line.endswith(": does not match its digest") for line in ended.out.splitlines())
    assert ended.out.splitlines() == json.loads(command("ledger", "verify", ledger, "--json").out)["problems"]
    copy = made.out / "copy.sqlite"
    copy.write_bytes(ledger.read_bytes())
    ended = command("ledger", "verify", copy, "--remove")
    assert (ended.code, ended.out.splitlines()[:2]) == (
        0,
        ["3 damaged replies removed", f"{copy}: every row matches its digest"],
    )
    assert command("ledger", "verify", made.out / "none.sqlite").line().endswith("no such file")
    assert "not a ledger" in command("ledger", "verify", made.out / "cases.jsonl").line()
    # A run on it answers nothing from what was altered, and says so; the next one asks again.
    again = (*made.given[:-1], made.folder / "again", "--ledger", ledger)
    assert command(*again).code == 3
    assert '"kind":"corrupt_reply"' in (made.folder / "again/claims.jsonl").read_text()
    assert command(*again).code == 0
    assert command("ledger", "verify", ledger).code == 0
    made.out = made.folder / "again"
    assert made.read("show").code == 0


def test_gc_keeps_what_a_run_uses(made: Made, command: Command) -> None:
    ledger, other = made.out / "ledger.sqlite", made.folder / "other.sqlite"
    ended = command("ledger", "gc", ledger, "--keep-run", made.out, "--json")
    assert ended.code == 0
    assert (found := json.loads(ended.out))["replies"] == 0
    assert found["bytes_after"] <= found["bytes_before"]
    asyncio.run(write(ledger, ("unused", "x", 1)))
    ended = command("ledger", "gc", ledger, "--keep-run", made.out, "--dry-run")
    assert ended.out == f"{ledger}: 1 reply, 0 failures, 1 request, 3 texts would be removed\n"
    assert command("ledger", "gc", ledger, "--keep-run", made.out).code == 0
    assert text_in(ledger, "unused") is None
    assert made.run().code == 0
    asyncio.run(write(other, ("unused", "x", 1)))
    assert command("ledger", "gc", other, "--keep-run", made.out).code == 1
    assert text_in(other, "unused") == "x"


@pytest.mark.parametrize("folder", ["scores", "findings"])
def test_a_folder_that_is_a_link_is_refused_and_what_it_leads_to_stays(made: Made, folder: str) -> None:
    elsewhere = made.folder / "elsewhere"
    (made.out / folder).rename(elsewhere)
    (elsewhere / "notes.txt").write_text("mine")
    (made.out / folder).symlink_to(elsewhere)
    before = files(elsewhere)
    for ended in (made.run(), made.read("rescore"), made.read("rescore", more=("--allow-modified",))):
        assert ended.code == 1
        assert f"{folder}: a link " in ended.line() and ended.line().endswith(f" {made.out}; remove it")
    assert files(elsewhere) == before


def test_a_seal_that_cannot_be_read_stays_as_it_is(made: Made) -> None:
    path = made.out / "manifest.json"
    alter(path, '"seal": {', '"seal": {"more": 1,')
    before = path.read_bytes()
    ended = made.read("rescore", more=("--allow-modified",))
    assert ended.code == 0
    assert "modified: " in ended.out
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e999"])
def test_a_manifest_with_a_number_that_json_does_not_have_is_refused(made: Made, number: str) -> None:
    alter(made.out / "manifest.json", '"seal": {', f'"snapshot": {number}, "seal": {{')
    for reader in ("show", "rescore"):
        ended = made.read(reader, more=("--allow-modified",))
        assert ended.code == 1 and ended.line().endswith(f"not JSON ({number} is not a JSON number)")
