"""Calibrations in a ledger, under the identity of their judge.

Invariant: a row is never changed. What is put in together was fitted together: of all that was put in for one judge,
question and prompt, only the last of these sets counts, so that no language keeps a calibration of an older fit.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from local_judge.judge.calibration import Calibration
from local_judge.judge.requests import Identified, canonical, now, sha256

TABLE = """
CREATE TABLE calibrations (       -- of a judge, question and prompt the last set counts
    id       TEXT NOT NULL,       -- SHA-256 of `body`
    fit      TEXT NOT NULL,       -- SHA-256 of the ids of what was fitted together
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


def insert_calibrations(connection: sqlite3.Connection, calibrations: Sequence[Calibration]) -> None:
    """Make these the ones that count for their judges, questions and prompts, unless they are already."""
    keys = dict.fromkeys((one.judge, one.question, one.prompt) for one in calibrations)
    for key in keys:
        own = sorted(
            (one for one in calibrations if (one.judge, one.question, one.prompt) == key),
            key=lambda one: one.language,
        )
        fit = sha256(canonical([one.id for one in own]))
        if fit == _last_fit(connection, key):
            continue
        identified = Identified.of(own[0].identity)
        connection.execute("INSERT OR IGNORE INTO judges VALUES (?,?)", (identified.digest, identified.json))
        for one in own:
            connection.execute(
                "INSERT INTO calibrations VALUES (?,?,?,?,?,?,?,?)",
                (one.id, fit, *key, one.language, one.body, now()),
            )


def select_calibrations(connection: sqlite3.Connection, judge: str) -> tuple[Calibration, ...]:
    """Those of a judge that count, by question, prompt and language."""
    if not _has_table(connection):
        return ()
    keys = connection.execute(
        "SELECT DISTINCT judge, question, prompt FROM calibrations WHERE judge=? ORDER BY question, prompt",
        (judge,),
    ).fetchall()
    found: list[Calibration] = []
    for key in keys:
        rows = connection.execute(
            "SELECT DISTINCT language, body FROM calibrations "
            "WHERE judge=? AND question=? AND prompt=? AND fit=? ORDER BY language",
            (*key, _last_fit(connection, key)),
        ).fetchall()
        found += [Calibration.model_validate_json(body) for _, body in rows]
    return tuple(found)


def _last_fit(connection: sqlite3.Connection, key: tuple[str, str, str]) -> str | None:
    row = connection.execute(
        "SELECT fit FROM calibrations WHERE judge=? AND question=? AND prompt=? ORDER BY rowid DESC LIMIT 1",
        key,
    ).fetchone()
    return None if row is None else row[0]


def _has_table(connection: sqlite3.Connection) -> bool:
    sql = "SELECT 1 FROM sqlite_master WHERE type='table' AND name='calibrations'"
    return connection.execute(sql).fetchone() is not None
