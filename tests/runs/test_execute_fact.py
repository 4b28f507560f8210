"""Runs of FACT, on the shared claim set and by its own flow, and what is stored over all their reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError
from local_judge.prompts import fill, load_prompt
from local_judge.protocols.fact import Fact, FactFindings
from local_judge.protocols.fact.settings import FactSettings
from local_judge.reporting.run_tables import TableOptions, run_summary
from local_judge.runs.execution.execute import check_inputs, execute
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.records import load_run_scores, load_scores
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import load_system_scores
from serving.engines.scripted import Call, Reply

from ..printing import printed
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


REPEATED = b"""# The retrofit

It connected 1,240 dwellings [1]. It was dear [1]. In all, 1,240 homes were connected [1]. A crowd came [2].

## References

[1] https://heat.example/fernholt/renewal
[2] https://gazette.example/2022/opening-day
"""


def third_repeats_first(call: Call) -> Reply:
    return {"2": {"repeats": 0}, "3": {"repeats": 1}} if "repeat each other" in call.prompt else believe(call)


def says_nothing_of_repeats(call: Call) -> Reply:
    return {} if "repeat each other" in call.prompt else believe(call)


@pytest.mark.parametrize("extractor", ["steady", "shaky"])
async def test_the_judge_that_extracts_names_the_repeats_for_all(
    extractor: str, make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    store = RunStore(tmp_path / "run")
    made = {name: make_judge(third_repeats_first, model=name, ledger="one") for name in ("steady", "shaky")}
    judges = {name: judge for name, (judge, _) in made.items()}
    report = RawReport("a", REPEATED, None, "a.md")
    [record] = await execute([report], judges, snapshot, SHARED, store, extractor=extractor)
    asked = {
        name: [call for call in engine.calls if "repeat each other" in call.prompt]
        for name, (_, engine) in made.items()
    }
    [call] = asked.pop(extractor)
    assert list(asked.values()) == [[]]
    listed = "1. It connected 1,240 dwellings.\n2. It was dear.\n3. In all, 1,240 homes were connected."
    text = fill(
        load_prompt("local_judge.protocols.fact", "repeats"),
        {"statements": f"Statements:\n```\n{listed}\n```", "numbers": "2, 3"},
    )
    assert call.messages[1].content == text
    one, other = (store.read_item(findings_file("fact", name), record.key, FactFindings) for name in judges)
    assert [(pair.statement, pair.outcome, pair.may_repeat) for pair in one.pairs] == [
        ("It connected 1,240 dwellings.", "supported", False),
        ("It was dear.", "supported", False),
        ("A crowd came.", "unknown", False),
    ]
    assert (one.pairs, one.repeats, one.n_citations) == (other.pairs, other.repeats, 4)
    [repeat] = one.repeats
    assert (repeat.statement, repeat.of) == (
        "In all, 1,240 homes were connected.",
        "It connected 1,240 dwellings.",
    )
    assert repeat.replies
    paper, *_ = load_scores(store, ["fact"])
    # Two supported pairs and one on a dead page.
    assert [root.score.value for root in paper.scores[:3]] == [2 / 3, 2, 3]


async def test_statements_that_the_extractor_did_not_compare_open_the_bounds(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    store = RunStore(tmp_path / "run")
    made = {name: make_judge(says_nothing_of_repeats, model=name, ledger="one") for name in ("one", "two")}
    judges = {name: judge for name, (judge, _) in made.items()}
    report = RawReport("a", REPEATED, None, "a.md")
    [record] = await execute([report], judges, snapshot, SHARED, store)
    # Two statements: the failures of the judge that extracted the claims.
    assert (record.n_questions_failed, record.n_failed_by_judge) == (2, {"one": 2, "two": 0})
    for name in judges:
        found = store.read_item(findings_file("fact", name), record.key, FactFindings)
        assert [pair.may_repeat for pair in found.pairs] == [False, True, True, False]
    paper, upstream = load_scores(store, ["fact"])
    accuracy, effective, citations = (root.score for root in paper.scores[:3])
    # Of four pairs, one on a dead page, three are supported, of which two may repeat the first: 1 of 2 to 3 of 4.
    assert (accuracy.value, accuracy.low, accuracy.high) == (3 / 4, 1 / 2, 3 / 4)
    assert (effective.value, effective.low, effective.high) == (3, 1, 3)
    assert (citations.value, citations.low, citations.high) == (4, 2, 4)
    # Two of three are not known to be pairs of their own: less than half is known.
    assert (upstream.scores[0].score.value, upstream.scores[0].score.low) == (None, 1)


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
    systems, over = load_system_scores(store, ["fact"]), load_run_scores(store, ["fact"])
    summary = run_summary(records, systems, TableOptions("upstream", all_scores=True), aggregates=over)
    lines = [" ".join(line.split()) for line in printed(*summary, width=120).splitlines()]
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
