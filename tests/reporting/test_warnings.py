"""Warnings about a run: each is counted in the run's own files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.claims.model import ClaimSet, Evidence, Verdict
from local_judge.documents.health import Problem, ProblemKind
from local_judge.reporting.warnings import record_warnings, run_warnings, server_warnings
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore
from serving.types import ReplicaUse


def done(id: str, **more: Any) -> CaseRecord:
    return CaseRecord(id=id, key="k", status="done", **more)


def store(folder: Path, judges: int = 1, **settings: Any) -> RunStore:
    identity = {"engine": "vllm", "engine_version": "1", "model": "m"}
    manifest = {
        "format_version": 4,
        "judges": [{"name": f"j{n}", "identity": identity, "sampling": {}} for n in range(judges)],
        "config": {"protocols": ["race"], "settings": {"race": settings}},
        "protocols": {"race": {"version": "1"}},
        "reports": {"n": 0},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return RunStore(folder)


@pytest.mark.parametrize(
    ("read", "of", "said"), [(0, 57, True), (28, 57, True), (29, 57, False), (0, 0, False)]
)
def test_sources_that_the_snapshot_lacks(read: int, of: int, said: bool) -> None:
    found = list(record_warnings([done("a", n_sources=of, n_sources_read=read)]))
    assert [(one.kind, one.level, one.n, one.of) for one in found] == [
        ("few_sources", "warning", read, of)
    ] * said
    assert all(f"{read} of 57 sources are in the snapshot" in one.text for one in found)


def test_a_few_reports_that_were_not_evaluated_are_named() -> None:
    failed = [CaseRecord(id=f"r{n}\x1b[2J", key="k", status="unreadable", detail="empty") for n in range(9)]
    found = list(record_warnings([*failed, done("good")]))
    assert [one.text for one in found][:1] == ["r0 [2J: unreadable: empty"]
    assert found[5].text == "4 more reports were not evaluated: `--json` lists them"
    assert len(found) == 6 and {one.kind for one in found} == {"not_evaluated"}


@pytest.mark.parametrize(("failed", "level"), [(1, "note"), (2, "warning")])
def test_missing_answers_are_a_warning_above_a_tenth_of_the_reports(failed: int, level: str) -> None:
    records = [done(f"r{n}", n_questions_failed=3 if n < failed else 0) for n in range(10)]
    (found,) = record_warnings(records)
    assert (found.kind, found.level, found.n, found.of) == ("failed_calls", level, failed, 10)
    assert found.text.startswith(f"{3 * failed} answers of the judge are missing, in {failed} of 10 reports")


def unread(kind: ProblemKind, n: int, of: int = 0) -> tuple[Problem, ...]:
    return (Problem(kind=kind, n=n, of=of),)


def test_reports_of_which_citations_were_not_read_are_named_those_with_most_first() -> None:
    shares = {"a": unread("dangling_marks", 1, 10), "b\x1b[2J": unread("uncited_list", 2, 10), "c": ()}
    shares["d"] = unread("entries_in_text", 1)
    found = list(record_warnings([done(id, problems=problems) for id, problems in shares.items()]))
    assert [(one.kind, one.level, one.n, one.of) for one in found] == [
        ("unread_citations", level, n, 4) for level, n in (("warning", 1), ("warning", 2), ("note", 1))
    ]
    assert [one.text.partition(" ")[0] for one in found] == ["d", "b", "a"]
    assert found[2].text.endswith(": 1 of 10") and "\x1b" not in found[1].text


def test_a_few_reports_of_which_citations_were_not_read_are_named() -> None:
    found = list(record_warnings([done(f"r{n}", problems=unread("unread_marks", 9, 9)) for n in range(9)]))
    assert [(one.level, one.n) for one in found] == [("warning", 9)] * 5 + [("warning", 4)]
    assert found[5].text.startswith("4 ") and "text check" in found[5].text


def test_a_run_by_one_judge_in_one_draw_over_few_tasks(tmp_path: Path) -> None:
    records = [done(f"{system}{n}", system=system, task=f"t{n}") for system in "ab" for n in range(3)]
    found = {one.kind: one for one in run_warnings(store(tmp_path), records)}
    assert list(found) == ["unfinished", "qualification", "single_draw", "few_tasks"]
    assert found["unfinished"].text.startswith("the run is not finished: 6 of 0 reports so far")
    assert found["qualification"].level == "warning"
    assert found["qualification"].judge == "j0" and "judge qualify j0" in found["qualification"].text
    assert found["few_tasks"].n == 3 and found["few_tasks"].text.startswith("3 tasks per system are few")


def test_what_is_repeated_or_large_is_not_warned_about(tmp_path: Path) -> None:
    records = [done(f"r{n}") for n in range(20)]
    for folder, of in (("draws", store(tmp_path, draws=3)), ("judges", store(tmp_path, judges=2))):
        kinds = {one.kind for one in run_warnings(of, records)}
        assert kinds == {"unfinished", "qualification"}, folder
    assert {one.judge for one in run_warnings(store(tmp_path, judges=2), records, judge="j1")} == {None, "j1"}


def test_pages_of_which_judges_saw_a_part(tmp_path: Path) -> None:
    def verdict(whole: bool) -> Verdict:
        evidence = Evidence(url="https://a.example", text_digest="", chunks=(), whole_page=whole)
        return Verdict(
            claim="c", url="https://a.example", label="supported", evidence=evidence, method="scored"
        )

    claims = ClaimSet(
        document="d", n_sentences=1, claims=(), sources=(), verdicts=tuple(map(verdict, (True, False, False)))
    )
    found = {one.kind: one for one in run_warnings(store(tmp_path), [done("a")], claims=[claims])}
    assert (found["partial_pages"].n, found["partial_pages"].of) == (2, 3)
    assert found["partial_pages"].level == "warning"


def test_servers_that_are_away() -> None:
    def server(away: bool) -> ReplicaUse:
        return ReplicaUse(
            url=f"http://{away}",
            requests=1,
            prompt_tokens=1,
            cached_tokens=0,
            failures=1,
            seconds_away=61.0,
            away=away,
        )

    (found,) = server_warnings([server(True), server(False)])
    assert found.text == "the server http://True has not answered for 61 s; others do its work"
