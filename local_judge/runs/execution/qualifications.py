"""Qualifications of the judges of a run.

Invariant: a record applies only to a judge with the same identity. The record stored in a run takes precedence over one
given on the command line, and that one over the record kept on this machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from local_judge.base.errors import ConfigError, InputError, first_problem
from local_judge.base.rows import read_text
from local_judge.judge.judge import Judge
from local_judge.judge.qualification_record import QualificationRecord, checked_record, remembered
from local_judge.ledger.calibrations import differing_fields
from local_judge.runs.storage.manifest import read_manifest
from local_judge.runs.storage.store import RunStore
from serving.types import EngineIdentity

COMMAND = "local-judge judge qualify"

Qualifications = Mapping[str, QualificationRecord | None]
"""Record of each judge, by its name; None for a judge that was never qualified."""


class GivenQualification(NamedTuple):
    """Record of a judge and the file that contains it."""

    path: Path
    record: QualificationRecord


def load_qualification(path: Path) -> GivenQualification:
    """Read the record in a `qualification.json`.

    Raises:
        InputError: the file cannot be read, holds no qualification of this format, or was modified.
    """
    try:
        loaded: object = json.loads(read_text(path))
        if not isinstance(loaded, dict):
            raise ValueError("it has no record")
        return GivenQualification(path, checked_record(cast("dict[str, Any]", loaded)))
    except ValidationError as error:
        raise InputError(_unreadable(path, f"{first_problem(error)}, in its record")) from None
    except (ValueError, RecursionError) as error:
        raise InputError(_unreadable(path, str(error))) from None


def _unreadable(path: Path, problem: str) -> str:
    remedy = "" if COMMAND in problem else f"; `{COMMAND}` writes one"
    return f"{path}: not a qualification that can be read ({problem}){remedy}"


async def qualifications_of(
    judges: Mapping[str, Judge], given: Sequence[GivenQualification] = ()
) -> Qualifications:
    """Return the record of each judge.

    Raises:
        ConfigError: a given record belongs to none of the judges.
    """
    identities = {name: await judge.engine.identity() for name, judge in judges.items()}
    for one in given:
        if one.record.identity not in identities.values():
            name, identity = next(iter(identities.items()))
            fields = ", ".join(differing_fields(one.record.identity, identity))
            raise ConfigError(
                f"--qualification {one.path}: belongs to a judge other than {name!r} (different: {fields})"
            )
    own = {
        name: [one.record for one in given if one.record.identity == identity]
        for name, identity in identities.items()
    }
    return {name: own[name][-1] if own[name] else remembered(identities[name]) for name in judges}


def recorded_qualifications(store: RunStore) -> Qualifications:
    """Return the qualifications of a run's judges: those stored in the run, or else those kept on this machine.

    Raises:
        RunError: the directory is not that of a run.
    """
    manifest = read_manifest(store)
    known: dict[str, Any] = manifest.get("qualifications") or {}
    found: dict[str, QualificationRecord | None] = {}
    for judge in cast("list[dict[str, Any]]", manifest.get("judges", [])):
        kept = known.get(judge["name"])
        found[judge["name"]] = (
            remembered(EngineIdentity.model_validate(judge["identity"]))
            if kept is None
            else QualificationRecord.model_validate(kept)
        )
    return found


def qualifications_as_json(qualifications: Qualifications) -> dict[str, Any]:
    """Return the records as plain data."""
    return {
        name: None if record is None else record.model_dump(mode="json")
        for name, record in qualifications.items()
    }
