"""Scores of several judges from stored findings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from local_judge.protocols import base
from local_judge.protocols.fact import Fact, FactFindings
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.runs import rescoring
from local_judge.runs.inter_judge import load_agreement
from local_judge.runs.records import CaseRecord, load_run_scores, load_scores
from local_judge.runs.rescoring import rescore
from local_judge.runs.store import RunStore, file_key, findings_file

from ..protocols.fact.fact_cases import findings

JUDGES = ("a", "b")
ACCURACY = "citation_accuracy"


class Plain:
    """FACT's scores, and none of its rules for several judges."""

    version = Fact.version
    profiles = Fact.profiles
    findings = FactFindings

    def __init__(self, name: str) -> None:
        self.name = name

    def score(self, findings: FactFindings, profile: Profile) -> tuple[ScoreNode, ...]:
        return Fact().score(findings, profile)

    def over(
        self, findings: Sequence[FactFindings], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        return Fact().over(findings, profile, n_missing)


def fact_alone(group: str) -> list[EntryPoint]:
    return [EntryPoint("fact", "local_judge.protocols.fact:Fact", group)]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RunStore, list[CaseRecord]]:
    """Two reports of one system and one of another, by two judges; a third of the first could not be read."""
    monkeypatch.setattr(base, "entry_points", fact_alone)
    found: dict[str, tuple[FactFindings, FactFindings]] = {
        "x": (findings("ssuu", "x"), findings("suuu", "x")),
        "y": (findings("ss", "y"), findings("ff", "y")),
        "z": (findings("u", "z"), findings("s", "z")),
    }
    store = RunStore(tmp_path)
    for case, own in found.items():
        for judge, one in zip(JUDGES, own, strict=True):
            store.write_json(findings_file("fact", file_key(case), judge), one)
    records = [
        CaseRecord(
            id=id,
            key=file_key(id),
            system="bo" if id == "z" else "ada",
            status="done" if id in found else "unreadable",
        )
        for id in "xyzw"
    ]
    return store, records


def accuracies(store: RunStore, judge: str | None = None) -> dict[str, float | None]:
    rows = [row for row in load_scores(store, ["fact"], (judge,)) if row.profile == "paper"]
    return {row.case: row.scores[0].score.value for row in rows}


def over(store: RunStore, judge: str | None = None) -> dict[str | None, float | None]:
    rows = [row for row in load_run_scores(store, ["fact"], (judge,)) if row.profile == "paper"]
    return {row.system: row.scores[0].score.value for row in rows}


def test_each_judge_and_all_together(stored: tuple[RunStore, list[CaseRecord]]) -> None:
    store, records = stored
    rescore(store, ["fact"], records, JUDGES)
    assert accuracies(store, "a") == {"x": 0.5, "y": 1.0, "z": 0.0}
    assert accuracies(store, "b") == {"x": 0.25, "y": None, "z": 1.0}
    # Of x the second pair is a tie, one of the three others is supported; the one pair of z is a tie.
    assert accuracies(store) == {"x": pytest.approx(1 / 3), "y": 1.0, "z": None}
    assert over(store, "a") == {"ada": 0.75, "bo": 0.0}
    assert over(store) == {"ada": pytest.approx(2 / 3), "bo": None}
    missing = [(row.system, row.n_reports, row.n_missing) for row in load_run_scores(store, ["fact"])[::2]]
    assert missing == [("ada", 3, 1), ("bo", 1, 0)]
    (support,) = load_agreement(store)
    assert (support.n_reports, support.n_items, support.n_missing) == (3, 5, {"a": 0, "b": 2})
    assert (support.alike.hits, support.alike.n) == (3, 5)
    assert support.alike.low is not None


def test_a_protocol_without_a_rule_of_its_own_is_averaged(
    stored: tuple[RunStore, list[CaseRecord]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescoring, "load_protocol", Plain)
    store, records = stored
    rescore(store, ["fact"], records, JUDGES)
    assert accuracies(store) == {"x": 0.375, "y": 1.0, "z": 0.5}
    by_case = {
        row.case: row.scores[0].score for row in load_scores(store, ["fact"]) if row.profile == "paper"
    }
    score = by_case["y"]
    # low = (1 + 0) / 2, the bound of the judge that failed at both pairs
    assert (score.n_expected, score.n_failed, score.low, score.high) == (2, 1, 0.5, 1.0)
    assert score.note == "1 of 2 judges failed"
    # Of ada, a: (0.5 + 1) / 2, of b one of three reports is known, so a's stands alone; of bo, a: 0 and b: 1.
    assert over(store) == {"ada": 0.75, "bo": 0.5}
    assert load_agreement(store) == []


def test_a_run_of_which_nothing_could_be_read_has_no_scores(
    stored: tuple[RunStore, list[CaseRecord]],
) -> None:
    store, records = stored
    rescore(store, ["fact"], records[3:], JUDGES)
    assert accuracies(store) == {}
    assert over(store) == {"ada": None}
    assert load_agreement(store) == []
