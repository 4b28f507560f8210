"""`local-judge lab plant`: files that `verify` and `run` take."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from indexes.making.importing import import_pages
from local_judge.demo.outcome import sample_folder
from local_judge.lab.annotations.load import sample_folder as annotated_folder
from local_judge.lab.planting.commands import read_planted_claims, read_planted_flaws
from local_judge.lab.planting.flaws.flaws import FLAWS
from local_judge.runs.execution.verify import load_claim_rows
from local_judge.runs.planning.inputs import load_reports
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, write_preset
from .conftest import Command

REPORT = sample_folder() / "report.md"


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("annotated") / "pages"
    import_pages(annotated_folder() / "pages", out, workers=0)
    return out


def test_a_snapshot_gives_claims_for_verify_and_the_truth_apart(
    command: Command, frozen: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = command(
        "lab", "plant", frozen, "--out", out, "--n", 16, "--kinds", "number,date", "--kinds", "foreign"
    )
    assert ended.code == 0 and "number" in ended.out and "true" in ended.out and "negation" not in ended.out
    rows, planted = load_claim_rows(out / "claims.jsonl"), read_planted_claims(out)
    assert [(row.id, row.claim, row.url) for row in rows] == [(one.id, one.claim, one.url) for one in planted]
    assert {one.kind for one in planted} == {"number", "date", "foreign", None}
    assert set(json.loads((out / "claims.jsonl").read_text().splitlines()[0])) == {"id", "claim", "url"}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["settings"]["seed"] == 0 and len(summary["snapshot"]) == 64
    before = (out / "planted.jsonl").read_bytes()
    assert (
        command("lab", "plant", frozen, "--out", out, "--n", 16, "--kinds", "foreign,number,date").code == 0
    )
    assert (out / "planted.jsonl").read_bytes() == before


def test_a_report_gives_itself_and_its_twins_for_run(command: Command, tmp_path: Path) -> None:
    tasks = sample_folder() / "tasks.jsonl"
    ended = command("lab", "plant", REPORT, "--tasks", tasks, "--out", tmp_path / "out", "--seed", 4)
    assert ended.code == 0 and ended.err == ""
    reports, flaws = load_reports([tmp_path / "out" / "reports.jsonl"]), read_planted_flaws(tmp_path / "out")
    assert [report.id for report in reports] == ["report", *(f"report~{kind}" for kind in FLAWS)]
    assert reports[0].content == REPORT.read_bytes()
    assert {report.task_id for report in reports} == {"report"} and all(report.task for report in reports)
    assert [flaw.id for flaw in flaws] == [report.id for report in reports[1:]]


def test_a_judge_may_put_true_claims_in_other_words(command: Command, frozen: Path, tmp_path: Path) -> None:
    preset = write_preset(tmp_path)
    with StubThread(StubPlan(answer=answer)) as server:
        ended = command(
            "lab",
            "plant",
            frozen,
            "--out",
            tmp_path / "out",
            "--n",
            8,
            "--judge",
            preset,
            "--base-url",
            server.url,
        )
    # the stub's sentence has none of the names: all claims stay word for word, and the reason is said
    assert ended.code == 0 and "left word for word: " in ended.out
    assert (tmp_path / "out" / "ledger.sqlite").is_file()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--kinds", "colour"], "--kinds colour: .* contradiction, moved_citations"),
        (["--n", "5"], "--n is for a snapshot; "),
        (["--share", "2"], r"options: share .*at most 1 \(got 2\.0\)"),
        (["--base-url", "http://x.example"], "--base-url is for a snapshot; "),
    ],
)
def test_mistakes_with_reports_end_in_one_line(
    command: Command, tmp_path: Path, arguments: list[str], line: str
) -> None:
    ended = command("lab", "plant", REPORT, "--out", tmp_path / "out", *arguments)
    assert ended.code == 1 and re.search(line, ended.line())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--kinds", "padding"], "--kinds padding: .* number, date"),
        (["--languages", "fr"], "--languages fr: .* en, zh"),
        (["--padding", "1"], "--padding is for reports; "),
        (["--n", "1"], r"options: n .*at least 2 \(got 1\)"),
        (
            ["--base-url", "http://x.example"],
            "--base-url, .*--ledger need .*--judge",
        ),
    ],
)
def test_mistakes_with_snapshots_end_in_one_line(
    command: Command, frozen: Path, tmp_path: Path, arguments: list[str], line: str
) -> None:
    ended = command("lab", "plant", frozen, "--out", tmp_path / "out", *arguments)
    assert ended.code == 1 and re.search(line, ended.line())


def test_an_unreadable_report_is_named_and_the_others_are_planted(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.md").write_bytes(REPORT.read_bytes())
    (folder / "b.md").write_bytes(b"")
    ended = command("lab", "plant", folder, "--out", tmp_path / "out", "--kinds", "padding")
    assert ended.code == 1 and re.search(r"\bb: .* is empty", ended.out)
    assert [flaw.id for flaw in read_planted_flaws(tmp_path / "out")] == ["a~padding"]
