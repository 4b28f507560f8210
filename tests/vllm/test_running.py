"""`judge up`, `run`, `judge down` and `run --serve` with a real vLLM give the same results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from local_judge.demo.outcome import sample_folder

from .conftest import RandomJudge

pytestmark = pytest.mark.vllm

ENDED = (0, 3)
"""Exit codes of a run whose judge may leave questions unanswered."""


def results(run: Path) -> dict[str, Any]:
    """Claims with verdicts, findings and scores of a run, by file."""
    return {
        str(path.relative_to(run)): [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for pattern in ("claims.jsonl", "findings/**/*.jsonl", "scores/**/*.jsonl")
        for path in sorted(run.glob(pattern))
    }


def rounded(found: Any) -> Any:
    """Results without the digits that depend on the order of sums, which differs from one server to the next."""
    match found:
        case float():
            return pytest.approx(found, abs=0.02)
        case list():
            return [rounded(one) for one in cast("list[Any]", found)]
        case dict():
            return {key: rounded(one) for key, one in cast("dict[str, Any]", found).items()}
        case _:
            return found


def test_a_running_judge_and_one_that_a_run_serves_give_the_same_results(
    random_judge: RandomJudge, random_url: str, tmp_path: Path
) -> None:
    report = tmp_path / "report.md"
    report.write_text(
        "# Fernholt\n\nThe retrofit connected 1,240 dwellings [1]. It began in 2014 [1]. It cost 9 million [1].\n\n"
        "## References\n\n[1] The renewal. https://heat.example/fernholt/renewal\n",
        encoding="utf-8",
    )
    random_judge.run("snapshot", "import", sample_folder() / "pages", tmp_path / "snapshot")
    evaluate = ("run", report, "--snapshot", tmp_path / "snapshot", "--judge", random_judge.preset)
    settings = ("--terse", "--set", "deer.parts=[verification]")
    [listed] = json.loads(random_judge.run("judge", "show", "--running", "--json"))
    assert [(one["base_url"], one["state"]) for one in listed["replicas"]] == [(random_url, "ready")]
    random_judge.run(*evaluate, *settings, "--out", tmp_path / "found", statuses=ENDED)
    other = tmp_path / "home"  # where no judge is running
    other.mkdir()
    (other / "models").symlink_to(random_judge.home / "models", target_is_directory=True)
    random_judge.run(
        *evaluate, *settings, "--serve", "--out", tmp_path / "served", home=other, statuses=ENDED
    )
    assert json.loads(random_judge.run("judge", "show", "--running", "--json", home=other)) == []
    assert sorted(results(tmp_path / "found")) == [
        "claims.jsonl",
        "findings/deer.jsonl",
        "scores/deer.all.jsonl",
        "scores/deer.jsonl",
        "scores/deer.systems.jsonl",
    ]
    [claims] = results(tmp_path / "found")["claims.jsonl"]
    assert any(verdict["label"] is not None for verdict in claims["verdicts"])
    assert results(tmp_path / "served") == rounded(results(tmp_path / "found"))
