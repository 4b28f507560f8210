from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Guidance, Task


def test_rows_of_every_shape(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    rows = [
        {"id": 3, "prompt": "Why?", "language": "en"},
        {"id": "b", "query": "何时？", "guidance": "必须给出年份。\n"},
        {"id": "a", "task": 5, "question": "How?", "guidance": " "},
    ]
    path.write_text("\ufeff" + "\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    tasks = load_tasks(path)
    assert list(tasks) == ["3", "b", "a"]
    assert tasks["3"] == Task(id="3", prompt="Why?", attributes=(("language", "en"),))
    assert tasks["b"].guidance == Guidance(text="必须给出年份。", status="given")
    assert (tasks["a"].prompt, tasks["a"].guidance) == ("How?", None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no tasks in it"),
        ('{"id": 1}', "a task needs `id` and one of task, prompt, query, question"),
        ('{"prompt": "Why?"}', "a task needs `id`"),
        ('{"id": 1, "prompt": " "}', "the request of task '1' is empty"),
        ('{"id": 1, "prompt": "\\ud800"}', "cannot be written as UTF-8"),
        ('{"id": 1, "prompt": "Why?", "guidance": ["a"]}', "`guidance` must be a text"),
        ('{"id": 1, "prompt": "Why?", "guidance": "\\udfff"}', "`guidance` must be a text"),
        ('{"id": 1, "prompt": "Why?"}\n{"id": "1", "prompt": "How?"}', ":2: task id '1' appears twice"),
        ("[" * 100_000, ":1: not JSON"),
        ('{"id": 1, "prompt": "Why?", "prompt": "How?"}', ":1: not JSON (the key 'prompt' stands twice"),
        ("[1]", "a JSON object"),
    ],
)
def test_bad_rows_end_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_tasks(path)
    assert said in str(error.value)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    with pytest.raises(InputError, match="no such file"):
        load_tasks(path)
    path.write_bytes(b'{"id": 1, "prompt": "\xff"}')
    with pytest.raises(InputError, match="not UTF-8"):
        load_tasks(path)


def test_the_tasks_of_real_reports(shared: Path) -> None:
    tasks = load_tasks(shared / "data/reports/drb/query.jsonl")
    assert len(tasks) > 50
    assert all(task.guidance is None for task in tasks.values())
