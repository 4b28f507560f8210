"""Calibrations in a ledger, by the identity of their judge.

Invariants: a row is never changed. Calibrations inserted together were fitted together; for one judge, question and
prompt only the last such set is current, so that no language keeps a calibration of an older fit. The whole table is
checked at every read: a lost or altered calibration would change every probability, and no single row shows that
another is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from local_judge.judge.calibration import Calibration
from local_judge.judge.ledger_database import COLUMNS, Database
from local_judge.judge.requests import Identified, canonical, now, row_digest, sha256

_ALL = f"SELECT {COLUMNS['calibrations']} FROM calibrations ORDER BY rowid"

_Key = tuple[str, str, str]
"""Judge, question, prompt."""


class DamagedCalibrations(ValueError):
    """Rows of `calibrations` are altered or missing."""


class Fit(NamedTuple):
    """Calibrations of one judge, question and prompt that were fitted together."""

    digest: str
    calibrations: tuple[Calibration, ...]
    """Calibrations, in order of languages."""
    created: str
    """Time of the last insertion; UTC, ISO 8601."""


def insert_calibrations(connection: Database, calibrations: Sequence[Calibration]) -> None:
    """Make these calibrations current for their judges, questions and prompts, unless they are already.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    for key in dict.fromkeys(_key(one) for one in calibrations):
        own = sorted((one for one in calibrations if _key(one) == key), key=lambda one: one.language)
        insert_fit(connection, Fit(_fit(own), tuple(own), now()))


def insert_fit(connection: Database, fit: Fit) -> None:
    """Make a set of calibrations current, unless it is already.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    rows = _rows(connection)
    key = _key(fit.calibrations[0])
    if [fit.digest] == [row[1] for row in rows if row[2:5] == key][-1:]:
        return
    identified = Identified.of(fit.calibrations[0].identity)
    connection.insert("judges", [(identified.digest, identified.json)])
    added = [(one.id, fit.digest, *key, one.language, one.body, fit.created) for one in fit.calibrations]
    numbered = enumerate(added, len(rows) + 1)
    connection.insert("calibrations", [(*row, row_digest([place, *row])) for place, row in numbered])


def select_calibrations(connection: Database, judge: str) -> tuple[Calibration, ...]:
    """Return the current calibrations of a judge, sorted by question, prompt and language.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    fits = sorted(current_fits(connection).items())
    return tuple(one for key, fit in fits if key[0] == judge for one in fit.calibrations)


def current_fits(connection: Database) -> dict[_Key, Fit]:
    """Return the current calibrations of each judge, question and prompt.

    Raises:
        DamagedCalibrations: The table is damaged.
    """
    sets: dict[_Key, dict[str, dict[str, tuple[str, str]]]] = {}
    for _, digest, judge, question, prompt, language, body, created in _rows(connection):
        fits = sets.setdefault((judge, question, prompt), {})
        kept = fits.pop(digest, {})  # inserted again: now it is the last
        fits[digest] = kept | {language: (body, created)}
    found: dict[_Key, Fit] = {}
    for key, fits in sets.items():
        digest, by_language = list(fits.items())[-1]
        last = [Calibration.model_validate_json(body) for _, (body, _) in sorted(by_language.items())]
        if _fit(last) != digest:
            raise DamagedCalibrations("calibrations: one of those fitted together is missing")
        found[key] = Fit(digest, tuple(last), max(created for _, created in by_language.values()))
    return found


def damaged_calibrations(connection: Database) -> Iterator[str]:
    """Yield a line for each damaged row of the table."""
    for problem in connection.problems("calibrations"):
        yield f"calibrations: {problem}"
    rows = connection.execute(_ALL)
    for place, row in enumerate(rows, 1):
        if row_digest([place, *row[:-1]]) != row[-1]:
            yield f"calibration {str(row[0])[:12]}: does not match its digest"


def _rows(connection: Database) -> list[tuple[Any, ...]]:
    """Return all rows without their digests, in order of insertion."""
    for problem in damaged_calibrations(connection):
        raise DamagedCalibrations(problem)
    return [row[:-1] for row in connection.execute(_ALL)]


def _key(one: Calibration) -> _Key:
    return (one.judge, one.question, one.prompt)


def _fit(own: Sequence[Calibration]) -> str:
    """Return the digest of a set that was fitted together, in order of languages."""
    return sha256(canonical([one.id for one in own]))
