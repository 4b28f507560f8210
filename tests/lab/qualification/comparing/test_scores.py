"""Scores of the compared judges, read from runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.lab.qualification.comparing.orders import Scored, of_runs, unaltered
from local_judge.runs.storage.records import CaseRecord, ScoreRecord
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import write_scores
from local_judge.scoring.node import Score, ScoreNode
from serving.types import EngineIdentity

A = EngineIdentity(model="a", engine="scripted", engine_version="1")
B = EngineIdentity(model="b", engine="scripted", engine_version="1")


def make_run(folder: Path, judges: dict[str, EngineIdentity], values: dict[str, float | None]) -> Path:
    """A finished run of RACE: each judge gives each report its value."""
    store = RunStore(folder)
    rows = [
        {"name": name, "identity": one.model_dump(mode="json"), "sampling": {}}
        for name, one in judges.items()
    ]
    reports = {"n": len(values), "sha256": ""}
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["race"]}, "reports": reports, "judges": rows},
    )
    cases = [CaseRecord(id=id, key=id, task="t", system=f"s{id}", status="done") for id in values]
    store.write_jsonl("cases.jsonl", cases)
    names = list(judges) if len(judges) > 1 else [None]
    write_scores(
        store,
        "race",
        cases,
        [
            ScoreRecord(
                case=id,
                protocol="race",
                version="1",
                profile="paper",
                judge=name,
                scores=(ScoreNode(id="overall", label="Overall", score=Score(value=value)),),
            )
            for id, value in values.items()
            for name in names
        ],
    )
    seal_run(store)
    return folder


def test_the_unaltered_reports_of_a_qualification(tmp_path: Path) -> None:
    make_run(tmp_path / "work" / "sensitivity" / "race", {"x": A}, {"r1": 5.0, "r1~padding": 6.0, "r2": None})
    assert unaltered(tmp_path, "x", ["r1", "r2"]) == [
        Scored("race", "overall", "x", "r1", "t", "sr1", 5.0),
        Scored("race", "overall", "x", "r2", "t", "sr2", None),
    ]


def test_a_qualification_without_sensitivity_has_none(tmp_path: Path) -> None:
    assert unaltered(tmp_path, "x", ["r1"]) == []


def test_a_judge_of_a_run_is_known_by_its_identity(tmp_path: Path) -> None:
    alone = make_run(tmp_path / "one", {"called otherwise": A}, {"r1": 5.0})
    both = make_run(tmp_path / "two", {"x": A, "y": B}, {"r2": 7.0})
    rows = of_runs([alone, both], {"x": A})
    assert [(row.judge, row.report, row.value) for row in rows] == [("x", "r1", 5.0), ("x", "r2", 7.0)]


def test_a_run_of_other_judges_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one", {"x": B}, {"r1": 5.0})
    with pytest.raises(InputError, match=r"one: none of its judges \(x\) is one of those compared \(x\)"):
        of_runs([run], {"x": A})


def test_a_report_counts_once_for_each_judge(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, {"x": A}, {"r1": 5.0}) for name in ("one", "two")]
    with pytest.raises(InputError, match=r"two: 'x' also scored 'r1' in .*one; give one of the two runs"):
        of_runs(runs, {"x": A})
