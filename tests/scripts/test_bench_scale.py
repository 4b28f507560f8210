"""The benchmark of scales, on runs of a judge without a model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.runs.execution.execute import execute
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.manifest import build_manifest
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from scripts.benchmarking.scales import load_perturbed, scores_of
from serving.engines.scripted import Call, Reply

from ..protocols.race.race_cases import TASK, articles
from ..scripted_judge import MakeJudge

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
GOOD, BAD = "The mill cost 9 million, and the town paid.", "The mill cost 9 million."


def rounding(call: Call) -> Reply:
    """A judge that likes the good report by a little, and writes 7 for both."""
    good = GOOD in call.prompt
    if call.options is not None:
        return {"7": 0.6, "8": 0.4} if good else {"7": 0.9, "8": 0.1}
    assert call.schema is not None and articles(call.prompt)
    return {key: {"analysis": "So.", "score": 7} for key in call.schema["properties"]}


async def run(make_judge: MakeJudge, out: Path, scoring: str) -> RunStore:
    task = TASK.model_copy(update={"references": ()})
    reports = [
        RawReport("a", GOOD.encode(), task, "a.md"),
        RawReport("a~dropped", BAD.encode(), task, "b.md"),
    ]
    config = RunConfig(protocols=("race",), settings={"race": {"mode": "pointwise", "scoring": scoring}})
    judge, _ = make_judge(rounding)
    store = RunStore(out)
    store.write_json("manifest.json", await build_manifest(config, {"j": judge}, reports, None, {}))
    await execute(reports, judge, None, config, store)
    seal_run(store)
    return store


def test_ties_go_and_the_report_is_preferred(make_judge: MakeJudge, tmp_path: Path) -> None:
    store = asyncio.run(run(make_judge, tmp_path / "analysed", "analysed"))
    asyncio.run(run(make_judge, tmp_path / "again", "analysed"))
    found = scores_of(store)
    assert set(found) == {"analysed", "sampled"}
    assert found["analysed"]["a", "insight.1"] == 7.4 and found["sampled"]["a", "insight.1"] == 7.0
    perturbed = tmp_path / "planted.jsonl"
    perturbed.write_text('{"id": "a~dropped", "report": "a", "kind": "dropped", "seed": 0}\n')
    command = [sys.executable, str(ROOT / "scripts/bench_scale"), str(tmp_path / "analysed")]
    done = subprocess.run(
        [*command, "--perturbed", str(perturbed), "--again", str(tmp_path / "again"), "--resamples", "20"],
        capture_output=True,
        text=True,
        check=True,
    )
    said: dict[str, Any] = json.loads(done.stdout)
    sampled, expected = said["scorings"]
    assert (expected["name"], expected["ties"]["tied"]["value"], sampled["ties"]["tied"]["value"]) == (
        "analysed",
        0.0,
        1.0,
    )
    # Nine criteria: 7.4 against 7.1 each; and 7 against 7.
    assert (expected["items"]["n_above"], expected["items"]["value"]) == (9, 1.0)
    assert (sampled["items"]["n_tied"], sampled["items"]["value"]) == (9, 0.5)
    assert expected["items"]["mean_difference"] == pytest.approx(0.3)
    assert expected["retest"]["same"]["value"] == 1.0
    [paired] = said["paired"]
    assert (paired["first"], paired["second"], paired["n"], paired["difference"]) == (
        "analysed",
        "sampled",
        9,
        0.5,
    )
    refused = subprocess.run(
        [*command, "--perturbed", str(tmp_path / "none.jsonl")], capture_output=True, text=True, check=False
    )
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("text", ["", '{"id": "a"}\n', '{"id": "a", "report": "a"}\n'])
def test_twins_are_of_reports(text: str, tmp_path: Path) -> None:
    path = tmp_path / "perturbed.jsonl"
    path.write_text(text)
    with pytest.raises(InputError):
        load_perturbed(path)
