"""Qualifications of the judges of a run.

Invariant: a judge has only a standing of its own identity; one that was given on the command line counts before the one
that this machine remembers, and what a run recorded before either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from local_judge.errors import ConfigError, InputError
from local_judge.judge.calibration import differing_fields
from local_judge.judge.judge import Judge
from local_judge.judge.qualification_record import QualificationRecord, checked_standing, remembered
from local_judge.rows import read_text
from local_judge.runs.manifest import read_manifest
from local_judge.runs.store import RunStore
from serving.types import EngineIdentity

Standings = Mapping[str, QualificationRecord | None]
"""By the judge's name; None for one that was never qualified."""


class GivenStanding(NamedTuple):
    """A standing and the file that it is from."""

    path: Path
    standing: QualificationRecord


def load_standing(path: Path) -> GivenStanding:
    """The standing in a `qualification.json`.

    Raises:
        InputError: it cannot be read, is no such file, or was modified.
    """
    try:
        loaded: object = json.loads(read_text(path))
        if not isinstance(loaded, dict):
            raise ValueError("it has no standing")
        return GivenStanding(path, checked_standing(cast("dict[str, Any]", loaded)))
    except ValidationError as error:
        key = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(f"{path}: no qualification (standing.{key}: {error.errors()[0]['msg']})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no qualification ({error}); `local-judge qualify` writes one") from None


async def standings_of(judges: Mapping[str, Judge], given: Sequence[GivenStanding] = ()) -> Standings:
    """The standing of each judge.

    Raises:
        ConfigError: a file is of none of them.
    """
    identities = {name: await judge.engine.identity() for name, judge in judges.items()}
    for one in given:
        if one.standing.identity not in identities.values():
            name, identity = next(iter(identities.items()))
            fields = ", ".join(differing_fields(one.standing.identity, identity))
            raise ConfigError(
                f"--qualification {one.path}: of another judge than {name!r} (its identity differs in: {fields})"
            )
    own = {
        name: [one.standing for one in given if one.standing.identity == identity]
        for name, identity in identities.items()
    }
    return {name: own[name][-1] if own[name] else remembered(identities[name]) for name in judges}


def recorded_standings(store: RunStore) -> Standings:
    """The standings of a run's judges: those that it recorded, else those that this machine remembers.

    Raises:
        RunError: it is no run.
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


def as_json(standings: Standings) -> dict[str, Any]:
    """As plain data."""
    return {
        name: None if standing is None else standing.model_dump(mode="json")
        for name, standing in standings.items()
    }
