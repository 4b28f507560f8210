"""A run as DEER's folders."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from local_judge.base.errors import RunError
from local_judge.claims.unread import Unread, UnreadSentence
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows
from local_judge.protocols.file_formats import folder_name
from local_judge.reporting.exports import export_files, list_rows

from ..protocols.deer.rubric_cases import drawn, everywhere, findings
from ..rubric_run import record, write_run

SIX = (None, findings(everywhere(6)))


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def mapping(folder: Path) -> list[tuple[Any, ...]]:
    rows = json.loads((folder / "samples.json").read_text(encoding="utf-8"))
    return [(row["report"], row["folder"], row["sample"]) for row in rows]


def test_whole_numbers_of_tasks_are_the_numbers_of_samples(tmp_path: Path) -> None:
    store = write_run(
        tmp_path / "run", {"a": SIX, "b": SIX}, record("a", task="12"), record("b", task="0003")
    )
    exported = export_files(store, tmp_path / "out", "deer")
    assert tree(tmp_path / "out") == [
        "final.json",
        "final/0003.json",
        "final/0012.json",
        "others/0003.json",
        "others/0012.json",
        "others/summary.json",
        "samples.json",
    ]
    assert len(exported.files) == 6
    assert mapping(tmp_path / "out") == [("a", ".", 12), ("b", ".", 3)]


@pytest.mark.parametrize(
    "tasks", [("12", None), ("12", "x"), ("12", "12"), ("12", "-3"), ("1", "²"), ("1", "9" * 12)]
)
def test_else_reports_are_numbered_by_position(tasks: tuple[str | None, str | None], tmp_path: Path) -> None:
    store = write_run(
        tmp_path / "run", {"a": SIX, "b": SIX}, record("a", task=tasks[0]), record("b", task=tasks[1])
    )
    export_files(store, tmp_path / "out", "deer")
    assert mapping(tmp_path / "out") == [("a", ".", 1), ("b", ".", 2)]


def test_each_system_has_a_folder_of_its_own(tmp_path: Path) -> None:
    systems = {"a": "fast", "b": "../../etc/Pass wd", "c": None, "d": "fast"}
    records = [record(id, task=str(n % 3), system=system) for n, (id, system) in enumerate(systems.items())]
    store = write_run(tmp_path / "run", dict.fromkeys(systems, SIX), *records)
    export_files(store, tmp_path / "out", "deer")
    assert [row[1:] for row in mapping(tmp_path / "out")] == [
        # both reports of this system answer task 0
        ("fast", 1),
        (folder_name("../../etc/Pass wd"), 1),
        ("unnamed", 2),
        ("fast", 4),
    ]
    assert {name.partition("/")[0] for name in tree(tmp_path)} == {"run", "out"}
    assert "fast/final.json" in tree(tmp_path / "out") and "final.json" not in tree(tmp_path / "out")


def test_names_of_folders_are_plain_and_differ() -> None:
    names = [
        "gpt-5.2_fast",
        "GPT",
        "gpt",
        "a/b",
        "a b",
        "..",
        "",
        "研究",
        "x" * 80,
        "unnamed",
        "samples.json",
        hashlib.sha256("研究".encode()).hexdigest()[:8],  # what that name becomes
        None,
    ]
    found = [folder_name(name) for name in names]
    assert "samples.json" not in found
    assert found[0] == "gpt-5.2_fast"
    assert len({name.lower() for name in found}) == len(names)
    assert all(name and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-") for name in found)
    assert all(len(name) < 60 and not name.startswith(".") for name in found)


def test_what_failed_and_what_was_left_out_is_told(tmp_path: Path) -> None:
    answers = drawn(4)
    store = write_run(
        tmp_path / "run",
        {
            "good": (None, findings(answers)),
            "mute": (Rows(claims=()), None),
            "half": (Rows(claims=()), findings(everywhere(6))),
            "whole": (None, findings({(): 4}, mode="vanilla")),
        },
        record("broken", status="unreadable"),
    )
    [found] = export_files(store, tmp_path / "out", "deer").lists
    exported = {row["report"]: row for row in list_rows(found)}
    assert exported["good"]["n_failed"] == sum(answer == "failed" for answer in answers.values()) > 0
    assert {id: (row["sample"], row["left_out"]) for id, row in exported.items()} == {
        "good": (1, ""),
        "mute": (None, "no claims"),
        "half": (3, "no claims"),
        "whole": (None, "no items: its rubric was judged as vanilla"),
        "broken": (None, "unreadable"),
    }


def unread(n: int) -> Unread:
    return Unread(
        sentences=tuple(UnreadSentence(label=f"L9.S{number}", most=8, cited=False) for number in range(n))
    )


def test_failures_that_the_files_have_no_word_for_are_counted(tmp_path: Path) -> None:
    pairs = (
        PairRow(url="https://a.example/", outcome="supported", reliable=True),
        PairRow(url="https://b.example/", outcome="judge_failed"),
        PairRow(url="https://c.example/", outcome="source_unavailable", status="dead"),
    )
    some = Rows(claims=(ClaimRow(id="1", type="A", pairs=pairs),), unread=unread(40))
    store = write_run(
        tmp_path / "run", {"some": (some, None), "none": (Rows(claims=(), unread=unread(30)), None)}
    )
    [found] = export_files(store, tmp_path / "out", "deer").lists
    one, other = list_rows(found)
    # A page that is dead is the report's; a verdict that the judge did not give is ours.
    assert (one["n_sentences_failed"], one["n_pairs_failed"], one["left_out"]) == (40, 1, "")
    assert (other["sample"], other["left_out"]) == (None, "claims unknown")


def test_nothing_is_written_over(tmp_path: Path) -> None:
    store = write_run(tmp_path / "run", {"a": SIX})
    export_files(store, tmp_path / "out", "deer")
    for target in (tmp_path / "out", tmp_path / "out" / "final.json"):
        with pytest.raises(RunError, match="not an empty folder; choose another"):
            export_files(store, target, "deer")


def test_a_run_without_deer_has_nothing_to_export(tmp_path: Path) -> None:
    store = write_run(tmp_path / "run", {"a": SIX})
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["race"]}, "reports": {"n": 0}},
    )
    with pytest.raises(RunError, match="DEER was not run; the run has these protocols: race"):
        export_files(store, tmp_path / "out", "deer")
