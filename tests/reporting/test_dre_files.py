"""DeepResearchEval's result files of a run, read by the published script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from local_judge.protocols.deepresearcheval import DeepResearchEval, DreFindings
from local_judge.reporting.exports import export_files
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import ScoreNode
from local_judge.tasks.dimensions import DIMENSIONS_KIND, DimensionsRow

from ..originals import run_original
from ..protocols.deepresearcheval.dre_cases import ROW, entry, marked
from ..rubric_run import record

JUDGE = {"name": "small", "identity": {"engine": "vllm", "model": "Small-1B"}, "sampling": {}}
GENERAL = ROW["dimensions"][:4]
SPECIFIC = {
    "1": ROW["dimensions"][4:],
    "2": [entry("R&D / loans", "specific", 3, Totals=1)],
    "3": [entry("R D loans", "specific", 3, Totals=1)],
}
"""The specific dimensions of three tasks. The published keys of the last two, `r&d_/_loans` and `r_d_loans`, differ."""
SCORES = {
    ("ada", "1"): (8, 4, 6, 9, 7, 8, 2, 5, 3),
    ("ada", "2"): (7, 6, 8, 9, 3, 5, 4),
    ("ada", "3"): (5, 5, 5, 5, 5, 5, 9),
    ("bob", "1"): (9, 9, 7, 8, 6.25, 8, 7, 6, 10),
    ("bob", "2"): (0, 0, 0, 0, 0, 0, 0),
    ("bob", "3"): (6, 2, 9, 4, 8, 8, 1),
}
"""Scores by system and task, in the order of the criteria. A total of 0 is left out of the published means."""


def findings(system: str, task: str) -> DreFindings:
    row = {**ROW, "task_id": task, "dimensions": [*GENERAL, *SPECIFIC[task]]}
    quality = DimensionsRow.model_validate(row).content
    assert quality is not None
    ids = [one.id for dimension in quality.dimensions for one in dimension.criteria]
    scores = dict(zip(ids, SCORES[system, task], strict=True))
    return DreFindings(
        case=f"{system}/{task}",
        document="d",
        task=task,
        request=ROW["task"],
        quality=marked(scores, quality),
    )


def finished(folder: Path) -> RunStore:
    """A run of two systems on three tasks."""
    store = RunStore(folder)
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["deepresearcheval"]},
            "judges": [JUDGE],
            "reports": {"n": 0},
        },
    )
    cases = [record(f"{system}/{task}", task, system) for system, task in SCORES]
    store.write_items(
        findings_file("deepresearcheval", None),
        ((f"{system}/{task}", findings(system, task)) for system, task in SCORES),
    )
    store.write_jsonl("cases.jsonl", cases)
    seal_run(store)
    return store


def value(tree: Sequence[ScoreNode], path: str) -> float:
    first, *rest = path.split("/")
    found = next(node for node in tree if node.id == first).find(*rest).score.value
    assert found is not None
    return found


def test_the_published_script_prints_our_averages_from_our_cache(tmp_path: Path, shared: Path) -> None:
    """`example_pointwise_usage.py` on the exported cache, against our `upstream` scores of each system."""
    export_files(finished(tmp_path / "run"), tmp_path / "out", "deepresearcheval")
    data = tmp_path / "data"
    (data / "input_queries").mkdir(parents=True)
    queries = "".join(json.dumps({"id": int(task), "prompt": ROW["task"]}) + "\n" for task in SPECIFIC)
    (data / "input_queries/query.jsonl").write_text(queries, encoding="utf-8")
    for system, task in SCORES:
        file = data / f"method_results/{system}/{task}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"entries": [{"response": "It cost 8 million."}]}), encoding="utf-8")
    (tmp_path / "outputs").mkdir()  # where the script logs
    original = shared / "originals/dre/point_quality"
    printed = run_original(
        original / "example_pointwise_usage.py",
        tmp_path,
        *("--config", original / "deepresearcharena/config/pointwise.yaml", "--data_dir", data),
        *("--models", "ada", "bob", "--cache_dir", tmp_path / "out/cache"),
        *("--output_file", tmp_path / "theirs/results.json"),
    )
    rows = [line.split() for line in printed.splitlines()]
    columns = ("coverage", "insight", "instruction_following", "clarity")
    for system in ("ada", "bob"):
        tree = DeepResearchEval().aggregate(
            [[findings(*key)] for key in SCORES if key[0] == system], "upstream", 0
        )
        ours = [
            f"{value(tree, 'quality'):.3f}",
            *(f"{value(tree, f'quality/general/{name}'):.1f}" for name in columns),
            f"{value(tree, 'quality/specific'):.1f}",
        ]
        assert next(row for row in rows if row[1:2] == [system])[2:8] == ours
    # Task-specific dimensions of ada by name: 4.4, 3, 4 and 9; their mean is 5.1.
    ada = next(row for row in rows if row[1:2] == ["ada"])
    assert (ada[7], ada[8]) == ("5.1", "3")
    # bob's report on task 2 has a total of 0.
    assert next(row for row in rows if row[1:2] == ["bob"])[8] == "2"
    theirs = json.loads((tmp_path / "theirs/results.json").read_text(encoding="utf-8"))
    written = json.loads((tmp_path / "out/quality_results.json").read_text(encoding="utf-8"))
    for found in theirs["summary"]["models"].values():
        found.pop("meta_avg")
    assert theirs["summary"] == written["summary"]
    for task, found in theirs["query_results"].items():
        # The script has definitions of its own for the general dimensions, under the same keys.
        own, defined = written["query_results"][task], found.pop("all_dims_with_definition")
        assert defined.keys() == own.pop("all_dims_with_definition").keys()
        assert found == own


def test_the_cache_is_read_as_dimensions(tmp_path: Path) -> None:
    export_files(finished(tmp_path / "run"), tmp_path / "out", "deepresearcheval")
    cached, written = (
        DIMENSIONS_KIND.load(tmp_path / "out" / name) for name in ("cache", "quality_results.json")
    )
    for task in SPECIFIC:
        ours, theirs = (rows.find(task, None) for rows in (cached, written))
        assert ours is not None and theirs is not None
        assert ours.rows[0].value.dimensions == theirs.rows[0].value.dimensions


@pytest.mark.parametrize("task", ["mill", "07", "-1"])
def test_a_task_without_a_number_has_no_place_in_the_cache(tmp_path: Path, task: str) -> None:
    store = RunStore(tmp_path / "run")
    store.write_json(
        "manifest.json",
        {
            "format_version": 4,
            "config": {"protocols": ["deepresearcheval"]},
            "judges": [JUDGE],
            "reports": {"n": 0},
        },
    )
    case = record("ada/1", task, "ada")
    found = findings("ada", "1").model_copy(update={"task": task})
    store.write_items(findings_file("deepresearcheval", None), [(case.id, found)])
    store.write_jsonl("cases.jsonl", [case])
    seal_run(store)
    export_files(store, tmp_path / "out", "deepresearcheval")
    assert not (tmp_path / "out/cache").exists()
    assert json.loads((tmp_path / "out/quality_results.json").read_text())["query_results"].keys() == {task}
