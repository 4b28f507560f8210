from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.documents import UnreadableReport, parse_report
from local_judge.runs.planning.inputs import load_reports
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Guidance, Task


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_folder_gives_its_reports_in_order_of_name(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", "c.MARKDOWN", "d.html", ".hidden"):
        write(tmp_path / name, name)
    (tmp_path / "sub.md").mkdir()
    found = load_reports([tmp_path])
    assert [(report.id, report.content, report.task) for report in found] == [
        ("a", b"a.txt", None),
        ("b", b"b.md", None),
        ("c", b"c.MARKDOWN", None),
        ("d", b"d.html", None),
    ]


def test_rows_of_every_shape(tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    rows = [
        {"id": 1, "prompt": "Why?", "article": "Because."},
        {"id": "two", "report": "So.", "text": "not this"},
        {"id": "三", "query": "何", "response": "是。", "more": [1]},
    ]
    path.write_text(
        "\ufeff" + "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8"
    )
    assert [
        (report.id, report.content.decode(), report.task, report.place) for report in load_reports([path])
    ] == [
        ("1", "Because.", Task(id="1", prompt="Why?"), f"{path}:1"),
        ("two", "So.", None, f"{path}:3"),
        ("三", "是。", Task(id="三", prompt="何"), f"{path}:5"),
    ]


def test_without_a_report_the_message_says_what_is_there(tmp_path: Path) -> None:
    empty = write(tmp_path / "reports.jsonl", " \n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError) as caught:
        load_reports([tmp_path / "folder", empty])
    assert str(caught.value) == f"{empty}: the file is empty"
    with pytest.raises(InputError, match=r"no reports in .*folder: expected \.md, "):
        load_reports([tmp_path / "folder"])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"article": "A."}', "a report needs `id` and one of report, article, text, response"),
        ('{"id": 1}', "a report needs `id`"),
        ('{"id": 1, "article": 5}', "a report needs `id`"),
        ('{"id": null, "article": "A."}', "a report needs `id`"),
        ('{"id": {}, "article": "A."}', "text or a whole number"),
        ('{"id": true, "article": "A."}', "text or a whole number"),
        ('{"id": "\\udc80", "article": "A."}', "text or a whole number"),
        ('["A."]', "expected a JSON object"),
        ("A.", "not JSON"),
        ("[" * 50_000, "not JSON"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, row: str, said: str) -> None:
    path = write(tmp_path / "reports.jsonl", '{"id": 0, "article": "A."}\n' + row)
    with pytest.raises(InputError) as caught:
        load_reports([path])
    assert str(caught.value).startswith(f"{path}:2: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b'{"id": 1, "article": "\xfc"}')
    with pytest.raises(InputError, match="not UTF-8"):
        load_reports([path])


def test_a_lone_surrogate_in_a_report_is_that_report_s_failure(tmp_path: Path) -> None:
    path = write(
        tmp_path / "reports.jsonl", '{"id": 1, "article": "A \\ud800 b."}\n{"id": 2, "article": "B."}'
    )
    first, second = load_reports([path])
    with pytest.raises(UnreadableReport):
        parse_report(first.content)
    assert parse_report(second.content).sentences


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md"))
    path.write_bytes(b"A.")
    with pytest.raises(InputError, match="rename it") as caught:
        load_reports([tmp_path])
    assert str(caught.value).encode()


def test_an_id_stands_once_over_all_files(tmp_path: Path) -> None:
    write(tmp_path / "a.md", "A.")
    write(tmp_path / "a.txt", "A.")
    with pytest.raises(InputError, match=r"report id 'a' appears twice: in .*a\.md and in .*a\.txt"):
        load_reports([tmp_path])


def test_a_file_for_each_system(tmp_path: Path) -> None:
    rows = '{"id": 1, "prompt": "Why?", "article": "%s."}\n{"id": 2, "prompt": "How?", "article": "%s."}\n'
    one, other = (write(tmp_path / f"model-{name}.jsonl", rows % (name, name)) for name in "ab")
    found = load_reports([one, other])
    assert [(r.id, r.system, r.task_id, r.task.id if r.task else None, r.content) for r in found] == [
        ("model-a/1", "model-a", "1", "1", b"a."),
        ("model-a/2", "model-a", "2", "2", b"a."),
        ("model-b/1", "model-b", "1", "1", b"b."),
        ("model-b/2", "model-b", "2", "2", b"b."),
    ]
    # Where no id stands twice, the files are parts of one set.
    assert [(r.id, r.system) for r in load_reports([one])] == [("1", None), ("2", None)]
    assert [(r.id, r.system) for r in load_reports([one], system="x")] == [("1", "x"), ("2", "x")]
    with pytest.raises(InputError, match="report id '1' appears twice"):
        load_reports([one, other], system="x")
    twice = write(tmp_path / "twice.jsonl", (rows % ("a", "a")) * 2)
    with pytest.raises(InputError, match="report id '1' appears twice"):
        load_reports([twice])


def test_tasks_are_joined_by_id(tmp_path: Path) -> None:
    reports = write(
        tmp_path / "reports.jsonl",
        '{"id": 1, "article": "A.", "task": "old"}\n{"id": 2, "article": "B.", "task": "kept"}',
    )
    tasks = write(tmp_path / "tasks.jsonl", '{"id": "1", "prompt": "new"}\n{"id": 3, "prompt": "other"}')
    assert [report.task for report in load_reports([reports], TaskFiles(tasks=tasks))] == [
        Task(id="1", prompt="new"),
        Task(id="2", prompt="kept"),
    ]
    foreign = write(tmp_path / "foreign.jsonl", '{"id": 9, "prompt": "x"}')
    with pytest.raises(InputError, match="none of its 1 task ids matches a report, such as '1'"):
        load_reports([reports], TaskFiles(tasks=foreign))
    twice = write(tmp_path / "twice.jsonl", '{"id": 9, "prompt": "x"}\n{"id": 9, "prompt": "y"}')
    with pytest.raises(InputError, match="task id '9' appears twice"):
        load_tasks(twice)
    without = write(tmp_path / "without.jsonl", '{"id": 9}')
    with pytest.raises(InputError, match=r"without\.jsonl:1: .*`id` .*prompt, query, question"):
        load_tasks(without)


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "{}",
        '{"query_id": 1, "entries": []}',
        '{"query_id": 1, "entries": [{"response": null, "query": "q"}]}',
    ],
)
def test_json_that_is_no_export_of_deepresearcheval(tmp_path: Path, data: str) -> None:
    path = write(tmp_path / "report.json", data)
    with pytest.raises(InputError, match="not a report of DeepResearchEval"):
        load_reports([path])


def test_the_real_collections(shared: Path) -> None:
    folder = shared / "data" / "reports"
    bench = load_reports([folder / "drb" / "raw.jsonl"], TaskFiles(tasks=folder / "drb" / "query.jsonl"))
    assert len(bench) == 60
    assert all(report.task and report.content for report in bench)
    live = load_reports([folder / "lrb"])
    assert [report.id for report in live] == sorted(report.id for report in live)
    exported = load_reports(sorted((folder / "dre").glob("deep_research_*.json")))
    assert [report.id for report in exported] == ["1", "3", "5"]
    assert all(report.task for report in exported)


def test_reports_of_several_systems_share_a_task_and_its_guidance(tmp_path: Path) -> None:
    reports = write(
        tmp_path / "reports.jsonl",
        '{"id": "a1", "task_id": 1, "system": "ada", "report": "A."}\n'
        '{"id": "b1", "task_id": "1", "system": "bob", "report": "B.", "task": "own", "guidance": "own too"}\n'
        '{"id": "a2", "task_id": 2, "system": "ada", "report": "C.", "task": "kept"}',
    )
    found = load_reports([reports])
    assert [(report.task_id, report.system) for report in found] == [("1", "ada"), ("1", "bob"), ("2", "ada")]
    assert [report.task for report in found] == [
        None,
        Task(id="1", prompt="own", guidance=Guidance(text="own too")),
        Task(id="2", prompt="kept"),
    ]
    tasks = write(tmp_path / "tasks.jsonl", '{"id": 1, "prompt": "shared", "guidance": "came with it"}')
    guidance = write(tmp_path / "guidance.jsonl", '{"task_id": "1", "text": "an expert wrote it"}')
    came, expert = Guidance(text="came with it"), Guidance(text="an expert wrote it")
    joined = [report.task for report in load_reports([reports], TaskFiles(tasks=tasks))]
    assert joined[:2] == [Task(id="1", prompt="shared", guidance=came)] * 2
    joined = [report.task for report in load_reports([reports], TaskFiles(tasks=tasks, guidance=guidance))]
    assert joined == [*[Task(id="1", prompt="shared", guidance=expert)] * 2, Task(id="2", prompt="kept")]
    other = write(tmp_path / "other.jsonl", '{"task_id": "9", "text": "of another task"}')
    with pytest.raises(InputError, match="none of its 1 task ids is that of a report's task"):
        load_reports([reports], TaskFiles(tasks=tasks, guidance=other))


def test_deer_s_folders_are_reports_with_tasks_and_guidance(tmp_path: Path) -> None:
    for number in ("10", "2"):
        (tmp_path / number).mkdir()
        write(tmp_path / number / "query.md", f"Question {number}?\n")
        write(tmp_path / number / f"ada_{number}.md", f"Answer {number}.")
    write(tmp_path / "2" / "core_criteria.md", "Say why.")
    write(tmp_path / "2" / "bob_0002.md", "Another.")
    found = load_reports([tmp_path])
    two = Task(id="2", prompt="Question 2?", guidance=Guidance(text="Say why."))
    assert [(report.id, report.system, report.task, report.content) for report in found] == [
        ("ada_2", "ada", two, b"Answer 2."),
        ("bob_0002", "bob", two, b"Another."),
        ("ada_10", "ada", Task(id="10", prompt="Question 10?"), b"Answer 10."),
    ]


def test_a_system_that_is_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "reports.jsonl", '{"id": 1, "report": "A.", "system": 5}')
    with pytest.raises(InputError, match=r"reports\.jsonl:1: `system` must be"):
        load_reports([path])


def test_guidance_of_a_report_is_kept_where_its_task_has_none(tmp_path: Path) -> None:
    reports = write(tmp_path / "r.jsonl", '{"id": 1, "report": "A.", "guidance": "Say why."}')
    for text, guidance in (
        ('{"id": 1, "task": "Q?"}', "Say why."),
        ('{"id": 1, "task": "Q?", "guidance": "B."}', "B."),
    ):
        [report] = load_reports([reports], TaskFiles(tasks=write(tmp_path / "t.jsonl", text)))
        assert report.task == Task(id="1", prompt="Q?", guidance=Guidance(text=guidance))


def test_guidance_of_another_request_and_drafts_beside_an_expert_s(tmp_path: Path) -> None:
    reports = write(
        tmp_path / "r.jsonl", '{"id": 1, "report": "A.", "task": "Q?", "guidance": "An expert\'s."}'
    )

    def guided(row: str) -> str | None:
        [report] = load_reports([reports], TaskFiles(guidance=write(tmp_path / "g.jsonl", row)))
        assert report.task is not None
        return report.task.guidance.text if report.task.guidance else None

    assert guided('{"task_id": "1", "text": "D.", "status": "drafted", "task": "Q?"}') == "An expert's."
    assert guided('{"task_id": "1", "text": "D.", "status": "reviewed", "task": "Q?"}') == "D."
    assert guided('{"task_id": "1", "text": "D.", "status": "rejected", "task": "Q?"}') == "An expert's."
    with pytest.raises(InputError, match="the guidance of task '1' was drafted for another request"):
        guided('{"task_id": "1", "text": "D.", "status": "reviewed", "task": "Why?"}')


def test_one_task_s_folder_or_one_of_its_reports(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    for name in ("query.md", "core_criteria.md", "ada_7.md", "bob_7.md"):
        write(tmp_path / "7" / name, f"{name}.")
    expected = Task(id="7", prompt="query.md.", guidance=Guidance(text="core_criteria.md."))
    assert [report.id for report in load_reports([tmp_path / "7"])] == ["ada_7", "bob_7"]
    [one] = load_reports([tmp_path / "7" / "bob_7.md"])
    assert (one.id, one.system, one.task) == ("bob_7", "bob", expected)
    with pytest.raises(InputError, match="no report of its task"):
        load_reports([tmp_path / "7" / "query.md"])


@pytest.mark.parametrize("task", ['"  "', '"\\ud800"'])
def test_a_task_says_something(tmp_path: Path, task: str) -> None:
    with pytest.raises(InputError, match="its task is empty, or cannot be written"):
        load_reports([write(tmp_path / "r.jsonl", f'{{"id": 1, "report": "A.", "task": {task}}}')])
