"""The published project's own files through the commands, and what these write taken back by them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local_judge.protocols.race.upstream import means
from local_judge.runs.storage.items import file_key
from local_judge.runs.storage.store import RunStore
from tests.stub_replies import fill
from tests.stub_server import StubPlan

from ..stub_thread import StubThread
from .conftest import ROOT, Command

DRB = ROOT.parent / "shared" / "data" / "reports" / "drb"
pytestmark = pytest.mark.skipif(not DRB.exists(), reason="real reports are not here")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answer(asked: Mapping[str, Any]) -> str:
    return json.dumps(
        {key: {"analysis": "So.", "article_1": 6, "article_2": 4} for key in json.loads(fill(asked))}
    )


def test_raw_reports_are_cleaned_and_compared_and_the_result_files_are_the_published_ones(
    command: Command, tmp_path: Path, preset: Path
) -> None:
    cleaned = tmp_path / "cleaned.jsonl"
    assert command("text", "clean", DRB / "raw.jsonl", "--out", cleaned) == (0, "", "")
    raw, ours = rows(DRB / "raw.jsonl"), rows(cleaned)
    # Three fields, ids as numbers, prompts as they are, in the order of the raw file.
    assert [list(row) for row in ours] == [["id", "prompt", "article"]] * 60
    assert [(row["id"], row["prompt"]) for row in ours] == [(row["id"], row["prompt"]) for row in raw]

    with StubThread(StubPlan(answer=answer, context_tokens=131_072)) as server:
        # The published cleaned texts, which come in another order, serve as references; joined by id.
        compare = ("--tasks", DRB / "query.jsonl", "--criteria", DRB / "criteria.jsonl")
        compare = (*compare, "--references", DRB / "cleaned.jsonl", "--protocol", "race", "--limit", "3")
        judge = ("--judge", preset, "--base-url", server.url)
        ended = command("run", cleaned, *judge, *compare, "--out", tmp_path / "run")
        assert (ended.code, ended.err) == (0, "")
        assert len(server.chats) == 3
    out = tmp_path / "out"
    assert command("export", tmp_path / "run", out, "--format", "race").code == 0
    written, published = rows(out / "raw_results.jsonl"), rows(DRB / "results_race" / "raw_results.jsonl")
    assert list(written[0]) == list(published[0])
    assert [row["id"] for row in written] == sorted(row["id"] for row in raw)[:3]
    by_id = {row["id"]: row["prompt"] for row in rows(DRB / "query.jsonl")}
    assert [row["prompt"] for row in written] == [by_id[row["id"]] for row in written]
    # The report is first and gets 6, the reference 4.
    assert [row["overall_score"] for row in written] == pytest.approx([0.6] * 3)
    assert means(written) == (out / "race_result.txt").read_text("utf-8")
    assert means(published) == (DRB / "results_race" / "race_result.txt").read_text("utf-8")
    found = json.loads(
        RunStore(tmp_path / "run").item("findings/race.jsonl", file_key(str(written[0]["id"]))) or b""
    )
    assert (found["criteria"]["joined"], found["references"][0]["joined"]) == ("id", "id")


def test_string_ids_and_other_ids_are_joined_by_the_request(
    command: Command, tmp_path: Path, preset: Path
) -> None:
    report = {**rows(DRB / "cleaned.jsonl")[0], "id": "mine"}
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(report) + "\n", encoding="utf-8")
    with StubThread(StubPlan(answer=answer, context_tokens=131_072)) as server:
        judge = ("--judge", preset, "--base-url", server.url)
        files = ("--criteria", DRB / "criteria.jsonl", "--references", DRB / "raw.jsonl")
        ended = command("run", path, *judge, *files, "--protocol", "race", "--out", tmp_path / "run")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads((tmp_path / "run/findings/race.jsonl").read_text("utf-8"))
    assert (found["criteria"]["joined"], found["references"][0]["joined"]) == ("prompt", "prompt")
