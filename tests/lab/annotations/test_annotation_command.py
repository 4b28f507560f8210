"""`local-judge lab benchmark-verifier --annotated` from end to end, with a judge that believes everything."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from local_judge.cli import main
from local_judge.cli.ending import ASKS_AGAIN
from local_judge.lab.annotations.load import sample_folder
from tests.stub_server import StubPlan

from ...stub_thread import StubThread, answer, write_preset
from .conftest import Write


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    def __init__(
        self,
        url: str,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.url, self.folder, self._patch, self._capsys = url, folder, monkeypatch, capsys

    def __call__(self, *arguments: str | Path) -> Ended:
        words = ["lab", "benchmark-verifier", *map(str, arguments), "--judge", str(write_preset(self.folder))]
        words += ["--base-url", self.url, "--ledger", str(self.folder / "replies.sqlite")]
        self._patch.setattr(sys, "argv", ["local-judge", *words])
        self._capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        printed = self._capsys.readouterr()
        return Ended(code, printed.out, printed.err)


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    with StubThread(StubPlan(answer=answer)) as server:
        yield Command(server.url, tmp_path, monkeypatch, capsys)


REPORT = ("--annotated", sample_folder() / "en1-shore-power.claims.jsonl", "--resamples", "10")


def test_a_report_is_measured_and_the_same_bytes_come_again(command: Command, tmp_path: Path) -> None:
    terse = tmp_path / "terse.yaml"
    terse.write_text("claims: {form: terse}\n", encoding="utf-8")
    first = command(*REPORT, "--config", terse, "--out", tmp_path / "first.json")
    assert first.code == 0, first.err
    titles = (
        "annotated reports: 82 claims",
        "extraction (minimum lexical similarity 0.35)",
        "back-tracking of B and C",
    )
    assert all(title in first.out for title in titles)
    again = command(*REPORT, "--config", terse, "--out", tmp_path / "again.json", "--json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "first.json").read_bytes()
    scores = json.loads(again.out)
    # A judge that believes everything catches nothing, and is right on every supported claim.
    groups = scores["figures"][1]["groups"]
    assert groups["version"]["altered"]["called_supported"]["value"] == 1.0
    assert scores["figures"][1]["figures"]["called_wrong"]["value"] == 0.0
    # One claim a sentence, 60 annotated claims in 57 sentences of eight paragraphs.
    assert scores["extraction"]["en"]["density"] == 57 / 8
    assert scores["extraction"]["en"]["recall_judged"] is None
    assert (scores["extraction"]["all"]["gold"], scores["extraction"]["all"]["sentences"]) == (60, 57)


def test_another_judge_decides_what_was_found(command: Command, tmp_path: Path) -> None:
    other = write_preset(tmp_path).rename(tmp_path / "other.yaml")
    other.write_text(other.read_text("utf-8") + "sampling: {temperature: 0.5}\n", encoding="utf-8")
    extraction = (*REPORT, "--part", "extraction", "--recall-judge")
    ended = command(*extraction, other)
    assert ended.code == 0, ended.err
    assert "annotated reports" not in ended.out and "back-tracking" not in ended.out
    # Every paragraph has claims, and the stub names the first of them for each annotated claim.
    assert "recall, judged by other" in ended.out and "1.000 (60/60)" in ended.out
    scores = json.loads(command(*extraction, write_preset(tmp_path), "--json").out)
    assert (scores["recall_judge"], len(scores["recalled"]), scores["recalls_failed"]) == ("stub", 60, 0)


def test_one_part_alone_of_the_sample(command: Command) -> None:
    ended = command("--annotated", "sample", "--part", "verification", "--resamples", "10")
    assert ended.code == 0 and "annotated reports: 316 claims; positive: supported" in ended.out
    assert "extraction" not in ended.out and "back-tracking" not in ended.out


def test_mistakes_are_one_line(command: Command, write: Write) -> None:
    ended = command(*REPORT, "--part", "speed")
    assert ended.code == 1 and ended.err.startswith("local-judge: --part speed: ")
    assert ended.err.endswith(" verification, extraction, backtracking, coverage\n")
    for words, says in (((), "no labelled claims"), (("--annotated", write()), "--snapshot")):
        ended = command(*words)
        assert ended.code == 1 and says in ended.err and ended.err.count("\n") == 1


def test_what_is_missing_ends_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with StubThread(StubPlan(answer=lambda asked: "no JSON")) as server:
        ended = Command(server.url, tmp_path, monkeypatch, capsys)(
            *("--annotated", sample_folder() / "zh1-rain-gardens.claims.jsonl", "--verifier", "grouped"),
            *("--part", "verification", "--resamples", "10"),
        )
    assert ended.code == 3
    assert ended.err.endswith(f"Missing: 78 verdicts. {ASKS_AGAIN}\n")
