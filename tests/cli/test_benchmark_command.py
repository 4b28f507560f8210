"""`local-judge lab benchmark-verifier` from end to end."""

from __future__ import annotations

import json
from pathlib import Path

from tests.stub_server import StubPlan

from ..lab.verifier_benchmark.conftest import ROWS, write_rows
from ..stub_thread import StubThread, answer, leaning
from .conftest import Command


def test_verifiers_stand_side_by_side_and_nothing_is_asked_twice(
    command: Command, preset: Path, tmp_path: Path
) -> None:
    labelled, out = write_rows(tmp_path / "mill.jsonl", ROWS), tmp_path / "benchmark.json"
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as server:
        given = [
            "lab",
            "benchmark-verifier",
            labelled,
            "--judge",
            preset,
            "--base-url",
            server.url,
            "--out",
            out,
        ]
        given += ["--verifier", "scored", "--verifier", "grouped", "--resamples", "10", "--details"]
        first = command(*given)
        asked, written = len(server.chats), out.read_bytes()
        again = command(*given)
        assert (len(server.chats), out.read_bytes()) == (asked, written)
    assert (first.code, first.err) == (0, "")
    assert "mill: 4 claims; positive: supported" in first.out
    for word in (
        "word overlap",
        "scored",
        "grouped",
        "AUC",
        "balanced accuracy",
        "calls per claim",
        "only first right",
    ):
        assert word in first.out
    assert again.out == first.out
    data = json.loads(written)
    assert [one["verifier"] for one in data["figures"]] == ["word overlap", "scored", "grouped"]
    assert [one["id"] for one in data["answers"]["scored"]] == [row["id"] for row in ROWS]
    (compared,) = data["compared"]
    assert (compared["verifiers"], compared["found"]["n"]) == (["scored", "grouped"], 4)


def test_the_baseline_needs_no_judge(command: Command, tmp_path: Path) -> None:
    labelled = write_rows(tmp_path / "mill.jsonl", ROWS)
    ended = command("lab", "benchmark-verifier", labelled, "--json")
    (one,) = json.loads(ended.out)["figures"]
    assert (ended.code, one["verifier"], one["n"]) == (0, "word overlap", 4)
    assert one["why_not_fitted"]
    shown = command("lab", "benchmark-verifier", labelled, "--partial", "left_out")
    assert "mill: 3 claims, 1 partial left out; positive: " in shown.out
    # The claims are of one document.
    assert "mill, word overlap: the threshold is 0.5, since none can be fitted: " in shown.out


def test_text_of_files_reaches_the_terminal_without_control_characters(
    command: Command, tmp_path: Path
) -> None:
    hostile = {"set": "\x1b[2Jevil\nset [red]", "supporting": [["Not on the page."]]}
    labelled = write_rows(tmp_path / "mill.jsonl", [{**row, **hostile} for row in ROWS])
    ended = command("lab", "benchmark-verifier", labelled)
    assert ended.code == 0 and "\x1b" not in ended.out
    notes = [line for line in ended.out.splitlines() if "evil" in line and "threshold" in line]
    assert len(notes) == 1 and "evil" in notes[0] and "set [red], word overlap" in notes[0]
    assert "set [red]: 4 claims with `supporting` text that does not occur on its page" in ended.out


def test_bad_arguments_are_one_line(command: Command, preset: Path, tmp_path: Path) -> None:
    labelled = write_rows(tmp_path / "mill.jsonl", ROWS)
    by_url = write_rows(
        tmp_path / "url.jsonl", [{"claim": "A", "url": "https://a.example/", "label": "partial"}]
    )
    base = ["lab", "benchmark-verifier"]
    no_claims = tmp_path / "no_claims.yaml"
    no_claims.write_text("protocols: [fact]\n")
    judge = ["--judge", preset, "--base-url", "http://127.0.0.1:9/v1", "--ledger", tmp_path / "l.sqlite"]
    prompts = ["--prompts", f"original={tmp_path}"]
    for words, says in (
        ([labelled, *judge, "--verifier", "best"], "--verifier best: no such verifier"),
        ([labelled, *judge, "--verifier", "fact"], "name their checkout with --prompts original=PATH"),
        (
            [labelled, *judge, "--verifier", "dream", *prompts],
            "no published prompt of it verifies given claims",
        ),
        ([labelled, *judge, "--verifier", "fact", *prompts], "no checkout of DeepResearch Bench"),
        ([labelled, *judge, *prompts], "--prompts: no verifier asks with them"),
        ([labelled, *judge, "--verifier", "near:evidence_tokens"], "'evidence_tokens' is not KEY=VALUE"),
        ([labelled, *judge, "--verifier", "near:evidence_token=9"], "evidence_token"),
        ([labelled, *judge, "--verifier", "near:evidence_tokens=9"], "evidence_tokens"),
        ([labelled, "--verifier", "near", "--verifier", "near"], "a second verifier with the name 'near'"),
        ([labelled, "--verifier", no_claims], "no_claims.yaml: the key `claims` is missing"),
        ([by_url], "need a snapshot"),
        ([labelled, "--snapshot", tmp_path / "none"], "--snapshot: "),
        ([tmp_path / "none.jsonl"], "no such file"),
    ):
        ended = command(*base, *words)
        assert ended.code == 1 and says in ended.line(), (words, ended)


def test_settings_make_a_variant_of_a_verifier(command: Command, tmp_path: Path) -> None:
    text = " ".join(f"Sentence {n} is about the mill." for n in range(900)) + " The wheel is oak."
    row = {**ROWS[0], "claim": "The wheel is oak.", "evidence": text, "supporting": [["The wheel is oak."]]}
    labelled = write_rows(tmp_path / "long.jsonl", [row])
    ended = command(
        "lab",
        "benchmark-verifier",
        labelled,
        *("--verifier", "scored", "--verifier", "scored:evidence_tokens=400,passages_per_claim=1"),
        "--json",
    )
    whole, short = json.loads(ended.out)["evidence"]
    assert (short["verifier"], short["sentence_recall"]) == (
        "scored:evidence_tokens=400,passages_per_claim=1",
        1.0,
    )
    assert short["tokens"] < 500 < whole["tokens"]


def test_a_sample_is_the_same_each_time(command: Command, tmp_path: Path) -> None:
    labelled = write_rows(tmp_path / "many.jsonl", [{**ROWS[n % 4], "id": str(n)} for n in range(40)])
    ended = [command("lab", "benchmark-verifier", labelled, "--sample", "12", "--json").out for _ in range(2)]
    assert ended[0] == ended[1]
    assert json.loads(ended[0])["figures"][0]["n"] == 12


def test_claims_to_fit_on_are_asked_only_of_verifiers_that_are_fitted(
    command: Command, preset: Path, tmp_path: Path
) -> None:
    labelled = write_rows(tmp_path / "mill.jsonl", ROWS)
    more = [{**row, "evidence": "Another text.", "label": "unsupported"} for row in ROWS]
    with StubThread(StubPlan(answer=answer, alternatives=leaning)) as server:

        def asked(verifier: str, *words: str | Path) -> int:
            before = len(server.chats)
            ended = command(
                *("lab", "benchmark-verifier", labelled, "--verifier", verifier, "--judge", preset),
                *("--base-url", server.url, "--ledger", tmp_path / "l.sqlite", "--resamples", "10", *words),
            )
            assert ended.code == 0, ended.err
            return len(server.chats) - before

        fit = ("--calibrate-with", write_rows(tmp_path / "more.jsonl", more))
        assert (asked("grouped"), asked("grouped", *fit)) == (1, 0)
        assert asked("scored") > 0 and asked("scored", *fit) > 0
