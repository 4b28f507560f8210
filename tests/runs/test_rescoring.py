"""Scores of several judges from stored findings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from local_judge.protocols import base
from local_judge.protocols.base import Decision
from local_judge.protocols.fact import Fact, FactFindings
from local_judge.runs.storage import rescoring
from local_judge.runs.storage.items import file_key, findings_file
from local_judge.runs.storage.records import CaseRecord, load_run_scores, load_scores
from local_judge.runs.storage.rescoring import load_agreement, rescore
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.ensemble import mean_trees
from local_judge.scoring.node import Profile, ScoreNode

from ..protocols.fact.fact_cases import findings

JUDGES = ("a", "b")
ACCURACY = "citation_accuracy"


class Averaged(Fact):
    """FACT's scores, of several judges their mean."""

    def score(self, judges: Sequence[FactFindings], profile: Profile) -> tuple[ScoreNode, ...]:
        return mean_trees([super(Averaged, self).score([one], profile) for one in judges])

    def aggregate(
        self, reports: Sequence[Sequence[FactFindings]], profile: Profile, n_missing: int
    ) -> tuple[ScoreNode, ...]:
        by_judge = zip(*reports, strict=True)
        return mean_trees(
            [super(Averaged, self).aggregate([[one] for one in own], profile, n_missing) for own in by_judge]
        )

    def decisions(self, findings: FactFindings) -> tuple[Decision, ...]:
        return ()


def fact_alone(group: str) -> list[EntryPoint]:
    return [EntryPoint("fact", "local_judge.protocols.fact:Fact", group)]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RunStore, list[CaseRecord]]:
    """Two reports of one system and one of another, by two judges; a third of the first could not be read."""
    monkeypatch.setattr(base, "registered", fact_alone)
    found: dict[str, tuple[FactFindings, FactFindings]] = {
        "x": (findings("ssuu", "x"), findings("suuu", "x")),
        "y": (findings("ss", "y"), findings("ff", "y")),
        "z": (findings("u", "z"), findings("s", "z")),
    }
    store = RunStore(tmp_path)
    for place, judge in enumerate(JUDGES):
        store.write_items(findings_file("fact", judge), ((case, own[place]) for case, own in found.items()))
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


def aggregates(store: RunStore, judge: str | None = None) -> dict[str | None, float | None]:
    rows = [row for row in load_run_scores(store, ["fact"], (judge,)) if row.profile == "paper"]
    return {row.system: row.scores[0].score.value for row in rows}


def test_each_judge_and_the_ensemble(stored: tuple[RunStore, list[CaseRecord]]) -> None:
    store, records = stored
    rescore(store, ["fact"], records, JUDGES)
    assert accuracies(store, "a") == {"x": 0.5, "y": 1.0, "z": 0.0}
    assert accuracies(store, "b") == {"x": 0.25, "y": None, "z": 1.0}
    # Of x the second pair is a tie, one of the three others is supported; the one pair of z is a tie.
    assert accuracies(store) == {"x": pytest.approx(1 / 3), "y": 1.0, "z": None}
    assert aggregates(store, "a") == {"ada": 0.75, "bo": 0.0}
    assert aggregates(store) == {"ada": pytest.approx(2 / 3), "bo": None}
    missing = [(row.system, row.n_reports, row.n_missing) for row in load_run_scores(store, ["fact"])[::2]]
    assert missing == [("ada", 3, 1), ("bo", 1, 0)]
    (support,) = load_agreement(store)
    assert (support.n_reports, support.n_items, support.n_missing) == (3, 5, {"a": 0, "b": 2})
    assert (support.alike.hits, support.alike.n) == (3, 5)
    assert support.alike.low is not None


def test_the_mean_of_the_judges_where_a_protocol_says_so(
    stored: tuple[RunStore, list[CaseRecord]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> Averaged:
        return Averaged()

    monkeypatch.setattr(rescoring, "load_protocol", load)
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
    assert aggregates(store) == {"ada": 0.75, "bo": 0.5}
    assert load_agreement(store) == []


def test_a_run_of_which_nothing_could_be_read_has_no_scores(
    stored: tuple[RunStore, list[CaseRecord]],
) -> None:
    store, records = stored
    rescore(store, ["fact"], records[3:], JUDGES)
    assert accuracies(store) == {}
    assert aggregates(store) == {"ada": None}
    assert load_agreement(store) == []
