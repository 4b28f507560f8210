"""Runs with prompts of a checkout of unknown version: refusal, admission, ensembles, resuming, bad replies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.stub_server import StubPlan

from ..stub_thread import StubThread, write_preset
from .conftest import Command, finish, start

PROMPTS = """
DIMENSION_GENERATION_PROMPT = "Name dimensions for {task_prompt}. Form: [{{}}]"
WEIGHT_GENERATION_PROMPT = "Weigh for {task_prompt}: {additional_dimensions_json}"
CRITERIA_GENERATION_PROMPT = "Criteria of {dimension_name} in {num_dimensions}, {meta_dimensions}, for {task_prompt}"
SCORING_PROMPT = "Score {report} by {criteria_of_one_dimension_json} for {task_prompt}"
"""
EVALUATOR = """
class Evaluator:
    def __init__(self):
        self.fixed_dims = {"coverage": "a", "insight": "b", "instruction_following": "c", "clarity": "d"}
"""
NAMES = ("coverage", "insight", "instruction_following", "clarity", "cost")


def reply(asked: Mapping[str, Any], score: object = 7) -> str:
    text: str = asked["messages"][0]["content"]
    if text.startswith("Name"):
        return json.dumps([{"meta_dimension_name": "Cost", "definition": "What it cost."}])
    if text.startswith("Weigh"):
        return json.dumps(dict.fromkeys(NAMES, 0.2))
    if text.startswith("Criteria"):
        return json.dumps([{"criterion": text.split()[2], "explanation": "e", "weight": 1}])
    name = json.loads(text[text.index("by [") + 3 : text.rindex(" for ")])[0]["criterion"]
    return json.dumps([{"criterion": name, "analysis": "So.", "report_score_0_to_10": score}])


@pytest.fixture
def options(tmp_path: Path) -> tuple[str | Path, ...]:
    """Options of a run with the prompts of a checkout."""
    folder = tmp_path / "checkout/point_quality/deepresearcharena"
    for name, text in (
        ("prompts/pointwise_prompts.py", PROMPTS),
        ("evaluator/pointwise_evaluator.py", EVALUATOR),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    report = {"id": "1", "prompt": "What did it cost?", "article": "# Mill\n\nIt cost 8 {million}."}
    (tmp_path / "ada.jsonl").write_text(json.dumps(report), encoding="utf-8")
    (tmp_path / "tasks.jsonl").write_text(
        json.dumps({"id": "1", "prompt": report["prompt"]}), encoding="utf-8"
    )
    return (
        *("run", tmp_path / "ada.jsonl", "--tasks", tmp_path / "tasks.jsonl", "--out", tmp_path / "run"),
        *("--protocol", "deepresearcheval", "--set", "deepresearcheval.parts=[quality]"),
        *("--judge", write_preset(tmp_path), "--prompts", f"original={tmp_path / 'checkout'}"),
    )


def digest_in(line: str) -> str:
    return line.partition("SHA-256 ")[2].partition(";")[0]


def quality(command: Command, run: Path, judge: str = "") -> dict[str, Any]:
    shown = json.loads(command("show", run, "--json", "--profile", "upstream").out)
    [report] = [
        one for one in shown["scores"] if one["profile"] == "upstream" and (one.get("judge") or "") == judge
    ]
    [found] = [one for one in report["scores"] if one["id"] == "quality"]
    return found["score"]


def test_unknown_version_is_refused_with_its_digest(
    command: Command, tmp_path: Path, options: tuple[str | Path, ...]
) -> None:
    with StubThread(StubPlan(answer=reply)) as server:
        given = (*options, "--base-url", server.url)
        ended = command(*given)
        assert ended.code != 0
        line = ended.line()
        assert "of DeepResearchEval" in line and "--allow-prompts" in line
        digest = digest_in(line)
        assert command(*given, "--allow-prompts", "0" * 64).line() == line
        assert not server.chats
        ended = command(*given, "--allow-prompts", digest)
        assert ended.code == 0, ended.err
        assert len(server.chats) == 12  # dimensions, weights, five times criteria, five times scores
        assert f"(unknown revision, SHA-256 {digest[:12]})" in ended.out
        assert quality(command, tmp_path / "run")["value"] == pytest.approx(7)
        again = command(*given, "--allow-prompts", digest)
        assert again.code == 0, again.err
        assert len(server.chats) == 12  # resumed from the ledger


def test_a_run_keeps_the_prompts_that_it_began_with(
    command: Command, tmp_path: Path, options: tuple[str | Path, ...]
) -> None:
    with StubThread(StubPlan(answer=reply)) as server:
        given = (*options, "--base-url", server.url)
        first = digest_in(command(*given).line())
        assert command(*given, "--allow-prompts", first).code == 0
        file = tmp_path / "checkout/point_quality/deepresearcharena/prompts/pointwise_prompts.py"
        file.write_text(PROMPTS.replace("Name dimensions", "Name some dimensions"), encoding="utf-8")
        # Prompts are read once per process.
        line = finish(start(*given, "--allow-prompts", first, cwd=tmp_path)).line()
        second = digest_in(line)
        assert "unknown version" in line and second != first
        ended = finish(start(*given, "--allow-prompts", first, "--allow-prompts", second, cwd=tmp_path))
        assert ended.code != 0 and "different" in ended.line()
        assert len(server.chats) == 12


def test_judges_of_an_ensemble_draft_their_own(
    command: Command, tmp_path: Path, options: tuple[str | Path, ...]
) -> None:
    with (
        StubThread(StubPlan(answer=reply)) as one,
        StubThread(StubPlan(answer=partial(reply, score="8"))) as two,
    ):
        judges: list[str | Path] = []
        for name, server in (("one", one), ("two", two)):
            preset = write_preset(tmp_path).rename(tmp_path / f"{name}.yaml")
            with preset.open("a", encoding="utf-8") as file:
                file.write(f"sampling: {{seed: {len(judges)}}}\n")  # else they are one judge
            judges += ["--judge", preset, "--base-url", f"{name}={server.url}"]
        place = options.index("--judge")
        given = (*options[:place], *options[place + 2 :], *judges)
        ended = command(*given, "--allow-prompts", digest_in(command(*given).line()))
        assert ended.code == 0, ended.err
        assert (len(one.chats), len(two.chats)) == (12, 12)
    assert quality(command, tmp_path / "run")["value"] == pytest.approx(7.5)  # mean of 7 and 8


def test_scores_off_the_scale_are_failures_with_bounds(
    command: Command, tmp_path: Path, options: tuple[str | Path, ...]
) -> None:
    def answer(asked: Mapping[str, Any]) -> str:
        return reply(asked, 70 if "cost" in asked["messages"][0]["content"] and "by [" in str(asked) else 7)

    with StubThread(StubPlan(answer=answer)) as server:
        given = (*options, "--base-url", server.url)
        command(*given, "--allow-prompts", digest_in(command(*given).line()))
        score = quality(command, tmp_path / "run")
    assert (score["value"], score["n_failed"]) == (None, 5)


def test_a_draft_that_cannot_be_read_is_a_failure(
    command: Command, tmp_path: Path, options: tuple[str | Path, ...]
) -> None:
    with StubThread(StubPlan(answer=lambda asked: "I cannot do that.")) as server:
        given = (*options, "--base-url", server.url)
        command(*given, "--allow-prompts", digest_in(command(*given).line()))
        assert len(server.chats) == 1  # the published code asks once
        score = quality(command, tmp_path / "run")
    assert score["value"] is None
    assert "no dimensions were drafted: invalid_reply" in score["note"]
