"""A run of FACT through the entry point: scored again, shown, exported."""

from __future__ import annotations

import json
from pathlib import Path

from ..protocols.fact.fact_cases import findings, write_run
from ..rubric_run import record
from .conftest import Command


def test_scores_over_all_reports_are_shown(command: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, {"a": findings("ssuf"), "b": findings("sd")}, record("a"), record("b"))
    rescored = command("rescore", run)
    assert (rescored.code, rescored.err) == (0, "")
    assert "fact (paper profile)" in rescored.out
    assert command("show", run).out == rescored.out
    assert "fact, 2 reports together" in command("show", run, "--all-scores").out
    over = json.loads(command("show", run, "--json").out)["aggregates"]
    assert [(row["system"], row["profile"], row["n_reports"]) for row in over] == [
        (None, "paper", 2),
        (None, "upstream", 2),
    ]
    # (2/3 + 1/2) / 2 by the paper; (2 + 1) / (3 + 1) by the code.
    assert [row["scores"][0]["score"]["value"] for row in over] == [(2 / 3 + 1 / 2) / 2, 3 / 4]
    one = command("show", run, "--report", "a").out
    assert "Citation Accuracy" in one and "judge failed" in one


def test_export(command: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, {"a": findings("sf")}, record("a", task="5"))
    ended = command("export", run, tmp_path / "out", "--format", "fact")
    written, failed = ended.out.splitlines()
    assert written.startswith(f"4 files of 1 of 1 report in {tmp_path / 'out'}; samples.json ")
    assert failed.startswith("1 pair failed, ")
    row = json.loads((tmp_path / "out/validated.jsonl").read_text(encoding="utf-8"))
    assert row["id"] == 5
