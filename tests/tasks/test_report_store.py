"""LiveResearchBench's report stores, indexes and batch files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import InputError
from local_judge.runs.planning.config import parse_settings, with_batch_metrics
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.planning.run_file import load_config
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.layouts import is_report_store, read_batch, read_index, stored_reports


def write(path: Path, text: str = "# A report\n\nSo it is.\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    base = tmp_path / "reports"
    for name in ("beta/qid_t1_report.md", "alpha/qid_t2_report.md", "alpha/qid_t1_report.md"):
        write(base / name, f"# {name}\n\nSo it is.\n")
    write(base / "alpha/notes.md")
    return base


def row(system: str, task: str, path: Path | str, **more: Any) -> dict[str, Any]:
    return {
        "model_name": system,
        "query_id": task,
        "query": f"Ask {task}.",
        "report_file_path": str(path),
        **more,
    }


def index(folder: Path, *rows: Any) -> Path:
    metadata = {"timestamp": "20250930_120000", "total_reports": len(rows)}
    return write(folder / "reports_20250930_120000.json", json.dumps({"metadata": metadata, "reports": rows}))


def test_a_store_gives_systems_and_tasks(store: Path) -> None:
    found = load_reports([store])
    assert [(one.id, one.system, one.task_id) for one in found] == [
        ("alpha/t1", "alpha", "t1"),
        ("alpha/t2", "alpha", "t2"),
        ("beta/t1", "beta", "t1"),
    ]
    assert found[0].content.startswith(b"# alpha/qid_t1") and found[0].task is None
    assert [one.id for one in load_reports([store / "alpha"])] == ["alpha/t1", "alpha/t2"]


def test_tasks_are_joined_by_the_id_in_the_file_name(store: Path, tmp_path: Path) -> None:
    tasks = write(tmp_path / "tasks.jsonl", '{"id": "t1", "prompt": "Ask."}\n')
    found = load_reports([store], TaskFiles(tasks=tasks))
    assert [one.task.prompt if one.task else None for one in found] == ["Ask.", None, "Ask."]


def test_one_file_of_a_store_is_what_it_is_in_its_store(store: Path, tmp_path: Path) -> None:
    file = store / "alpha" / "qid_t2_report.md"
    [alone] = load_reports([file])
    assert alone == next(report for report in load_reports([store]) if report.id == "alpha/t2")
    assert (alone.system, alone.task_id) == ("alpha", "t2")
    with pytest.raises(InputError, match=r"lists\.jsonl: no report has a task to join it to; give --tasks$"):
        lists = write(tmp_path / "lists.jsonl", json.dumps({"task_id": "t2", "items": ["Is it so?"]}) + "\n")
        load_reports([file], TaskFiles(checklists=lists))


def test_other_folders_are_none(tmp_path: Path) -> None:
    write(tmp_path / "plain/a.md")
    assert not is_report_store(tmp_path / "plain")
    assert list(stored_reports(tmp_path / "plain")) == []
    assert [one.id for one in load_reports([tmp_path / "plain"])] == ["a"]


def test_a_system_that_cannot_be_read_is_named(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Path.iterdir

    def locked(folder: Path) -> Iterator[Path]:
        if folder.name == "alpha":
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", locked)
    assert is_report_store(store)  # by the other system
    with pytest.raises(InputError, match="alpha: cannot be read"):
        load_reports([store])


def test_an_index_gives_requests_and_each_report_once(store: Path, tmp_path: Path) -> None:
    first = row("beta", "qid_t1", store / "beta/qid_t1_report.md", extra=1)
    file = index(tmp_path, first, row("alpha", "t2", "reports/alpha/qid_t2_report.md"), first)
    found = load_reports([file])
    assert [(one.id, one.task.prompt if one.task else None) for one in found] == [
        ("beta/t1", "Ask qid_t1."),
        ("alpha/t2", "Ask t2."),  # beside the index
    ]
    assert read_index(write(tmp_path / "other.json", "[]")) is None


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [row("a", "t", "nowhere.md")],
            r"reports\[0\]: no file 'nowhere.md', neither here nor beside the index",
        ),
        ([row("a", "t", "x" * 5_000)], r"reports\[0\]: no file 'x{59}… \(File name too long"),
        ([{"model_name": "a"}], r"reports\.0\.query_id"),
        (["x"], r"reports\.0 must be a mapping"),
        (
            [row("a", "t", "reports/alpha/qid_t1_report.md"), row("a", "t", "reports/beta/qid_t1_report.md")],
            r"reports\[1\]: a, t has another file than at .*reports\[0\]",
        ),
    ],
)
def test_a_faulty_index_ends_in_one_line(store: Path, rows: list[Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        load_reports([index(store.parent, *rows)])
    assert "\n" not in str(caught.value)


def test_a_batch_reads_its_indexes_and_names_metrics(store: Path, tmp_path: Path) -> None:
    index(tmp_path, row("alpha", "t1", store / "alpha/qid_t1_report.md"))
    text = (
        "input_files:\n  - reports_20250930_120000.json\ncriteria: [presentation, citation]\n"
        "providers: [openai]\nmax_concurrent: 5\n"
    )
    file = write(tmp_path / "batch.yaml", text)
    assert read_batch(file).criteria == ("presentation", "citation")
    assert [one.id for one in load_reports([file])] == ["alpha/t1"]


def test_the_metrics_of_a_batch_are_taken_where_nothing_else_chooses(store: Path, tmp_path: Path) -> None:
    index(tmp_path, row("alpha", "t1", store / "alpha/qid_t1_report.md"))
    text = "input_files: reports_20250930_120000.json\ncriteria: [presentation, citation]\n"
    file = write(tmp_path / "batch.yaml", text)

    def settings(config: str, given: Sequence[str] = ()) -> Any:
        overrides = {"settings": parse_settings(given)}
        loaded = load_config(
            write(tmp_path / "config.yaml", config),
            overrides,
            completed=partial(with_batch_metrics, [store, file]),
        )
        found = loaded.settings.get("liveresearchbench")
        return found and (found["parts"], found["issues"]["limit"])

    chosen = ["presentation", "citation"]
    alone = "protocols: [liveresearchbench]\n"
    assert settings(alone) == (chosen, 25)
    assert settings(alone, ["liveresearchbench.issues.limit=3"]) == (chosen, 3)
    assert settings(alone, ["liveresearchbench.parts=coverage"]) == (["coverage"], 25)
    # What the config file says stands above what comes with the reports.
    assert settings(alone + "settings: {liveresearchbench: {parts: [depth]}}\n") == (["depth"], 25)
    assert settings("protocols: [fact]\n") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("criteria: [depth]\n", "not a batch file of LiveResearchBench"),
        ("- a\n", "not a batch file of LiveResearchBench"),
        ("input_files: [1]\n", "input_files must be a list of texts"),
        ("input_files: [gone.json]\n", "no file 'gone.json'"),
        ("input_files: [batch.yaml]\n", "not an index of reports"),
        ("input_files: {\n", "batch.yaml: "),
    ],
)
def test_a_faulty_batch_ends_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        load_reports([write(tmp_path / "batch.yaml", text)])
    assert "\n" not in str(caught.value)
