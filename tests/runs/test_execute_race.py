"""RACE through a whole run: inputs joined, reports of several systems compared, scores stored, files written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import ConfigError
from local_judge.judge.judge import Judge
from local_judge.protocols.base import load_protocol
from local_judge.protocols.race import RaceFindings
from local_judge.runs.execution.execute import check_inputs, execute
from local_judge.runs.planning.config import RunConfig, settled
from local_judge.runs.planning.inputs import RawReport, load_reports
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.manifest import build_manifest, input_rows
from local_judge.runs.storage.records import load_scores
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.store import RunStore
from local_judge.tasks.files import TaskFiles
from serving.engines.scripted import Call, Reply, ScriptedEngine

from ..protocols.race.race_cases import REFERENCE, ROW, TASK, articles, judge_by, known
from ..scripted_judge import MakeJudge

RACE = RunConfig(protocols=("race",))
REPORT = "# The mill\n\nIt cost 8 million [1].\n\n## References\n\n[1] https://b.example/mill"


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


async def test_a_run_of_race(make_judge: MakeJudge, tmp_path: Path) -> None:
    reports = load_reports(
        [
            write(
                tmp_path / "reports.jsonl",
                {"id": "ada-900", "task_id": 900, "prompt": TASK.prompt, "article": REPORT, "system": "ada"},
                {"id": "bo-900", "task_id": 900, "prompt": TASK.prompt, "article": "None.", "system": "bo"},
            )
        ],
        TaskFiles(
            criteria=write(tmp_path / "criteria.jsonl", ROW),
            references=(
                write(tmp_path / "reference.jsonl", {"id": 900, "prompt": TASK.prompt, "article": REFERENCE}),
            ),
        ),
    )
    judge, engine = make_judge(judge_by(known))
    check_inputs(reports, None, [load_protocol("race")])
    store = RunStore(tmp_path / "run")
    records = await execute(reports, judge, None, RACE, store)
    assert [(one.status, one.system, one.task, one.n_calls_failed) for one in records] == [
        ("done", "ada", "900", 0),
        ("done", "bo", "900", 0),
    ]
    paper, upstream = load_scores(store, ["race"])[:2]
    # 6.9375 / (6.9375 + 8.6725)
    assert {root.id: root.score.value for root in paper.scores}["overall"] == pytest.approx(44.442665)
    assert upstream.scores[-1].score.value == pytest.approx(44.442665)
    assert paper.scores[-1].score.note == "order: paper, report first"
    found = store.read_item(findings_file("race", None), records[0].key, RaceFindings)
    assert (found.criteria, found.order) == (TASK.criteria, "paper")
    before = (store.root / "scores/race.jsonl").read_bytes()
    rescore(store, ["race"], records)
    assert (store.root / "scores/race.jsonl").read_bytes() == before
    assert len(engine.calls) == 2


async def test_the_manifest_knows_criteria_and_references(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge, _ = make_judge(judge_by(known))
    with_both = RawReport("a", REPORT.encode(), TASK, "a.md")
    without = RawReport(
        "b", REPORT.encode(), TASK.model_copy(update={"criteria": None, "references": ()}), "b"
    )
    config = settled(RACE)
    manifest = await build_manifest(config, {"stub": judge}, [with_both, without], None, {})
    one, other = input_rows([with_both, without])
    assert one["references_sha256"] == [hashlib.sha256(REFERENCE.encode()).hexdigest()]
    assert len(one["criteria_sha256"]) == 64
    assert "criteria_sha256" not in other and "references_sha256" not in other
    assert manifest["config"]["settings"]["race"]["order"] == "paper"
    assert manifest["protocols"]["race"] == {"version": "3", "data": None}


def test_what_a_task_lacks_ends_the_run_before_it_begins() -> None:
    alone = TASK.model_copy(update={"references": ()})
    reports = [RawReport(name, b"Text.", alone, f"{name}.md") for name in "ab"]
    with pytest.raises(
        ConfigError, match=r"race: report 'a' \(and 1 more\): its task '900' has no reference"
    ):
        check_inputs(reports, None, [load_protocol("race")])
    with pytest.raises(ConfigError, match=r"race: report 'c': no task; .*--tasks"):
        check_inputs([RawReport("c", b"Text.", None, "c.md")], None, [load_protocol("race")])


def by_length(call: Call) -> Reply:
    """A judge with an opinion of its own on real articles, the same whichever comes first."""

    def rule(text: str, criterion: str) -> float:
        return (len(text) + 7 * len(criterion)) % 101 / 10

    return judge_by(rule)(call)


def real_case(folder: Path, n_systems: int, tmp_path: Path) -> list[RawReport]:
    """Reports of `n_systems` on one published task, with its published criteria; other real reports as reference.

    The published reference reports are not among the data. They are about 2.4 times as long as these reports (some
    10,000 tokens against 4,200), so two of the longer ones, one after the other, stand in for one.
    """
    rows = [json.loads(line) for line in (folder / "raw.jsonl").read_text(encoding="utf-8").splitlines()]
    english = sorted((row for row in rows if row["id"] > 50), key=lambda row: len(row["article"]))
    task, longer = english[15], english[20:22]
    reference = {**task, "article": "\n\n".join(row["article"] for row in longer)}
    others = [row for row in english if row is not task and row not in longer]
    systems = others[:: len(others) // (n_systems - 1)][: n_systems - 1]  # of all lengths
    reports = [
        {"id": f"{row['id']}", "task_id": task["id"], "prompt": task["prompt"], "article": row["article"]}
        for row in (task, *systems)
    ]
    return load_reports(
        [write(tmp_path / "reports.jsonl", *reports)],
        TaskFiles(
            criteria=folder / "criteria.jsonl",
            references=(write(tmp_path / "reference.jsonl", reference),),
        ),
    )


async def computed(
    reports: Sequence[RawReport], judge: Judge, engine: ScriptedEngine, store: RunStore, **settings: Any
) -> int:
    """Prompt tokens that the prefix cache did not have."""
    config = RunConfig(protocols=("race",), settings={"race": settings})
    records = await execute(reports, judge, None, config, store)
    assert [record.n_calls_failed for record in records] == [0] * len(reports)
    return judge.meter.prompt_tokens - judge.meter.cached_tokens


async def test_reference_first_is_computed_once_for_all_systems(
    make_judge: MakeJudge, shared: Path, tmp_path: Path
) -> None:
    reports = real_case(shared / "data/reports/drb", 3, tmp_path)
    assert len({report.task.id for report in reports if report.task}) == 1
    task = reports[0].task
    assert task is not None and task.criteria is not None and task.criteria.joined == "id"
    n_criteria = sum(len(dimension.criteria) for dimension in task.criteria.dimensions)
    assert 21 <= n_criteria <= 31  # of any published task
    tokens: dict[str, int] = {}
    stores = {order: RunStore(tmp_path / order) for order in ("shared", "paper")}
    for order, store in stores.items():
        judge, engine = make_judge(by_length, context_tokens=200_000)
        tokens[order] = await computed(reports, judge, engine, store, order=order)
        assert len(engine.calls) == 3
        first = "Article 1" if order == "shared" else "Article 2"
        references = {articles(call.prompt)[first] for call in engine.calls}
        assert len(references) == 1
        # Everything is computed once at least: reference, criteria, and each report.
        shown = [text for call in engine.calls for text in articles(call.prompt).values()]
        least = sum(len(text) for text in dict.fromkeys(shown)) // 4
        prompts = sum(len(call.prompt) for call in engine.calls) // 4
        if order == "shared":
            # And nothing but the instructions twice: under 600 tokens a call.
            listed = sum(
                len(one.criterion + one.explanation) for d in task.criteria.dimensions for one in d.criteria
            )
            assert least <= tokens[order] <= least + listed // 4 + 3 * 600 + 1000
        else:
            # Nothing is shared but the request: the reports come next.
            assert prompts - 3 * 400 <= tokens[order] <= prompts + 3
    assert tokens["shared"] / tokens["paper"] < 0.6
    # The judge's opinion does not depend on the order, so neither do the scores; the order is in each of them.
    by_order = {order: load_scores(store, ["race"]) for order, store in stores.items()}
    for one, other in zip(by_order["shared"], by_order["paper"], strict=True):
        assert [root.score.value for root in one.scores] == [root.score.value for root in other.scores]
        assert one.scores[-1].score.note == "order: shared, reference first"
        assert other.scores[-1].score.note == "order: paper, report first"


async def test_ten_systems_compute_a_third_of_the_papers_order(
    make_judge: MakeJudge, shared: Path, tmp_path: Path
) -> None:
    reports = real_case(shared / "data/reports/drb", 10, tmp_path)
    tokens: dict[str, int] = {}
    for order in ("shared", "paper"):
        judge, engine = make_judge(by_length, context_tokens=200_000)
        tokens[order] = await computed(reports, judge, engine, RunStore(tmp_path / order), order=order)
    assert tokens["shared"] / tokens["paper"] <= 0.35
