"""Runs with published prompts beside runs with those of this package: every figure of the comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..stub_thread import StubThread, write_preset
from .conftest import Command
from .test_prompts_of_a_checkout import EVALUATOR, PROMPTS, digest_in

REPORT = (
    "# Harlow Mill\n\nHarlow Mill in Kent employed 48 people in 1980 and sold 200 tonnes of flour. It was built in "
    "1974 by the town of Harlow for 8 million pounds.\n\n## Flood\n\nThe flood of 1990 closed Harlow Mill for 12 "
    "weeks. The county of Kent paid 3 million pounds for a higher weir in 1992.\n"
)
REQUEST = "What did Harlow Mill cost?"
NAMES = {
    "Coverage": "general",
    "Insight": "general",
    "Instruction following": "general",
    "Clarity": "general",
    "Cost": "specific",
}


def answer(asked: Mapping[str, Any]) -> str:
    """With published prompts, a longer report gets 5 instead of 7; otherwise each report gets 8."""
    text: str = asked["messages"][-1]["content"]
    if text.startswith("Score "):
        listed = json.loads(text[text.index("by [") + 3 : text.rindex(" for ")])
        score = 5 if len(text[len("Score ") : text.index(" by [")]) > len(REPORT) else 7
        return json.dumps(
            [{"criterion": one["criterion"], "analysis": "", "report_score_0_to_10": score} for one in listed]
        )
    reply = json.loads(fill(asked))
    return json.dumps({name: {**one, "score": 8.0} for name, one in reply.items()})


@pytest.fixture
def runs(command: Command, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A run with the prompts of this package, one with those of a checkout, and the planted flaws of both."""
    folder = tmp_path / "checkout/point_quality/deepresearcharena"
    for name, text in (
        ("prompts/pointwise_prompts.py", PROMPTS),
        ("evaluator/pointwise_evaluator.py", EVALUATOR),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    row = {"id": "1", "task_id": "1", "prompt": REQUEST, "article": REPORT}
    (tmp_path / "reports.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "tasks.jsonl").write_text(json.dumps({"id": "1", "prompt": REQUEST}), encoding="utf-8")
    dimensions = [
        {
            "name": name,
            "kind": kind,
            "weight": 1.0,
            "criteria": [{"criterion": f"About {name}", "explanation": "", "weight": 1.0}],
        }
        for name, kind in NAMES.items()
    ]
    drafted = {"task_id": "1", "task": REQUEST, "dimensions": dimensions}
    (tmp_path / "dimensions.jsonl").write_text(json.dumps(drafted), encoding="utf-8")
    ended = command(
        *("lab", "plant", tmp_path / "reports.jsonl", "--tasks", tmp_path / "tasks.jsonl"),
        *("--out", tmp_path / "planted", "--kinds", "contradiction,padding", "--places", "1"),
    )
    assert ended.code == 0, ended.err
    with StubThread(StubPlan(answer=answer)) as server:
        options = (
            *("run", tmp_path / "planted/reports.jsonl"),
            *("--tasks", tmp_path / "tasks.jsonl", "--dimensions", tmp_path / "dimensions.jsonl"),
            *("--protocol", "deepresearcheval", "--set", "deepresearcheval.parts=[quality]"),
            *(
                "--judge",
                write_preset(tmp_path),
                "--base-url",
                server.url,
                "--ledger",
                tmp_path / "ledger.sqlite",
            ),
        )
        published = (
            *options,
            "--out",
            tmp_path / "published",
            "--prompts",
            f"original={tmp_path / 'checkout'}",
        )
        digest = digest_in(command(*published).line())
        for given in ((*options, "--out", tmp_path / "own"), (*published, "--allow-prompts", digest)):
            ended = command(*given)
            assert ended.code == 0, ended.err
    return tmp_path / "own", tmp_path / "published", tmp_path / "planted"


def test_comparison(command: Command, runs: tuple[Path, Path, Path]) -> None:
    own, published, planted = runs
    ended = command("lab", "compare-prompts", own, published, "--flaws", planted, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert [one["prompts"]["deepresearcheval"].partition(" (")[0] for one in found["runs"]] == [
        "this package",
        "DeepResearchEval",
    ]
    quality = next(one for one in found["scores"]["scores"] if one["path"] == ["quality"])["difference"]
    # The report and two longer copies: 7, 5, 5 against 8.
    assert (quality["n"], quality["first"], quality["second"]) == (3, 8.0, pytest.approx(17 / 3))
    by_metric = {one["metric"]: one for one in found["agreement"]}
    assert by_metric["coverage"]["n_items"] == 3
    assert by_metric["coverage"]["alike"]["value"] == 0
    assert by_metric["coverage"]["difference"]["value"] == pytest.approx(7 / 3)  # 1, 3 and 3
    flaws = {one["flaw"]: one for one in found["flaws"]}
    assert {name: (one["n"], one["right"], one["only"]) for name, one in flaws.items()} == {
        "contradiction": (1, [0, 1], [0, 1]),  # it should fall: only the published prompts notice
        "padding": (1, [1, 1], [0, 0]),  # it should not rise
    }
    tokens = [one["tokens"] for one in found["runs"]]
    assert [one["replies"] for one in tokens] == [15, 15]  # five dimensions of three reports
    assert all(one["computed"] > 0 and one["generated"] > 0 for one in tokens)
    assert [one["failures"] for one in found["runs"]] == [{}, {}]


def test_table(command: Command, runs: tuple[Path, Path, Path]) -> None:
    own, published, planted = runs
    shown = command("lab", "compare-prompts", own, published, "--flaws", planted).out
    assert "own: prompts of this package\n" in shown
    assert "published: prompts of DeepResearchEval (unknown revision" in shown
    assert re.search(r"quality falls after contradiction +│ 0 of 1 │ +1 of 1 │", shown)
    assert "failures" in shown
    assert re.search(r"what differs: .*config\.prompts", shown)


def test_runs_that_cannot_be_compared(
    command: Command, tmp_path: Path, runs: tuple[Path, Path, Path]
) -> None:
    own, published, planted = runs
    assert "twice" in command("lab", "compare-prompts", own, own).line()
    assert "planted.jsonl" in command("lab", "compare-prompts", own, published, "--flaws", tmp_path).line()
    (tmp_path / "ledger.sqlite").unlink()
    shown = command("lab", "compare-prompts", own, published, "--flaws", planted)
    assert shown.code == 0, shown.err
    assert "tokens of own are unknown" in shown.out
