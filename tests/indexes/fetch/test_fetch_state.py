"""A fetch that somebody else began: it is gone on with, or refused, and nothing elsewhere is touched."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from indexes.archive.model import Capture
from indexes.archive.warc import FOLDER, file_name
from indexes.errors import FetchError
from indexes.fetch.state import FetchState
from indexes.sqlite_files import SUPER_JOURNAL

CAPTURE = Capture(url="http://a.test/x", fetched="2024-05-01T10:00:00Z", outcome="dead")


@pytest.fixture
def begun(tmp_path: Path) -> tuple[Path, Path]:
    """A fetch with one capture: its archive and its database."""
    part, database = tmp_path / ".s.part", tmp_path / ".s.fetch"
    with FetchState(part, database) as state:
        state.store(CAPTURE)
    return part, database


def test_it_is_gone_on_with(begun: tuple[Path, Path]) -> None:
    part, database = begun
    with FetchState(part, database) as state:
        assert state.done == {"https://a.test/x"}
        state.store(Capture(url="http://a.test/y", fetched="2024-05-01T10:00:00Z", outcome="dead"))
    with FetchState(part, database) as state:
        assert len(state.done) == 2


@pytest.mark.parametrize(
    ("file", "end"),
    [
        ("../../mine.txt", 0),
        ("/etc/hostname", 0),
        (file_name(7), 0),
        (file_name(0), -1),
        (file_name(0), "x"),
        (3, 0),
    ],
)
def test_a_row_that_names_another_file_is_refused(
    begun: tuple[Path, Path], tmp_path: Path, file: object, end: object
) -> None:
    part, database = begun
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE captures SET file=?, end=?", (file, end))
        connection.commit()
    with pytest.raises(FetchError, match="is not the archive that"):
        FetchState(part, database)
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("linked", ["file", "folder", "part", "database"])
def test_links_are_refused(begun: tuple[Path, Path], tmp_path: Path, linked: str) -> None:
    part, database = begun
    link = {
        "file": part / FOLDER / file_name(0),
        "folder": part / FOLDER,
        "part": part,
        "database": database,
    }[linked]
    elsewhere = tmp_path / "elsewhere"
    link.rename(elsewhere)
    link.symlink_to(elsewhere)
    before = (elsewhere.read_bytes() if elsewhere.is_file() else b"", sorted(tmp_path.rglob("*")))
    with pytest.raises(FetchError, match="a link"):
        FetchState(part, database)
    assert (elsewhere.read_bytes() if elsewhere.is_file() else b"", sorted(tmp_path.rglob("*"))) == before


def test_no_journal_has_another_file_removed(begun: tuple[Path, Path]) -> None:
    part, database = begun
    database.with_name(f"{database.name}-journal").write_bytes(b"x" * 600 + SUPER_JOURNAL)
    with pytest.raises(FetchError, match="names other files"):
        FetchState(part, database)
