"""What the agents of a run's protocols missed, in one file of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from local_judge.agents.result import EvidenceGap, read_evidence_gaps
from local_judge.protocols.base import BaseProtocol, Case, EvalContext, Findings
from local_judge.protocols.metric import NoSettings
from local_judge.runs.storage import rescoring
from local_judge.runs.storage.items import file_key, findings_file
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile, ScoreNode

PAGE = EvidenceGap(url="https://a.example/", tool="page", why="dead", times=1)
QUERY = EvidenceGap(query="pump", tool="search", why="weak", times=2)


class Missed(Findings):
    """What one report's agents missed."""

    missed: tuple[EvidenceGap, ...] = ()


class Plain(BaseProtocol[NoSettings, Missed]):
    """A protocol without agents."""

    version = "1"
    settings_type = NoSettings
    findings_type = Missed

    async def examine(self, case: Case, context: EvalContext) -> Missed:
        raise NotImplementedError

    def score(self, judges: Sequence[Missed], profile: Profile) -> tuple[ScoreNode, ...]:
        return ()


class Searching(Plain):
    """A protocol with agents."""

    searches = True

    def evidence_gaps(self, findings: Missed) -> Sequence[EvidenceGap]:
        return findings.missed


class One(Searching):
    name = "one"


class Two(Searching):
    name = "two"


class Other(Plain):
    name = "plain"


def test_evidence_gaps_of_all_reports_and_protocols_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: dict[str, type[Plain]] = {kind.name: kind for kind in (One, Two, Other)}

    def load(name: str) -> Plain:
        return kinds[name]()

    monkeypatch.setattr(rescoring, "load_protocol", load)
    store = RunStore(tmp_path)
    records = [CaseRecord(id=id, key=file_key(id), status="done") for id in ("b", "a")]
    for name, missed in (("one", (PAGE, QUERY)), ("two", (PAGE,)), ("plain", ())):
        found = ((one.id, Missed(case=one.id, document="d", missed=missed)) for one in records)
        store.write_items(findings_file(name, None), found)
    rescore(store, ["plain"], records)
    assert not (tmp_path / "evidence_gaps.jsonl").exists()
    rescore(store, ["one", "plain", "two"], records)
    # Two reports, each missed by both protocols: 2 * 2 times 1 for the page, 2 times 2 for the query.
    assert read_evidence_gaps(tmp_path) == (
        PAGE.model_copy(update={"times": 4}),
        QUERY.model_copy(update={"times": 4}),
    )
