"""`local-judge judge calibrate`, and what runs make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_judge.lab.annotations.load import sample_folder
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified
from serving.types import EngineIdentity
from tests.stub_server import StubPlan

from ..known_claims import write_known
from ..stub_thread import StubThread, answer, leaning, write_preset
from .conftest import Command


@pytest.fixture
def server() -> Iterator[StubThread]:
    """A judge that leans to yes."""
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as running:
        yield running


def asked(server: StubThread) -> int:
    return len(server.chats)


def test_a_judge_is_calibrated_and_asked_nothing_twice(
    command: Command, snapshot: Path, server: StubThread, preset: Path, tmp_path: Path
) -> None:
    given: list[str | Path] = [
        "judge",
        "calibrate",
        write_known(tmp_path),
        "--snapshot",
        snapshot,
        "--judge",
        preset,
    ]
    given += ["--base-url", server.url, "--ledger", tmp_path / "l.sqlite", "--resamples", "50"]
    out = tmp_path / "calibration.json"
    ended = command(*given, "--out", out)
    assert (ended.code, ended.err) == (0, "")
    # One question a claim, and no other: which of the untrue ones are contradicted is not asked.
    assert asked(server) == 20
    assert all(chat.json["max_tokens"] == 1 for chat in server.chats)
    prompt = server.chats[0].json["messages"][1]["content"]
    assert "\n\nThe page says:\n```\n" in prompt
    assert prompt.endswith("some or all, what causes what. Answer Yes or No.")
    assert "all pages: 20 claims, 10 true, on 5 pages; 0 without an answer" in ended.out
    assert "en: the pooled calibration counts: 20 claims (10 true) on 5 pages" in ended.out
    file = json.loads(out.read_text())
    [one] = file["calibrations"]
    assert (one["language"], one["n"], one["n_true"], one["n_pages"]) == ("all", 20, 10, 5)
    assert one["after"]["accuracy"] >= one["before"]["accuracy"]
    again = command(*given, "--json")
    assert asked(server) == 20
    said: dict[str, Any] = json.loads(again.out)
    assert said["calibrations"] == file["calibrations"]
    assert said["reports"][0]["before"]["accuracy"]["value"] == one["before"]["accuracy"]
    assert (said["n_rows"], said["n_unread"], said["failures"]) == (20, 0, {})


def judge_digest(identity: dict[str, Any]) -> str:
    return Identified.of(EngineIdentity.model_validate(identity)).digest


def calibrated(
    command: Command, snapshot: Path, server: StubThread, preset: Path, folder: Path
) -> dict[str, Any]:
    ended = command(
        *("judge", "calibrate", write_known(folder), "--snapshot", snapshot, "--judge", preset),
        *("--base-url", server.url, "--ledger", folder / "l.sqlite", "--resamples", "0"),
        *("--out", folder / "calibration.json"),
    )
    assert ended.code == 0
    return json.loads((folder / "calibration.json").read_text())["calibrations"][0]


def test_an_audit_uses_the_calibrations_of_the_run(
    command: Command, snapshot: Path, server: StubThread, preset: Path, report: Path, tmp_path: Path
) -> None:
    """A calibration that the ledger gets later is none of the run."""
    where = ("--snapshot", snapshot, "--judge", preset, "--base-url", server.url)
    run = (
        "run",
        report,
        *where,
        "--ledger",
        tmp_path / "l.sqlite",
        "--protocol",
        "fact",
        "--method",
        "scored",
    )
    assert command(*run, "--out", tmp_path / "before").code == 0
    assert calibrated(command, snapshot, server, preset, tmp_path)["n"]
    assert command(*run, "--out", tmp_path / "after").code == 0
    used = [
        len(json.loads((tmp_path / name / "manifest.json").read_bytes())["judges"][0]["calibrations"])
        for name in ("before", "after")
    ]
    assert used == [0, 1]
    for name in ("before", "after"):
        ended = command("audit", tmp_path / name)
        assert ended.code == 0, ended.out


def test_a_run_takes_a_calibration_from_a_file_and_then_from_its_ledger(
    command: Command, snapshot: Path, server: StubThread, preset: Path, report: Path, tmp_path: Path
) -> None:
    one = calibrated(command, snapshot, server, preset, tmp_path)
    run: list[str | Path] = ["run", report, "--snapshot", snapshot, "--judge", preset]
    run += ["--base-url", server.url, "--method", "scored", "--set", "deer.parts=[verification]", "--json"]
    given = ["--calibration", tmp_path / "calibration.json"]
    planned = command(*run, "--out", tmp_path / "run", *given, "--dry-run")
    assert planned.code == 0 and not (tmp_path / "run").exists()
    assert command(*run, "--out", tmp_path / "run", *given).code == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    [judge] = manifest["judges"]
    [recorded] = judge["calibrations"]
    assert recorded["slope_yes"] == one["slope_yes"] and recorded["threshold"] == one["threshold"]
    assert recorded["data"] == one["data"] and recorded["seed"] == 0
    claims = json.loads((tmp_path / "run" / "claims.jsonl").read_text())
    verdicts = claims["verdicts"]
    assert verdicts and all(verdict["calibration"] == recorded["id"] for verdict in verdicts)
    assert all(verdict["confidence"] != verdict["confidence_raw"] for verdict in verdicts)
    with Ledger.open(tmp_path / "run" / "ledger.sqlite", read_only=True) as ledger:
        [kept] = ledger.calibrations(judge_digest(judge["identity"]))
    assert kept.id == recorded["id"]
    # The same command without the file finds it in the run's ledger, and asks nothing.
    before = asked(server)
    assert command(*run, "--out", tmp_path / "run").code == 0
    assert asked(server) == before
    # Verdicts are stored with their labels: scoring them again needs neither judge nor calibration.
    assert command("rescore", tmp_path / "run").code == 0
    # With its ledger, verify takes it without being told; without the calibration nothing is changed.
    bare = command(*run, "--out", tmp_path / "bare")
    assert bare.code == 0
    assert json.loads((tmp_path / "bare" / "manifest.json").read_text())["judges"][0]["calibrations"] == []
    # What was begun without a calibration is not continued with one.
    refused = command(*run, "--out", tmp_path / "bare", *given)
    assert (refused.code, "run with different judges" in refused.line()) == (1, True)
    assert command(*run, "--out", tmp_path / "bare").code == 0


def test_verify_says_by_which_calibration(
    command: Command, snapshot: Path, server: StubThread, preset: Path, tmp_path: Path
) -> None:
    one = calibrated(command, snapshot, server, preset, tmp_path)
    claims = write_known(tmp_path)
    verify: list[str | Path] = ["verify", claims, "--snapshot", snapshot, "--judge", preset, "--json"]
    verify += ["--base-url", server.url, "--method", "scored", "--ledger"]
    shared = command(*verify, tmp_path / "l.sqlite")
    rows = [json.loads(line) for line in shared.out.splitlines()]
    given = command(*verify, tmp_path / "other.sqlite", "--calibration", tmp_path / "calibration.json")
    others = [json.loads(line) for line in given.out.splitlines()]
    for found in (rows, others):
        assert len({row["calibration"] for row in found}) == 1
        assert all(row["threshold"] == one["threshold"] for row in found)
        assert all((row["confidence"] >= row["threshold"]) == (row["label"] == "supported") for row in found)
    assert [row["confidence"] for row in rows] == [row["confidence"] for row in others]
    known = [json.loads(line)["true"] for line in claims.read_text().splitlines()]
    right = sum((row["label"] == "supported") == true for row, true in zip(rows, known, strict=True))
    raw = sum((row["confidence_raw"] >= 0.5) == true for row, true in zip(rows, known, strict=True))
    assert right > raw


def test_the_calibration_of_another_judge_is_refused(
    command: Command, snapshot: Path, server: StubThread, preset: Path, report: Path, tmp_path: Path
) -> None:
    calibrated(command, snapshot, server, preset, tmp_path)
    (tmp_path / "other").mkdir()
    other = write_preset(tmp_path / "other")
    other.write_text(other.read_text().replace("vllm: {}", "vllm: {dtype: float16}"))
    run: list[str | Path] = [
        "run",
        report,
        "--snapshot",
        snapshot,
        "--judge",
        other,
        "--base-url",
        server.url,
    ]
    run += ["--method", "scored", "--set", "deer.parts=[verification]", "--out", tmp_path / "run"]
    ended = command(*run, "--calibration", tmp_path / "calibration.json")
    assert ended.code == 1
    assert "fitted on a judge other than 'stub' (different: options)" in ended.line()
    # Nor does its ledger give it one.
    assert command(*run, "--ledger", tmp_path / "l.sqlite").code == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["judges"][0]["calibrations"] == []


def test_the_calibration_of_other_words_is_refused(
    command: Command, snapshot: Path, server: StubThread, preset: Path, report: Path, tmp_path: Path
) -> None:
    calibrated(command, snapshot, server, preset, tmp_path)
    file = tmp_path / "calibration.json"
    data = json.loads(file.read_text())
    data["calibrations"][0]["prompt"] = "0" * 64
    file.write_text(json.dumps(data))
    ended = command(
        *("run", report, "--snapshot", snapshot, "--judge", preset, "--base-url", server.url),
        *("--method", "scored", "--set", "deer.parts=[verification]", "--out", tmp_path / "run"),
        *("--calibration", file),
    )
    assert (ended.code, "fitted on another wording of the question 'supported'" in ended.line()) == (1, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "not a file of calibrations (calibrations is missing)"),
        ("[", "not a file of calibrations"),
        (
            '{"calibrations": []}',
            "(calibrations must not be",
        ),
    ],
)
def test_a_file_that_is_none_is_refused(
    command: Command, snapshot: Path, server: StubThread, preset: Path, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "c.json"
    file.write_text(text)
    ended = command(
        *("verify", write_known(tmp_path), "--snapshot", snapshot, "--judge", preset),
        *("--base-url", server.url, "--ledger", tmp_path / "l.sqlite", "--calibration", file),
    )
    assert (ended.code, said in ended.line()) == (1, True)


def test_what_cannot_be_calibrated_ends_in_one_line(
    command: Command, snapshot: Path, preset: Path, tmp_path: Path
) -> None:
    with StubThread(StubPlan(answer=answer)) as yes_man:
        given: list[str | Path] = ["--snapshot", snapshot, "--judge", preset, "--base-url", yes_man.url]
        given += ["--ledger", tmp_path / "l.sqlite"]
        constant = command("judge", "calibrate", write_known(tmp_path), *given)
        assert "all 20 claims" in constant.line() and "same" in constant.line()
        one_page = command("judge", "calibrate", write_known(tmp_path), *given, "--limit", "2")
        assert "every claim" in one_page.line() and "(n = 2)" in one_page.line()
        (tmp_path / "bare.jsonl").write_text('{"claim": "It is so.", "url": "https://a.example/"}')
        bare = command("judge", "calibrate", tmp_path / "bare.jsonl", *given)
        assert "bare.jsonl:1: no known format" in bare.line()
        assert {ended.code for ended in (constant, one_page, bare)} == {1}


def test_people_s_claims_are_fitted_on_with_the_pages_beside_them(
    command: Command, snapshot: Path, server: StubThread, preset: Path, tmp_path: Path
) -> None:
    sample = sample_folder()
    given: list[str | Path] = [
        "judge",
        "calibrate",
        write_known(tmp_path),
        "--snapshot",
        snapshot,
        "--judge",
        preset,
    ]
    given += ["--base-url", server.url, "--ledger", tmp_path / "l.sqlite", "--resamples", "20"]
    one = sample / "en2-school-lunch.claims.jsonl"
    ended = command(*given, "--annotated", one)
    assert (ended.code, ended.err) == (0, "")
    # 77 pairs of this report, and the 20 planted claims.
    assert asked(server) == 97
    assert "all pages: 97 claims, 45 true" in ended.out
    assert "planted: 20 claims, 10 true, on 5 pages; 0 without an answer" in ended.out
    assert "labelled: 77 claims, 35 true, on 4 pages; 0 " in ended.out
    twice = command(*given, "--annotated", one, "--annotated", one)
    assert twice.code == 1
    assert "is given twice" in twice.err and "en2-school-lunch/en2-03" in twice.err
    nowhere = command(*given, "--annotated", tmp_path)
    assert nowhere.code == 1
    assert f"{tmp_path}: no files NAME.claims.jsonl in it" in nowhere.err


def test_claims_labelled_by_people_are_fitted_on_with_planted_ones(
    command: Command, snapshot: Path, server: StubThread, preset: Path, tmp_path: Path
) -> None:
    """Each with the text that it rests on: the page of a URL, or the evidence in the row."""
    evidence = "The mill was built in 1904. It ground rye until the flood."
    rows = [
        {"claim": "The mill was built in 1904.", "evidence": evidence, "label": "supported"},
        {"claim": "The mill ground rye and oats.", "evidence": evidence, "label": "partial"},
        {"claim": "The mill burnt down.", "evidence": "https://mill.example/", "label": "unsupported"},
    ]
    labelled = tmp_path / "mill.jsonl"
    labelled.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge: list[str | Path] = ["--judge", preset, "--base-url", server.url, "--ledger", tmp_path / "l.sqlite"]
    given: list[str | Path] = ["judge", "calibrate", write_known(tmp_path), labelled, *judge]
    ended = command(*given, "--snapshot", snapshot, "--resamples", "20")
    assert (ended.code, ended.err) == (0, "")
    assert asked(server) == 22
    assert any(evidence in chat.json["messages"][1]["content"] for chat in server.chats)
    # The partial claim counts as false; the one whose evidence is an address is not asked about.
    assert "all pages: 22 claims, 11 true, on 6 pages; 0 without an answer" in ended.out
    assert "planted: 20 claims, 10 true, on 5 pages; 0 without an answer" in ended.out
    assert "labelled: 2 claims, 1 true, on 1 page; 0 without an answer" in ended.out
    assert "give --snapshot" in command(*given).line()
    of_evidence = command("judge", "calibrate", labelled, *judge, "--snapshot", snapshot)
    assert "every claim has its own `evidence`" in of_evidence.line()
    # A copy under another name counts once.
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(labelled.read_bytes())
    copied = command(*given, copy, "--snapshot", snapshot, "--resamples", "0")
    assert "all pages: 22 claims, 11 true, on 6 pages" in copied.out and asked(server) == 22
    assert "2 rows left out: claim and text are those of another row." in copied.out
    # The first three claims of each file.
    few = command(*given, "--snapshot", snapshot, "--resamples", "0", "--limit", "3", "--json")
    assert json.loads(few.out)["n_rows"] == 6
    twice = command(*given, labelled, "--snapshot", snapshot)
    assert "id '1' occurs twice" in twice.line() and "'mill'" in twice.line()


def test_claims_of_one_document_are_one_page(
    command: Command, server: StubThread, preset: Path, tmp_path: Path
) -> None:
    made = [
        {
            "claim": f"The boiler number {n} was built here." if n % 2 else f"Someone sold oven {n}.",
            "evidence": f"The boiler number {n} was built here.",
            "label": "supported" if n % 2 else "unsupported",
            "document": f"answer {n // 4}",
        }
        for n in range(12)
    ]
    labelled = tmp_path / "boilers.jsonl"
    labelled.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    ended = command(
        *("judge", "calibrate", labelled, "--judge", preset, "--base-url", server.url),
        *("--ledger", tmp_path / "l.sqlite", "--resamples", "0", "--json"),
    )
    assert ended.code == 0, ended.err
    after = json.loads(ended.out)["reports"][0]["after"]
    assert (after["n"], after["n_pages"]) == (12, 3)


def test_near_is_a_question_of_its_own(
    command: Command, snapshot: Path, server: StubThread, preset: Path, tmp_path: Path
) -> None:
    known, ledger, out = write_known(tmp_path), tmp_path / "l.sqlite", tmp_path / "near.json"
    judge: list[str | Path] = ["--judge", preset, "--base-url", server.url, "--ledger", ledger]
    given: list[str | Path] = [
        "judge",
        "calibrate",
        known,
        "--snapshot",
        snapshot,
        *judge,
        "--resamples",
        "20",
    ]
    ended = command(*given, "--view", "near", "--out", out)
    assert (ended.code, ended.err) == (0, "")
    prompt = server.chats[0].json["messages"][1]["content"]
    assert prompt.startswith("Is everything that the claim below states on the page, unchanged?")
    assert [one["question"] for one in json.loads(out.read_text())["calibrations"]] == ["supported_near"]
    verify: list[str | Path] = [
        "verify",
        known,
        "--snapshot",
        snapshot,
        *judge,
        "--method",
        "scored",
        "--json",
    ]
    by_page, near = command(*verify), command(*verify, "--view", "near")
    rows = [[json.loads(line) for line in one.out.splitlines()] for one in (by_page, near)]
    assert {row["calibration"] is None for row in rows[0]} == {True}
    assert {row["calibration"] is None for row in rows[1]} == {False}
    assert "fitted for the view near (question supported_near)" in ended.out
    given_other = command(*verify, "--calibration", out)
    assert given_other.code == 1
    assert f"--calibration {out}: fitted for another view than page; fit this one with" in given_other.err
    of_none = command(*verify[:-3], "--method", "grouped", "--calibration", out)
    assert (
        of_none.code == 1 and "claims are verified by grouped, which has nothing to calibrate" in of_none.err
    )
    grouped = command(*verify, "--view", "near", "--method", "grouped")
    assert grouped.code == 1
    assert "the view near is one of the method scored, not of grouped" in grouped.err
    wrong = command(*verify, "--view", "far")
    assert (wrong.code, "--view: " in wrong.err, "'far'" in wrong.err) == (1, True, True)
