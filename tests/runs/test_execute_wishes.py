"""What the agents of a run's protocols missed, in one file of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from local_judge.agents.result import Wish
from local_judge.agents.wishes import read_wishes
from local_judge.protocols.base import Findings
from local_judge.protocols.scores import ScoreNode
from local_judge.runs import rescoring
from local_judge.runs.records import CaseRecord
from local_judge.runs.rescoring import rescore
from local_judge.runs.store import RunStore

PAGE = Wish(url="https://a.example/", tool="page", why="dead", times=1)
QUERY = Wish(query="pump", tool="search", why="weak", times=2)


class Missed(Findings):
    """What one report's agents missed."""

    missed: tuple[Wish, ...] = ()


class Plain:
    """A protocol without agents."""

    version, profiles, findings = "1", ("paper",), Missed

    def __init__(self, name: str) -> None:
        self.name = name

    def score(self, findings: Missed, profile: str) -> tuple[ScoreNode, ...]:
        return ()


class Searching(Plain):
    """A protocol with agents."""

    def wishes(self, findings: Missed) -> Sequence[Wish]:
        return findings.missed


def test_wishes_of_all_reports_and_protocols_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: dict[str, Any] = {"one": Searching, "two": Searching, "plain": Plain}

    def load(name: str) -> Any:
        return kinds[name](name)

    monkeypatch.setattr(rescoring, "load_protocol", load)
    store = RunStore(tmp_path)
    records = [CaseRecord(id=key, key=key, status="done") for key in ("b", "a")]
    for name, missed in (("one", (PAGE, QUERY)), ("two", (PAGE,)), ("plain", ())):
        for record in records:
            store.write_json(
                f"findings/{name}/{record.key}.json", Missed(case=record.id, document="d", missed=missed)
            )
    rescore(store, ["plain"], records)
    assert not (tmp_path / "wishes.jsonl").exists()
    rescore(store, ["one", "plain", "two"], records)
    # Two reports, each missed by both protocols: 2 * 2 times 1 for the page, 2 times 2 for the query.
    assert read_wishes(tmp_path) == (
        PAGE.model_copy(update={"times": 4}),
        QUERY.model_copy(update={"times": 4}),
    )
