from __future__ import annotations

import os
from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.tasks.layouts import MAX_BYTES, deer_folder, is_deer_folder
from local_judge.tasks.load import load_tasks


def make(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def test_folders_in_order_of_number_with_every_system(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "10/query.md": "Ten?\n",
            "10/b_10.md": "B",
            "0002/query.md": "\ufeffTwo?",
            "0002/core_criteria.md": "\n- Must name the year.\n",
            "0002/gpt_fast_0002.md": "G",
            "0002/a_2.md": "A",
            "0002/notes.md": "no report",
            "0002/_2.md": "no system",
            "readme.md": "not a task",
            "extra/query.md": "not a number",
        },
    )
    two, ten = deer_folder(tmp_path)
    assert two.id == "2"
    assert two.task is not None and two.task.guidance is not None
    assert (two.task.id, two.task.prompt) == ("2", "Two?")
    assert (two.task.guidance.text, two.task.guidance.status) == ("- Must name the year.", "given")
    # The system is all that stands before the last underscore and the number.
    assert [(report.system, report.path.name) for report in two.reports] == [
        ("a", "a_2.md"),
        ("gpt_fast", "gpt_fast_0002.md"),
    ]
    assert (ten.id, [report.system for report in ten.reports]) == ("10", ["b"])


def test_a_folder_may_be_incomplete(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "1/a_1.md": "A",
            "2/query.md": "  \n",
            "2/core_criteria.md": "",
            "3/query.md": "Q",
            "3/a_4.md": "a report of task 4",
        },
    )
    one, two, three = deer_folder(tmp_path)
    assert (one.task, two.task, two.reports) == (None, None, ())
    assert three.task is not None and three.task.guidance is None
    assert three.reports == ()  # its file names another task
    # Those without a request are no tasks.
    assert list(load_tasks(tmp_path)) == ["3"]


def test_what_is_such_a_folder(tmp_path: Path) -> None:
    assert not is_deer_folder(tmp_path)
    assert not is_deer_folder(tmp_path / "nowhere")
    make(tmp_path, {"report.md": "R", "7/other.md": "O", "x/query.md": "Q"})
    assert not is_deer_folder(tmp_path)
    make(tmp_path, {"7/sys_07.md": "R"})
    assert is_deer_folder(tmp_path)
    assert is_deer_folder(make(tmp_path / "second", {"1/query.md": "Q"}))
    with pytest.raises(InputError, match="no folder of tasks"):
        load_tasks(tmp_path / "second" / "1")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"1/query.md": b"\xff\xfe"}, "1/query.md: not UTF-8 (byte 0)"),
        ({"1/query.md": "Q", "1/core_criteria.md": b"ok \x80"}, "core_criteria.md: not UTF-8 (byte 3)"),
        ({"1/query.md": b"x" * (MAX_BYTES + 1)}, "1/query.md: longer than 4,194,304 bytes"),
        ({"1/query.md/x": "Q"}, "1/query.md: not a file"),
        ({"1/query.md": "Q", "01/query.md": "Q"}, "task 1 has two folders"),
        ({"1/query.md": "Q", "1/a_1.md": "A", "1/a_01.md": "B"}, "a second report of system 'a'"),
    ],
)
def test_hostile_folders(tmp_path: Path, files: dict[str, str | bytes], said: str) -> None:
    make(tmp_path, files)
    with pytest.raises(InputError) as error:
        list(deer_folder(tmp_path))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["query.md", "core_criteria.md", "a_1.md"])
def test_a_link_out_of_the_root_is_refused(tmp_path: Path, name: str) -> None:
    root = make(tmp_path / "root", {"1/query.md": "Q", "2/query.md": "Q"})
    make(tmp_path, {"secret.md": "S"})
    (root / "1" / name).unlink(missing_ok=True)
    (root / "1" / name).symlink_to(tmp_path / "secret.md")
    with pytest.raises(InputError, match="leads out of"):
        list(deer_folder(root))


def test_links_of_folders(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"1/query.md": "Q"})
    make(tmp_path / "outside", {"query.md": "S"})
    (root / "2").symlink_to(root / "1")
    assert [folder.id for folder in deer_folder(root)] == ["1", "2"]
    (root / "3").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="leads out of"):
        list(deer_folder(root))
    (root / "3").unlink()
    (root / "1" / "core_criteria.md").symlink_to("core_criteria.md")
    with pytest.raises(InputError, match="a link that leads nowhere"):
        list(deer_folder(root))


def test_a_system_whose_name_is_no_text(tmp_path: Path) -> None:
    make(tmp_path, {"1/query.md": "Q"})
    try:
        (tmp_path / "1" / os.fsdecode(b"\xff_1.md")).write_text("R")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    with pytest.raises(InputError, match="not UTF-8; rename it"):
        list(deer_folder(tmp_path))
