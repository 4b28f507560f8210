"""Calibrations in a ledger, under the identity of their judge.

Invariant: a row is never changed; of several for one judge, question, prompt and language the last one counts, and
putting in what counts already adds nothing.
"""

from __future__ import annotations

import sqlite3

from local_judge.judge.calibration import Calibration
from local_judge.judge.requests import Identified, now

TABLE = """
CREATE TABLE calibrations (       -- the last of a judge, question, prompt and language counts
    id       TEXT NOT NULL,       -- SHA-256 of `body`
    judge    TEXT NOT NULL REFERENCES judges,
    question TEXT NOT NULL,
    prompt   TEXT NOT NULL,       -- SHA-256 of the question as it is sent
    language TEXT NOT NULL,
    body     TEXT NOT NULL,       -- canonical JSON
    created  TEXT NOT NULL
);
"""


def add_table(connection: sqlite3.Connection) -> None:
    """Give a ledger that was made before there were calibrations its table."""
    if not _has_table(connection):
        connection.execute(TABLE.strip().removesuffix(";").replace("TABLE", "TABLE IF NOT EXISTS", 1))


def insert_calibration(connection: sqlite3.Connection, calibration: Calibration) -> None:
    """Make `calibration` the one that counts."""
    key = (calibration.judge, calibration.question, calibration.prompt, calibration.language)
    row = connection.execute(
        "SELECT id FROM calibrations WHERE judge=? AND question=? AND prompt=? AND language=? "
        "ORDER BY rowid DESC LIMIT 1",
        key,
    ).fetchone()
    if row is not None and row[0] == calibration.id:
        return
    identified = Identified.of(calibration.identity)
    connection.execute("INSERT OR IGNORE INTO judges VALUES (?,?)", (identified.digest, identified.json))
    connection.execute(
        "INSERT INTO calibrations VALUES (?,?,?,?,?,?,?)", (calibration.id, *key, calibration.body, now())
    )


def select_calibrations(connection: sqlite3.Connection, judge: str) -> tuple[Calibration, ...]:
    """Those of a judge that count, by question, prompt and language."""
    if not _has_table(connection):
        return ()
    rows = connection.execute(
        "SELECT question, prompt, language, body FROM calibrations WHERE judge=? ORDER BY rowid", (judge,)
    ).fetchall()
    last = {tuple(row[:3]): str(row[3]) for row in rows}
    return tuple(Calibration.model_validate_json(last[key]) for key in sorted(last))


def _has_table(connection: sqlite3.Connection) -> bool:
    sql = "SELECT 1 FROM sqlite_master WHERE type='table' AND name='calibrations'"
    return connection.execute(sql).fetchone() is not None
