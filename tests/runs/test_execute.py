from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError
from local_judge.documents import Problem
from local_judge.ledger.errors import LedgerError
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.deer import Deer, DeerFindings
from local_judge.runs.execution.execute import Gate, execute
from local_judge.runs.planning.config import RunConfig
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import file_key
from local_judge.runs.storage.records import CaseRecord, load_scores, problems_of, read_records
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import seal_of, seal_run
from local_judge.runs.storage.store import FORMAT, MANIFEST, RunStore
from local_judge.tasks.model import Task
from serving.engines.scripted import Call, Reply
from serving.errors import EngineFault

from ..scripted_judge import MakeJudge, believe

MILL = b"""The retrofit connected 1,240 dwellings [1]. It was dear.

## References

[1] The renewal. https://heat.example/fernholt/renewal
"""

VERIFYING = RunConfig(settings={"deer": {"parts": ["verification"]}})


def raw(identity: str, content: bytes = MILL) -> RawReport:
    return RawReport(identity, content, None, f"{identity}.md")


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def test_reports_enter_by_arrival_and_one_that_is_in_progress_at_once() -> None:
    gate, inside = Gate(limit=2), list[str]()
    tasks: dict[str, asyncio.Task[None]] = {}

    async def work(name: str) -> None:
        async with gate.entered(name[0]):
            inside.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                inside.remove(name)

    async def enter(*names: str) -> list[str]:
        tasks.update({name: asyncio.create_task(work(name)) for name in names})
        await asyncio.sleep(0)
        return inside

    async def end(name: str) -> list[str]:
        tasks[name].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[name]
        await asyncio.sleep(0)
        return inside

    # The letter is the report; a second run works on a and on c.
    assert await enter("a1", "b1", "c1", "d1", "e1", "a2", "c2") == ["a1", "b1", "a2"]
    assert await end("a1") == ["b1", "a2"]  # a is still in progress
    assert await end("d1") == ["b1", "a2"]  # it waited
    assert await end("a2") == ["b1", "c1", "c2"]
    assert await end("b1") == ["c1", "c2", "e1"]
    assert await end("c1") == ["c2", "e1"]
    assert await enter("f1") == ["c2", "e1"]
    assert await end("e1") == ["c2", "f1"]
    assert await end("c2") == ["f1"]
    assert await end("f1") == []
    assert await enter("g1", "h1", "i1") == ["g1", "h1"]
    for name in ("i1", "g1", "h1"):
        await end(name)


async def test_a_run_directory_holds_what_the_store_says(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, engine = make_judge()
    store = RunStore(tmp_path / "run")
    told: list[str] = []
    records = await execute(
        [raw("../../x"), raw("mill", MILL.replace(b"dear", b"cheap"))],
        judge,
        snapshot,
        VERIFYING,
        store,
        done=lambda record: told.append(record.id),
    )
    assert [(record.id, record.status, record.n_calls_failed) for record in records] == [
        ("../../x", "done", 0),
        ("mill", "done", 0),
    ]
    assert sorted(told) == ["../../x", "mill"]
    assert sorted(tree(tmp_path)) == sorted(
        [
            "ledger0.sqlite",
            "ledger0.sqlite-shm",
            "ledger0.sqlite-wal",
            "run/cases.jsonl",
            *(f"run/{name}.{end}" for name in ("claims", "findings/deer") for end in ("index", "jsonl")),
            "run/scores/deer.all.jsonl",
            "run/scores/deer.jsonl",
            "run/scores/deer.systems.jsonl",
        ]
    )
    assert read_records(store) == records
    assert [(score.case, score.profile) for score in load_scores(store, ["deer"])] == [
        (identity, profile) for identity in ("../../x", "mill") for profile in ("paper", "upstream")
    ]
    # Two reports, one batch each; the one claim with a source is the same, and so is its page.
    assert len(engine.calls) == 2 + 1 + 1


async def test_an_unreadable_report_stops_no_other(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge()
    store = RunStore(tmp_path / "run")
    records = await execute([raw("a", b""), raw("b"), raw("c", b"\xff")], judge, snapshot, VERIFYING, store)
    assert [record.status for record in records] == ["unreadable", "done", "unreadable"]
    assert all("\n" not in record.detail for record in records)
    assert records[0].detail.startswith("a.md: ")
    assert {score.case for score in load_scores(store, ["deer"])} == {"b"}


async def test_a_record_has_what_its_report_can_be_grouped_by(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge()
    german = Task(
        id="a",
        prompt="Was hat die Erneuerung der Fernwärme gekostet?",
        topic="Law",
        attributes=(("tier", "2"),),
    )
    named = Task(id="b", prompt=german.prompt, attributes=(("language", "English"),))
    reports = [
        raw("a")._replace(task=german),
        raw("b", b"")._replace(task=named),  # cannot be read, and stands in a group all the same
        raw("c"),
    ]
    records = await execute(reports, judge, snapshot, VERIFYING, RunStore(tmp_path / "run"))
    assert [record.attributes for record in records] == [
        {"tier": "2", "topic": "Law", "language": "de"},
        {"language": "English"},
        {"language": "en"},
    ]


async def test_a_record_and_the_seal_name_what_was_not_read(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge()
    store = RunStore(tmp_path / "run")
    store.write_json(MANIFEST, {"format_version": FORMAT})
    dangling = raw("dangling", MILL.replace(b"dear", b"dear [2]"))
    records = await execute([raw("mill"), dangling], judge, snapshot, VERIFYING, store)
    problem = Problem(kind="dangling_marks", n=1, of=2)
    assert [record.problems for record in records] == [(), (problem,)]
    assert [record.n_unread_citations for record in records] == [0, 1]
    seal_run(store, problems_of(records))
    seal = seal_of(store.read_json(MANIFEST))
    assert seal is not None and seal.problems == {"dangling": (problem,)}


async def test_a_defect_of_a_protocol_is_that_report_s_record(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine = Deer.examine

    async def crashing(self: Deer, case: Case, context: EvalContext) -> DeerFindings:
        if case.id == "a":
            raise ZeroDivisionError("nobody cites")
        return await examine(self, case, context)

    monkeypatch.setattr(Deer, "examine", crashing)
    judge, _ = make_judge()
    store = RunStore(tmp_path / "run")
    first, second = await execute([raw("a"), raw("b")], judge, snapshot, VERIFYING, store)
    assert (first.status, second.status) == ("crashed", "done")
    assert first.detail.startswith("ZeroDivisionError: nobody cites (crashing, line ")
    assert {score.case for score in load_scores(store, ["deer"])} == {"b"}


async def test_what_concerns_all_reports_ends_the_run(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge()
    judge.ledger.close()
    with pytest.raises(LedgerError):
        await execute([raw("a")], judge, snapshot, VERIFYING, RunStore(tmp_path / "run"))
    with pytest.raises(ConfigError, match="no protocol 'x'; there are: deepresearcheval, deer"):
        await execute([raw("a")], judge, snapshot, RunConfig(protocols=("x",)), RunStore(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


async def test_no_report_is_worked_on_once_the_run_has_ended(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is open to the run, such as its journal, is closed then."""
    going_on = asyncio.Event()

    async def evaluate(report: RawReport, *arguments: object) -> CaseRecord:
        if report.id == "a":
            raise LedgerError("the disk is full")
        await going_on.wait()
        return CaseRecord(id=report.id, key=file_key(report.id), status="done")

    monkeypatch.setattr("local_judge.runs.execution.execute._evaluate", evaluate)
    judge, _ = make_judge()
    told: list[CaseRecord] = []
    with pytest.raises(LedgerError, match="the disk is full"):
        await execute(
            [raw("b"), raw("a")], judge, snapshot, VERIFYING, RunStore(tmp_path / "run"), done=told.append
        )
    going_on.set()
    await asyncio.sleep(0.01)
    assert told == []


async def test_the_judge_s_missing_answers_are_counted(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    def no_verdicts(call: Call) -> Reply:
        return EngineFault("HTTP 500") if "Claims:\n" in call.prompt else believe(call)

    judge, _ = make_judge(no_verdicts)
    store = RunStore(tmp_path / "run")
    [record] = await execute([raw("a")], judge, snapshot, VERIFYING, store)
    assert (record.status, record.n_sentences_failed, record.n_verdicts_failed) == ("done", 0, 1)
    [paper, _] = load_scores(store, ["deer"])
    failed = [node.score.n_failed for root in paper.scores for _, node in root.walk()]
    assert any(failed)

    def nothing(call: Call) -> Reply:
        return EngineFault("HTTP 500")

    judge, _ = make_judge(nothing)
    [record] = await execute([raw("a")], judge, snapshot, VERIFYING, RunStore(tmp_path / "other"))
    assert (record.n_sentences_failed, record.n_verdicts_failed) == (2, 0)


async def test_rescoring_needs_nothing_but_the_files(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, engine = make_judge()
    store = RunStore(tmp_path / "run")
    await execute([raw("a"), raw("b", b"")], judge, snapshot, VERIFYING, store)
    before = tree(tmp_path / "run")
    asked = len(engine.calls)
    judge.ledger.close()
    (tmp_path / "run/scores/deer.jsonl").unlink()
    for path in (tmp_path / "run").glob("claims.*"):
        path.unlink()
    rescore(store, ["deer"], read_records(store))
    assert (tmp_path / "run/scores/deer.jsonl").read_bytes() == before["scores/deer.jsonl"]
    assert len(engine.calls) == asked


async def test_the_bytes_do_not_depend_on_delays(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    reports = [raw(name, MILL.replace(b"dear", name.encode())) for name in ("x", "y", "z")]
    for name, options in (("one", {"concurrency": 1}), ("many", {"concurrency": 64, "delay": 0.005})):
        judge, _ = make_judge(**options)
        await execute(reports, judge, snapshot, VERIFYING, RunStore(tmp_path / name))
    assert tree(tmp_path / "one") == tree(tmp_path / "many")


async def test_without_a_store_nothing_is_written(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    judge, _ = make_judge()
    [record] = await execute([raw("a")], judge, snapshot, VERIFYING, None)
    assert record.status == "done"
    assert all(name.startswith("ledger0.sqlite") for name in tree(tmp_path))


def test_records_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps({"id": "a", "key": "k", "status": "asleep"}) + "\n")
    with pytest.raises(Exception, match=r"cases\.jsonl:1: status: "):
        read_records(RunStore(tmp_path))
