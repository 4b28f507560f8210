"""Costs of a sweep's runs, beside the settings in which they differ; the retrieval ablation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from local_judge.runs.planning.config import varied_settings
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.sweeps.file import expanded, load_sweep_file

from ..stub_thread import StubThread
from .conftest import ROOT, Command
from .test_interrupted_run import distinct

ABLATION = ROOT / "configs" / "sweeps" / "retrieval.yaml"


def test_settings_in_which_runs_differ_have_the_names_of_set() -> None:
    first = {"protocols": ["deer"], "claims": {"ranker": "bm25"}, "settings": {"deer": {"parts": ["a", "b"]}}}
    other = {"protocols": ["deer"], "claims": {"ranker": "dense"}, "settings": {}, "reasks": 2}
    assert varied_settings([first, other]) == [
        {"claims.ranker": "bm25", "deer.parts": '["a", "b"]', "settings": "–", "reasks": "–"},
        {"claims.ranker": "dense", "deer.parts": "–", "settings": "{}", "reasks": "2"},
    ]
    assert varied_settings([first, first]) == [{}, {}]
    assert varied_settings([]) == []


def test_each_setting_of_the_retrieval_ablation_changes_one_value() -> None:
    file = load_sweep_file(ABLATION, {})
    runs = expanded(file, [RawReport("a", b"A.", None, "a.md")])
    reference, *others = varied_settings([run.file.config.model_dump(mode="json") for run in runs])
    assert reference == {
        "claims.batch_sentences": "20",
        "claims.claims_per_call": "20",
        "claims.evidence_tokens": "3000",
        "claims.passages_per_claim": "2",
        "claims.passage_tokens": "1000",
        "claims.ranker": "dense",
    }
    assert len(others) == 10
    assert all(len(one.items() - reference.items()) == 1 for one in others)


def test_cost_of_a_run_is_that_of_the_run_alone(
    command: Command, tmp_path: Path, snapshot: Path, server: StubThread, preset: Path, report: Path
) -> None:
    given = {
        "reports": [str(report)],
        "snapshot": str(snapshot),
        "base_urls": [server.url],
        "settings": {"deer": {"parts": ["verification"]}},
        "sweep": {
            "judges": [str(preset)],
            "settings": {
                "default": {},
                "brief": {"claims": {"evidence_tokens": 200, "passages_per_claim": 1}},
            },
        },
    }
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump({**given, "out": "all"}, sort_keys=False))
    assert command("sweep", tmp_path / "sweep.yaml").code == 0
    ended = command("show", tmp_path / "all", "--cost", "--json")
    default, brief = json.loads(ended.out)["cost"]
    assert default["settings"] == {"claims.evidence_tokens": "6000", "claims.passages_per_claim": "4"}
    assert brief["settings"] == {"claims.evidence_tokens": "200", "claims.passages_per_claim": "1"}
    # The extraction is one call, which both runs use, and each of the two pages is shown whole and in part.
    assert len(distinct(server.chats)) == default["tokens"]["replies"] + brief["tokens"]["replies"] - 1
    assert 0 < brief["tokens"]["prompt"] < default["tokens"]["prompt"]

    before = len(server.chats)
    alone = ("run", report, "--snapshot", snapshot, "--judge", preset, "--base-url", server.url)
    assert command(*alone, "--set", "deer.parts=[verification]", "--out", tmp_path / "alone").code == 0
    assert len(server.chats) - before == default["tokens"]["replies"]
    [cost] = json.loads(command("show", tmp_path / "alone", "--cost", "--json").out)["cost"]
    assert (cost["settings"], cost["tokens"]) == ({}, default["tokens"])

    shown = command("show", tmp_path / "all", "--cost").out
    assert "evidence tokens" in shown and "generated tokens" in shown
    grouped = command("show", tmp_path / "all", "--by", "claims.passages_per_claim,run").out
    assert grouped.startswith("deer by claims.passages_per_claim, run")


def test_cost_of_a_run_needs_its_ledger(
    command: Command, tmp_path: Path, snapshot: Path, server: StubThread, preset: Path, report: Path
) -> None:
    run = tmp_path / "run"
    given = ("run", report, "--snapshot", snapshot, "--judge", preset, "--base-url", server.url)
    assert command(*given, "--set", "deer.parts=[verification]", "--out", run).code == 0
    (run / "ledger.sqlite").unlink()
    assert "ledger" in command("show", run, "--cost").line()
    assert command("show", run, "--cost", "--by", "system").code == 1


IGNORED = (
    *(
        "--by=system",
        "--report=a",
        "--score=overall",
        "--mean",
        "--rank",
        "--labels",
        "--attributes=tasks.jsonl",
    ),
    *("--claims", "--items", "--differences", "--reports", "--all-scores", "--bounds", "--profile=paper"),
    "--judge=a",
)


@pytest.mark.parametrize("option", IGNORED)
def test_an_option_without_effect_on_costs_is_refused(command: Command, tmp_path: Path, option: str) -> None:
    line = command("show", tmp_path, "--cost", option).line()
    assert "--cost prints the cost of whole runs: it allows only" in line
