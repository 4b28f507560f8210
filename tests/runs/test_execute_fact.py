"""Runs of FACT, on the shared claim set and by its own flow, and what is stored over all their reports."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from indexes.snapshot import Snapshot
from local_judge.errors import ConfigError
from local_judge.protocols.fact import Fact, FactFindings
from local_judge.protocols.fact.settings import FactSettings
from local_judge.reporting.run_tables import TableOptions, run_summary
from local_judge.runs.config import RunConfig
from local_judge.runs.execute import check_inputs, execute
from local_judge.runs.inputs import RawReport
from local_judge.runs.items import findings_file
from local_judge.runs.records import load_run_scores, load_scores
from local_judge.runs.rescoring import rescore
from local_judge.runs.store import RunStore
from local_judge.runs.summaries import load_system_scores
from serving.engines.scripted import Call, Reply

from ..scripted_judge import MakeJudge, believe

CITED = b"""# The retrofit

It connected 1,240 dwellings [1]. A crowd came [2].

## References

[1] https://heat.example/fernholt/renewal
[2] https://gazette.example/2022/opening-day
"""
BARE = b"# The retrofit\n\nIt connected many dwellings.\n"
REPORTS = [
    RawReport("ada1", CITED, None, "ada1.md", "ada"),
    RawReport("bob1", CITED, None, "bob1.md", "bob"),
    RawReport("ada2", BARE, None, "ada2.md", "ada"),
    RawReport("bob2", b"", None, "bob2.md", "bob"),
]
SHARED = RunConfig(protocols=("fact",))
OWN = RunConfig(protocols=("fact",), settings={"fact": {"claims": "own"}})


def say_yes(call: Call) -> Reply:
    """FACT's own questions: each sentence has one fact, with its first citation, and pages support everything."""
    assert call.schema is not None
    keys: list[str] = list(call.schema["properties"])
    if "Give the facts" in call.prompt:
        return {key: {"facts": [{"fact": f"Fact {key}.", "citations": [1]}]} for key in keys}
    return {key: {"quote": "", "rationale": "Because.", "label": "supported"} for key in keys}


@pytest.mark.parametrize("mode", ["shared", "own"])
async def test_a_run_from_reports_to_scores(
    mode: str, make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    config, script = (SHARED, believe) if mode == "shared" else (OWN, say_yes)
    judge, engine = make_judge(script)
    store = RunStore(tmp_path / "run")
    records = await execute(REPORTS, judge, snapshot, config, store)
    assert [record.status for record in records] == ["done", "done", "done", "unreadable"]
    assert (store.root / "claims.jsonl").exists() is (mode == "shared")
    assert engine.calls
    found = store.read_item(findings_file("fact", None), records[0].key, FactFindings)
    assert (found.source, found.article) == (mode, CITED.decode())
    assert [(pair.outcome, pair.reason) for pair in found.pairs] == [
        ("supported", None),
        ("unknown", "dead"),
    ]
    rows = {(row.case, row.profile): row.scores for row in load_scores(store, ["fact"])}
    # One of two pairs by the paper, which has no label for a dead page; one of one in the code.
    assert rows["ada1", "paper"][0].score.value == 0.5
    assert rows["ada1", "upstream"][0].score.value == 1.0
    assert (rows["ada2", "paper"][0].score.value, rows["ada2", "upstream"][0].score.value) == (0.0, None)

    over = {(row.system, row.profile): row for row in load_run_scores(store, ["fact"])}
    assert list(over) == [("ada", "paper"), ("ada", "upstream"), ("bob", "paper"), ("bob", "upstream")]
    ada, bob = over["ada", "paper"], over["bob", "paper"]
    assert (ada.n_reports, ada.n_missing, bob.n_reports, bob.n_missing) == (2, 0, 2, 1)
    # (1/2 + 0) / 2 over all, 1/2 over those that cite; and pooled by the code's count 1/1.
    assert [child.score.value for child in ada.scores[0].children] == [0.25, 0.5, 0.5]
    assert over["ada", "upstream"].scores[0].score.value == 1.0
    # The report that could not be read may have any accuracy.
    accuracy = bob.scores[0].score
    assert (accuracy.value, accuracy.low, accuracy.high) == (0.5, 0.25, 0.75)


async def test_scoring_again_gives_the_same_bytes(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge()
    store = RunStore(tmp_path / "run")
    records = await execute(REPORTS, judge, snapshot, SHARED, store)
    before = {path: path.read_bytes() for path in sorted((store.root / "scores").iterdir())}
    assert [path.name for path in before] == ["fact.all.jsonl", "fact.jsonl", "fact.systems.jsonl"]
    for path in before:
        path.unlink()
    rescore(store, ["fact"], records)
    assert {path: path.read_bytes() for path in before} == before


async def test_each_system_has_a_table(make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path) -> None:
    judge, _ = make_judge()
    store = RunStore(tmp_path / "run")
    records = await execute(REPORTS, judge, snapshot, SHARED, store)
    out = StringIO()
    systems, over = load_system_scores(store, ["fact"]), load_run_scores(store, ["fact"])
    summary = run_summary(records, systems, TableOptions("upstream", all_scores=True), aggregates=over)
    Console(file=out, width=120).print(summary)
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    first = lines.index("fact, 2 reports of ada together")
    second = lines.index("fact, 2 reports of bob together, 1 of them missing")
    pooled = [line for line in lines[first:second] if line.startswith("pooled")]
    # One of the two pairs is known to the code.
    assert pooled == ["pooled │ 1.00 │ 1/1"]


def test_both_ways_need_a_snapshot(snapshot: Snapshot) -> None:
    for given in (FactSettings(), FactSettings(claims="own")):
        fact: Any = Fact(given)
        check_inputs(REPORTS, snapshot, [fact])
        with pytest.raises(ConfigError, match=r"fact: verifying claims .*--snapshot"):
            check_inputs(REPORTS, None, [fact])
