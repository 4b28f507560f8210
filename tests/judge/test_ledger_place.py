"""Places of ledgers: URLs of databases, their passwords, and what is never shown of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from local_judge.ledger.ledger import Ledger

from local_judge.base.errors import ConfigError
from local_judge.judge.errors import LedgerUnreachable
from local_judge.judge.ledger_place import PostgresUrl, ledger_place
from local_judge.runs.execution import offline
from local_judge.runs.planning.run_file import load_run_file


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://m%40e@db.example:6000/replies%201?sslmode=require",
        "postgresql://%2Frun%2Fpg/replies",
        "postgresql://[::1]/replies",
    ],
)
def test_a_url_is_written_as_it_was_read(text: str) -> None:
    assert str(ledger_place(text)) == text


def test_a_url_names_the_only_address_that_is_reached() -> None:
    url = PostgresUrl.parse("postgresql://m%40e@db.example:6000/replies%201?sslmode=require")
    assert url == PostgresUrl("db.example", "replies 1", 6000, "m@e", "require")
    assert url.reached == "postgresql://db.example:6000"


def test_the_case_of_a_host_makes_no_difference_but_that_of_a_folder_does() -> None:
    assert PostgresUrl.parse("postgresql://DB.Example/Replies") == PostgresUrl("db.example", "Replies")
    assert ledger_place("PostgreSQL://DB/replies") == PostgresUrl("db", "replies")
    assert PostgresUrl.parse("postgresql:///replies?host=DB") == PostgresUrl("db", "replies")
    assert PostgresUrl.parse("postgresql://%2FRun%2Fpg/replies").host == "/Run/pg"


def test_a_connection_that_is_not_allowed_is_attempted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pg8000")
    pauses: list[float] = []
    monkeypatch.setattr("local_judge.judge.ledger_session.time.sleep", pauses.append)
    with offline.only([]), pytest.raises(LedgerUnreachable, match="offline: a "):
        Ledger.open("postgresql://127.0.0.1:9/replies")
    assert pauses == []  # a server that is not there is asked again for 30 s


def test_a_unix_socket_is_a_folder() -> None:
    url = PostgresUrl.parse("postgresql:///replies?host=/run/pg")
    assert (url.socket_file, url.reached) == ("/run/pg/.s.PGSQL.5432", None)
    assert PostgresUrl.parse(str(url)) == url


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("postgresql://me@db", "postgresql://USER@HOST/DATABASE"),
        ("postgresql:///replies", "postgresql://USER@HOST/DATABASE"),
        ("postgresql://me:secret@db:x/replies", "port"),
        ("postgresql://me@db/replies?sslmode=maybe", "sslmode must be one of"),
        ("postgresql://me@db/replies?passfile=x", "unknown option"),
        ("postgresql://me:secret@db/replies", "PGPASSWORD"),
        ("postgresql://db/replies?password=secret", "PGPASSWORD"),
        ("postgresql://me:secret/replies", "port"),
        ("PostgreSQL://me:secret@db/replies", "PGPASSWORD"),
        ("postgresql+psycopg://me:secret@db/replies", "ledger postgresql+psycopg:...: unknown URL"),
        ("postgresql:/me:secret@db/replies", "unknown URL"),
        ("mysql://me:secret@db/replies", "unknown URL"),
    ],
)
def test_an_invalid_url_is_refused_in_one_line_without_its_password(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ledger_place(text)
    assert problem in str(raised.value)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_password_comes_from_the_environment_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGUSER", "me")
    file = tmp_path / "pgpass"
    file.write_text("# comment\nother:*:*:*:no\ndb:5432:replies:me:a\\:b\\\\c\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    url = PostgresUrl.parse("postgresql://db/replies")
    assert url.login() == ("me", "a:b\\c")
    file.write_text("/run/pg:*:*:*:no\nlocalhost:5432:replies:me:of the socket\n")
    assert PostgresUrl.parse("postgresql:///replies?host=/run/pg").login() == ("me", "of the socket")
    file.chmod(0o644)  # libpq ignores a file that others can read
    assert url.login() == ("me", None)
    monkeypatch.setenv("PGPASSWORD", "from the environment")
    assert url.login() == ("me", "from the environment")


def test_a_run_file_names_a_database_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("ledger: postgresql://me@db/replies\n")
    assert load_run_file(file, {}).ledger == PostgresUrl("db", "replies", user="me")
    assert "ledger: postgresql://me@db/replies" in load_run_file(file, {}).as_yaml()
    assert load_run_file(None, {"ledger": "l.sqlite"}).ledger == Path("l.sqlite")
    for scheme, problem in (("postgresql", "PGPASSWORD"), ("postgresql+psycopg", "unknown URL")):
        file.write_text(f"ledger: {scheme}://me:secret@db/replies\n")
        with pytest.raises(ConfigError, match=problem) as raised:
            load_run_file(file, {})
        assert "secret" not in str(raised.value)
