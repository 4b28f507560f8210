"""Several judges through a whole run: what is asked of whom, what is stored where, what a failed one leaves open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

import pytest

from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import ClaimSet
from local_judge.judge.judge import Judge
from local_judge.protocols.deer import DeerFindings
from local_judge.runs.execution.execute import CASES_IN_FLIGHT, execute
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import claims_file, file_key, findings_file
from local_judge.runs.storage.records import load_scores, read_records
from local_judge.runs.storage.rescoring import load_agreement, rescore
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.coverage import known_share
from local_judge.scoring.node import ScoreNode
from local_judge.tasks.model import Task
from serving.engine import JsonSchema
from serving.engines.scripted import Call, Reply, ScriptedEngine
from serving.errors import EngineFault
from serving.types import Generation, Message, Sampling

from ..scripted_judge import MakeJudge, believe

HEAT = b"""The retrofit connected 1,240 dwellings [1]. It was approved by eleven votes to four [2]. Crowds came [3].

## References

[1] The renewal. https://heat.example/fernholt/renewal
[2] Minutes. https://council.example/minutes/2021-03-18
[3] Opening day. https://gazette.example/2022/opening-day
"""
VERIFYING = RunConfig(settings={"deer": {"parts": ["verification"]}})
RUBRIC = RunConfig(settings={"deer": {"parts": ["rubric"]}})
ENDS = ("index", "jsonl")
NAMES = ("steady", "shaky")


def raw(identity: str) -> RawReport:
    content = HEAT.replace(b"Crowds", identity.title().encode())
    return RawReport(identity, content, Task(id=identity, prompt="What was built?"), f"{identity}.md")


def half(call: Call) -> Reply:
    """A judge that fails at half of its calls, always the same ones."""
    return EngineFault("HTTP 500") if crc32(call.prompt.encode()) % 2 else believe(call)


def sceptic(call: Call) -> Reply:
    """A judge that believes in claims about numbers alone, and grades everything with 5."""
    reply = believe(call)
    if call.options is None and isinstance(reply, dict):
        for item in reply.values():
            if "label" in item and "1,240" not in call.prompt.rpartition("Claims:")[2]:
                item["label"] = "not_found"
            if "score" in item:
                item["score"] = 5
    return reply


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def nodes(roots: tuple[ScoreNode, ...]) -> Iterator[tuple[str, ScoreNode]]:
    for root in roots:
        for path, node in root.walk():
            yield "/".join(path), node


async def test_each_judge_has_files_of_its_own_and_all_verify_the_claims_of_the_first(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    (steady, first), (shaky, second) = (
        make_judge(script, model=name, ledger="one.sqlite")
        for script, name in ((believe, "a"), (sceptic, "b"))
    )
    store = RunStore(tmp_path / "run")
    judges = {"steady": steady, "shaky": shaky}
    [record] = await execute([raw("one")], judges, snapshot, VERIFYING, store)
    key = file_key("one")
    assert sorted(tree(tmp_path / "run")) == sorted(
        [
            "agreement.jsonl",
            "cases.jsonl",
            *(
                f"{folder}/{name}.{end}"
                for folder in ("claims", "findings/deer")
                for name in NAMES
                for end in ENDS
            ),
            "scores/deer.all.jsonl",
            "scores/deer.jsonl",
            "scores/deer.systems.jsonl",
        ]
    )
    assert (record.status, record.n_calls_failed, record.n_failed_by_judge) == (
        "done",
        0,
        {"steady": 0, "shaky": 0},
    )
    assert any("Sentences:" in call.prompt for call in first.calls)
    assert not any("Sentences:" in call.prompt for call in second.calls)
    sets = [store.read_item(claims_file(name), key, ClaimSet) for name in NAMES]
    assert sets[0].claims == sets[1].claims and sets[0].sources == sets[1].sources
    assert [verdict.label for verdict in sets[1].verdicts] == ["supported", "not_found"]

    rows = load_scores(store, ["deer"], (None, *NAMES))
    assert [(row.judge, row.profile) for row in rows] == [
        (judge, profile) for judge in (None, *NAMES) for profile in ("paper", "upstream")
    ]
    assert load_scores(store, ["deer"]) == rows[:2]
    factuality = {row.judge: dict(nodes(row.scores)) for row in rows if row.profile == "paper"}
    path = "information_integrity/claim_factuality"
    # The third claim's page is dead. Of the two others, one is voted for by both and one is a tie.
    assert {judge: found[path].score.value for judge, found in factuality.items()} == {
        None: pytest.approx(10 / 2),
        "steady": pytest.approx(20 / 3),
        "shaky": pytest.approx(10 / 3),
    }
    assert (factuality[None][path].score.low, factuality[None][path].score.high) == (
        pytest.approx(10 / 3),
        pytest.approx(20 / 3),
    )
    support = next(row for row in load_agreement(store) if row.metric == "claim_support")
    assert (support.judges, support.n_items, support.alike.hits, support.alike.n) == (NAMES, 2, 1, 2)


async def test_a_judge_that_fails_half_of_its_calls_leaves_holes_and_no_zeros(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judges = {
        name: make_judge(script, model=name)[0] for name, script in (("steady", sceptic), ("shaky", half))
    }
    store = RunStore(tmp_path / "run")
    config = RunConfig()
    records = await execute([raw("one"), raw("two")], judges, snapshot, config, store)
    missing = sum(record.n_failed_by_judge["shaky"] for record in records)
    assert missing > 0
    assert missing == sum(record.n_calls_failed for record in records)
    assert all(record.n_failed_by_judge["steady"] == 0 for record in records)
    rows = {
        (row.case, row.judge): dict(nodes(row.scores))
        for row in load_scores(store, ["deer"], (None, *NAMES))
        if row.profile == "paper"
    }
    n_open = 0
    for case in ("one", "two"):
        for path, ensemble in rows[case, None].items():
            alone, other = rows[case, "steady"][path].score, rows[case, "shaky"][path].score
            score = ensemble.score
            assert score.n_failed == alone.n_failed + other.n_failed
            if other.n_failed and known_share(other) == 0 and alone.value is not None:
                # What the other judge did not say changes no value, and opens its bounds.
                assert score.value is not None and score.value == alone.value
                assert score.low is not None and score.high is not None
                assert score.low <= score.value <= score.high
                # Of a number in steps, such as an amount, every possible answer may give the same.
                assert score.low < score.high or other.low == other.high
                n_open += 1
    assert n_open > 5
    rubric = [row for row in load_agreement(store) if row.scale == "ordinal"]
    assert {row.n_missing["steady"] for row in rubric} == {0}
    assert sum(row.n_missing["shaky"] for row in rubric) > 0


async def test_probabilities_of_judges_are_averaged(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    def doubtful(call: Call) -> Reply:
        judged = call.options is not None and "captcha" not in call.prompt
        return {"Yes": 0.3, "No": 0.7} if judged else believe(call)

    judges = {
        name: make_judge(script, model=name)[0] for name, script in (("sure", believe), ("unsure", doubtful))
    }
    claims = ClaimsConfig(method="scored", reliability=False)
    config = RunConfig(claims=claims, settings=VERIFYING.settings)
    store = RunStore(tmp_path / "run")
    await execute([raw("one")], judges, snapshot, config, store)
    key = file_key("one")
    rows = [store.read_item(findings_file("deer", name), key, DeerFindings).rows for name in judges]
    pairs = [found.claims[0].pairs[0] for found in rows if found is not None]
    assert [(pair.outcome, pair.confidence, pair.threshold) for pair in pairs] == [
        ("supported", 0.9, 0.5),
        ("not_supported", 0.3, 0.5),
    ]
    # (0.9 + 0.3) / 2 >= 0.5: two of three claims, the third being on a dead page, and nothing is left open.
    paper = dict(nodes(load_scores(store, ["deer"])[0].scores))
    score = paper["information_integrity/claim_factuality"].score
    assert (score.value, score.low, score.high) == (pytest.approx(20 / 3), score.value, score.value)


async def test_the_bytes_depend_on_no_delay_and_rescoring_asks_nobody(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    reports = [raw(name) for name in "xyz"]
    for folder, delays in (("one", (0.0, 0.004)), ("other", (0.004, 0.0))):
        judges = {
            name: make_judge(script, model=name, delay=delay)[0]
            for name, script, delay in zip(NAMES, (believe, half), delays, strict=True)
        }
        await execute(reports, judges, snapshot, VERIFYING, RunStore(tmp_path / folder))
    assert tree(tmp_path / "one") == tree(tmp_path / "other")
    store = RunStore(tmp_path / "one")
    for name in ("scores/deer.jsonl", "agreement.jsonl"):
        (store.root / name).unlink()
    rescore(store, ["deer"], read_records(store), NAMES)
    assert tree(tmp_path / "one") == tree(tmp_path / "other")


async def test_one_judge_of_several_scores_as_it_would_alone(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    alone, both = RunStore(tmp_path / "alone"), RunStore(tmp_path / "both")
    await execute([raw("one")], make_judge(believe, model="a")[0], snapshot, VERIFYING, alone)
    judges = {"a": make_judge(believe, model="a")[0], "b": make_judge(sceptic, model="b")[0]}
    await execute([raw("one")], judges, snapshot, VERIFYING, both)
    key = file_key("one")
    own = both.read_item(findings_file("deer", "a"), key, DeerFindings)
    assert own == alone.read_item(findings_file("deer", None), key, DeerFindings)
    scores = [row.scores for row in load_scores(alone, ["deer"])]
    assert [row.scores for row in load_scores(both, ["deer"], ("a",))] == scores
    assert load_agreement(alone) == []


class Held(ScriptedEngine):
    """Answers nothing until it is let go."""

    def __init__(self, go: asyncio.Event) -> None:
        super().__init__(believe, model="slow")
        self._go = go

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        await self._go.wait()
        return await super().generate(messages, sampling, schema, started)


async def test_a_fast_judge_does_not_wait_for_a_slow_one(make_judge: MakeJudge) -> None:
    reports = [raw(f"r{n}") for n in range(2 * CASES_IN_FLIGHT)]
    alone, engine = make_judge(believe)
    await execute(reports[:1], alone, None, RUBRIC, None)
    expected = len(reports) * len(engine.calls)
    go = asyncio.Event()

    def last_of_all(call: Call) -> Reply:
        if len(fast_engine.calls) == expected:
            go.set()
        return believe(call)

    fast, fast_engine = make_judge(last_of_all, model="fast")
    slow_engine = Held(go)
    slow = Judge(slow_engine, fast.ledger)
    # The slow one answers nothing before the fast one has been asked about every report.
    await asyncio.wait_for(execute(reports, {"slow": slow, "fast": fast}, None, RUBRIC, None), 60)
    assert len(slow_engine.calls) == len(fast_engine.calls) == expected


async def test_unreadable_and_crashed_reports_are_so_for_all_judges(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(call: Call) -> Reply:
        raise ZeroDivisionError("a defect")

    judges = {"a": make_judge(believe, model="a")[0], "b": make_judge(broken, model="b")[0]}
    store = RunStore(tmp_path / "run")
    empty = RawReport("empty", b"", None, "empty.md")
    first, second = await execute([empty, raw("one")], judges, snapshot, VERIFYING, store)
    assert (first.status, second.status) == ("unreadable", "crashed")
    assert second.detail.startswith("ZeroDivisionError: a defect")
    assert load_scores(store, ["deer"], (None, "a", "b")) == []
