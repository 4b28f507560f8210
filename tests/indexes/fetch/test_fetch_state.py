"""A fetch that somebody else began: it is gone on with, or refused, and nothing elsewhere is touched."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from indexes.archive.model import Capture
from indexes.archive.warc import FOLDER, file_name
from indexes.errors import FetchError
from indexes.fetch.settings import FetchSettings
from indexes.fetch.state import FetchState
from indexes.making.fetching import fetch_snapshot
from indexes.manifest import database_of, part_of
from local_judge.base.sqlite_files import SUPER_JOURNAL

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


def test_a_journal_that_is_a_pipe_is_not_waited_for(begun: tuple[Path, Path]) -> None:
    part, database = begun
    os.mkfifo(database.with_name(f"{database.name}-journal"))
    with pytest.raises(FetchError, match="it is no file"):
        FetchState(part, database)


def alter(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TRIGGER odd AFTER INSERT ON captures BEGIN DELETE FROM captures; END"],
        ["DROP TABLE runs", "CREATE VIEW runs AS SELECT url AS settings FROM captures"],
        ["CREATE INDEX odd ON captures (length(hex(zeroblob(300000000))))"],
        ["DROP TABLE runs", "CREATE TABLE runs (settings TEXT UNIQUE CHECK (0))"],
    ],
    ids=["trigger", "view", "index", "check"],
)
def test_a_database_in_which_sqlite_would_run_something_is_refused(
    begun: tuple[Path, Path], statements: list[str]
) -> None:
    part, database = begun
    alter(database, *statements)
    with pytest.raises(FetchError, match=r"'(odd|runs)' in it is none of ours"):
        FetchState(part, database)


@pytest.mark.parametrize("settings", ["'x'", "NULL", "x'ff'", f"'{'[' * 100_000}'"])
def test_settings_that_are_none_are_refused(begun: tuple[Path, Path], settings: str) -> None:
    part, database = begun
    alter(database, f"INSERT INTO runs VALUES ({settings})")
    with FetchState(part, database) as state, pytest.raises(FetchError, match="settings that no fetch has"):
        assert state.settings


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("UPDATE captures SET end=0", 1),
        ("INSERT INTO captures VALUES (0, 'https://a.test/y', 'data-00000.warc.gz', 0)", 1),
        ("INSERT INTO captures VALUES (0, NULL, 'data-00000.warc.gz', 0)", 1),
    ],
)
async def test_an_address_that_the_archive_lacks_is_not_taken_for_fetched(
    tmp_path: Path, statement: str, count: int
) -> None:
    """Or the snapshot would stand, whole by its manifest, without pages that were asked for."""
    out = tmp_path / "snap"
    with FetchState(part_of(out), database_of(out)) as state:
        state.store(CAPTURE)
    alter(database_of(out), statement)
    with pytest.raises(FetchError, match=f"does not hold {count} of the addresses that"):
        await fetch_snapshot(["http://a.test/x"], out, FetchSettings(user_agent="x"), workers=0)
    assert not out.exists()
