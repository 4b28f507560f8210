"""What the formats of published files share: names of files and folders, numbers of reports, printed lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_judge.base.errors import InputError
from local_judge.protocols.base import Findings
from local_judge.protocols.file_formats import (
    LARGEST,
    UNNAMED,
    ReportFindings,
    RunFindings,
    by_folder,
    file_digest,
    folder_name,
    folder_system,
    printed_lines,
    result_file,
)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["b.json"], "b.json"),
        (["b.json", "all-1.json"], "all-1.json"),  # the first name counts
        (["other.json"], None),
        (["all-1.json", "all-2.json", "b.json"], None),
    ],
)
def test_a_folder_has_one_file_of_the_first_name(
    tmp_path: Path, files: list[str], expected: str | None
) -> None:
    for name in files:
        (tmp_path / name).touch()
    patterns = ("all-*.json", "b.json")
    if expected is None:
        with pytest.raises(InputError, match=r"all-\*\.json"):
            result_file(tmp_path, patterns)
    else:
        assert result_file(tmp_path, patterns) == tmp_path / expected
    assert result_file(tmp_path / files[0], patterns) == tmp_path / files[0]


def test_printed_lines_have_a_name_and_a_value(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.write_text("Overall Score: 0.5\n\n Time : 12:30\nDone\n", encoding="utf-8")
    assert printed_lines(file) == {"Overall Score": "0.5", "Time": "12:30", "Done": ""}


def test_the_folder_of_a_kind_names_the_system(tmp_path: Path) -> None:
    assert folder_system(tmp_path / "race" / "ada" / "raw.jsonl", "race") == "ada"
    assert folder_system(tmp_path / "fact" / "ada" / "raw.jsonl", "race") is None


def test_several_files_have_the_digest_of_their_digests(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    a, b = tmp_path / "a", tmp_path / "b"
    # printf a | sha256sum
    assert file_digest(a) == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    # (printf a | sha256sum; printf b | sha256sum) | cut -c-64 | xxd -r -p | sha256sum
    assert file_digest(a, b) == "e5a01fee14e0ed5c48714f22180f25ad8365b53f9779f79dc4a3d7e93963f94a"


@pytest.mark.parametrize(
    ("system", "name"),
    [
        (None, UNNAMED),
        ("ada-2.1", "ada-2.1"),
        # Else without what is not plain, and with the first 8 digits of `printf Ada | sha256sum`.
        ("Ada", "da-99a563ab"),
        (UNNAMED, "unnamed-e882bcaa"),
        ("x.json", "x.json-73f44f86"),
        ("..", "5ec1f7e7"),
    ],
)
def test_a_folder_has_the_name_of_a_system_that_is_plain(system: str | None, name: str) -> None:
    assert folder_name(system) == name


@pytest.mark.parametrize(
    ("reports", "folders"),
    [
        ([("ada", "7"), ("ada", "3")], {".": [7, 3]}),
        ([("ada", "7"), ("bob", "x"), ("ada", "3"), ("bob", "9")], {"ada": [7, 3], "bob": [2, 4]}),
        ([("ada", "7"), ("ada", "07")], {".": [1, 2]}),
        ([("ada", None), ("ada", "7")], {".": [1, 2]}),
        ([("ada", str(LARGEST)), ("bob", str(LARGEST + 1))], {"ada": [LARGEST], "bob": [2]}),
    ],
)
def test_a_report_has_the_number_of_its_task_or_its_position(
    reports: list[tuple[str, str | None]], folders: dict[str, list[int]]
) -> None:
    rows = [
        ReportFindings[Findings](str(n), task, system, None, "failed")
        for n, (system, task) in enumerate(reports)
    ]
    run = RunFindings(tuple(rows), None, None, None)
    assert {name: [number for number, _ in own] for name, own in by_folder(run)} == folders
