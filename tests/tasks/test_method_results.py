"""Reports in DeepResearchEval's layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.documents import parse_report
from local_judge.runs.planning.inputs import load_reports
from local_judge.tasks.files import TaskFiles

REQUEST = "What did the mill cost?"
WRAPPED = f"""Conversation with Gemini

{REQUEST}

Here's a research plan for that topic.

Gemini can make mistakes, so double-check it The mill Contents Export Create

It cost 8 million and a half [1](https://b.example/x)."""
"""In the form of a chat's export, in our words."""


def write(path: Path, task: int, response: str = "It cost 8 million.", **fields: Any) -> Path:
    data = {
        "query_id": task,
        "topic": "Mills",
        "language": "en",
        "entries": [{"query": REQUEST, "response": response, "entry_type": "assistant"}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data | fields), encoding="utf-8")
    return path


def test_a_folder_of_systems(tmp_path: Path) -> None:
    base = tmp_path / "method_results"
    for system in ("bob", "ada"):
        write(base / system / "deep_research_10_20260101_1.json", 10)
        write(base / system / "2.json", 2)
        (base / system / "notes.json").write_text("{}")
    found = load_reports([base])
    assert [(one.id, one.system, one.task_id, one.task and one.task.prompt) for one in found] == [
        ("ada/2", "ada", "2", REQUEST),
        ("ada/10", "ada", "10", REQUEST),
        ("bob/2", "bob", "2", REQUEST),
        ("bob/10", "bob", "10", REQUEST),
    ]
    assert [one.id for one in load_reports([base / "bob"])] == ["bob/2", "bob/10"]
    [alone] = load_reports([base / "bob" / "2.json"])
    assert (alone.id, alone.system, alone.content) == ("2", "bob", b"It cost 8 million.")


def test_what_a_chat_put_around_a_response_is_no_part_of_the_report(tmp_path: Path) -> None:
    [report] = load_reports([write(tmp_path / "1.json", 1, WRAPPED)])
    text = parse_report(report.content).labelled()
    assert "It cost 8 million and a half" in text
    assert "Conversation with Gemini" not in text and "research plan" not in text


@pytest.mark.parametrize("key", ["query", "user_query"])
def test_a_file_of_a_response_alone(tmp_path: Path, key: str) -> None:
    path = tmp_path / "deep_research_4_x.json"
    path.write_text(json.dumps({key: REQUEST, "response": "It cost 8 million."}))
    [report] = load_reports([path])
    assert (report.id, report.task and report.task.prompt, report.system) == ("4", REQUEST, None)


def test_two_reports_of_a_system_on_a_task(tmp_path: Path) -> None:
    write(tmp_path / "ada" / "2.json", 2)
    write(tmp_path / "ada" / "deep_research_2_x.json", 2)
    with pytest.raises(InputError, match="'ada/2' appears twice"):
        load_reports([tmp_path / "ada"])


def test_ids_that_differ(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its query_id is '3', and its name says '2'"):
        load_reports([write(tmp_path / "2.json", 3)])


def test_a_folder_with_reports_of_another_form_is_read_as_before(tmp_path: Path) -> None:
    write(tmp_path / "2.json", 2)
    (tmp_path / "mill.md").write_text("It cost 8 million.")
    assert [one.id for one in load_reports([tmp_path])] == ["mill"]


@pytest.mark.parametrize(
    ("response", "urls"),
    [
        ("It cost 8 million [2].", ["https://b.example/2"]),
        ("It cost 8 million [1](https://a.example/1) [2].", ["https://a.example/1", "https://b.example/2"]),
        # Numbers of another list: a number has another link, or is beyond the list of what was used.
        ("It cost 8 million [2](https://a.example/1) [1].", ["https://a.example/1", None]),
        ("It cost 8 million [3](https://c.example/3) [1].", ["https://c.example/3", None]),
    ],
)
def test_numbers_refer_to_the_sources_beside_the_response(
    tmp_path: Path, response: str, urls: list[str | None]
) -> None:
    sources = (
        "Sources used in the report[a.exampleHeat](https://a.example/1)[b.exampleFlow](https://b.example/2)"
        "Sources read but not used in the report[c.exampleFire](https://c.example/3)"
    )
    entry = {"query": REQUEST, "response": response, "deep_research_sources": sources}
    [report] = load_reports([write(tmp_path / "1.json", 1, entries=[entry])])
    assert [citation.url for citation in report.parse().citations] == urls


def test_the_published_files(shared: Path) -> None:
    folder = shared / "data" / "reports" / "dre"
    found = load_reports([folder], TaskFiles(tasks=folder / "query.jsonl"))
    assert [(one.id, one.task_id) for one in found] == [("dre/1", "1"), ("dre/3", "3"), ("dre/5", "5")]
    assert all(one.task and one.task.topic for one in found)
    for one in found:
        document = one.parse()
        text = document.labelled()
        assert "Conversation with Gemini" not in text and len(text) > 40_000
        assert {citation.state for citation in document.citations} == {"resolved"}
