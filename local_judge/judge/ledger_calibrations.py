"""Calibrations in a ledger, by the identity of their judge.

Invariants: a row is never changed. Calibrations inserted together were fitted together; for one judge, question and
prompt only the last such set is current, so that no language keeps a calibration of an older fit. The whole table is
checked at every read: a lost or altered calibration would change every probability, and no single row shows that
another is missing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from local_judge.judge.calibration import Calibration
from local_judge.judge.requests import Identified, canonical, now, row_digest, sha256

TABLE = """
CREATE TABLE calibrations (       -- of a judge, question and prompt the last set counts
    id       TEXT NOT NULL,       -- SHA-256 of `body`
    fit      TEXT NOT NULL,       -- SHA-256 of the ids of what was fitted together
    judge    TEXT NOT NULL REFERENCES judges,
    question TEXT NOT NULL,
    prompt   TEXT NOT NULL,       -- SHA-256 of the question as it is sent
    language TEXT NOT NULL,
    body     TEXT NOT NULL,       -- canonical JSON
    created  TEXT NOT NULL,
    digest   TEXT NOT NULL        -- SHA-256 of the canonical JSON list of place and all other columns
);
"""

_Key = tuple[str, str, str]
"""Judge, question, prompt."""


class DamagedCalibrations(ValueError):
    """Rows of `calibrations` are altered or missing."""


def insert_calibrations(connection: sqlite3.Connection, calibrations: Sequence[Calibration]) -> None:
    """Make these calibrations current for their judges, questions and prompts, unless they are already.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    rows = _rows(connection)
    keys = dict.fromkeys(_key(one) for one in calibrations)
    for key in keys:
        own = sorted((one for one in calibrations if _key(one) == key), key=lambda one: one.language)
        fit = _fit(own)
        if [fit] == [row[1] for row in rows if row[2:5] == key][-1:]:
            continue
        identified = Identified.of(own[0].identity)
        connection.execute("INSERT OR IGNORE INTO judges VALUES (?,?)", (identified.digest, identified.json))
        for one in own:
            row = (one.id, fit, *key, one.language, one.body, now())
            rows.append(row)
            connection.execute(
                "INSERT INTO calibrations VALUES (?,?,?,?,?,?,?,?,?)", (*row, row_digest([len(rows), *row]))
            )


def select_calibrations(connection: sqlite3.Connection, judge: str) -> tuple[Calibration, ...]:
    """Return the current calibrations of a judge, sorted by question, prompt and language.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    sets: dict[_Key, dict[str, dict[str, Calibration]]] = {}
    for row in _rows(connection):
        if row[2] == judge:
            fits = sets.setdefault((row[2], row[3], row[4]), {})
            kept = fits.pop(row[1], {})  # inserted again: now it is the last
            fits[row[1]] = kept | {row[5]: Calibration.model_validate_json(row[6])}
    found: list[Calibration] = []
    for _, fits in sorted(sets.items()):
        fit, by_language = list(fits.items())[-1]
        last = [one for _, one in sorted(by_language.items())]
        if _fit(last) != fit:
            raise DamagedCalibrations("calibrations: one of those fitted together is missing")
        found += last
    return tuple(found)


def damaged_calibrations(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield a line for each damaged row of the table."""
    for (problem,) in connection.execute("PRAGMA integrity_check(calibrations)"):
        if problem != "ok":
            yield f"calibrations: {problem}"
    rows = connection.execute("SELECT * FROM calibrations ORDER BY rowid")
    for place, row in enumerate(rows, 1):
        if row_digest([place, *row[:-1]]) != row[-1]:
            yield f"calibration {str(row[0])[:12]}: does not match its digest"


def _rows(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return all rows without their digests, in order of insertion."""
    for problem in damaged_calibrations(connection):
        raise DamagedCalibrations(problem)
    return [row[:-1] for row in connection.execute("SELECT * FROM calibrations ORDER BY rowid")]


def _key(one: Calibration) -> _Key:
    return (one.judge, one.question, one.prompt)


def _fit(own: Sequence[Calibration]) -> str:
    """Return the digest of a set that was fitted together, in order of languages."""
    return sha256(canonical([one.id for one in own]))
