"""Calibrations that a command was given, and the judges that they are for.

Invariant: a judge gets only calibrations of its own identity; a file that is for none of the judges, or for other words
of the question, is refused. Given ones count before those of the ledger, and stand in it once a command has begun.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from local_judge.claims.config import ClaimsConfig
from local_judge.claims.yes_no import NAMES, QUESTIONS, question_digest
from local_judge.errors import ConfigError, InputError
from local_judge.judge.calibration import Calibration, CalibrationFile, differing
from local_judge.judge.judge import Judge
from local_judge.judge.ledger import Ledger
from local_judge.judge.requests import Identified
from local_judge.rows import read_text
from serving.types import EngineIdentity


class GivenCalibrations(NamedTuple):
    """A file of calibrations."""

    path: Path
    calibrations: tuple[Calibration, ...]


def load_calibrations(path: Path) -> GivenCalibrations:
    """The calibrations of a file that `judge calibrate --out` wrote.

    Raises:
        InputError: it cannot be read, or is no such file.
    """
    try:
        return GivenCalibrations(path, CalibrationFile.model_validate_json(read_text(path)).calibrations)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(
            f"{path}: no file of calibrations ({key}: {first['msg']}); `local-judge judge calibrate --out` writes one"
        ) from None


def current(calibrations: Iterable[Calibration]) -> tuple[Calibration, ...]:
    """Keep the calibrations of the questions as they are put now."""
    digests = {name: question_digest(name) for name in NAMES}
    return tuple(one for one in calibrations if digests.get(one.question) == one.prompt)


def given_calibrations(paths: Iterable[Path], config: ClaimsConfig) -> list[GivenCalibrations]:
    """The files that a command was given, for claims that are verified by `config`.

    Raises:
        InputError: as `load_calibrations`.
        ConfigError: a file of no use to claims so verified: no probability is asked for, or one in another view.
    """
    given = [load_calibrations(path) for path in paths]
    for one in given:
        if config.method != "scored":
            raise ConfigError(
                f"--calibration {one.path}: claims are verified by {config.method}, which has nothing to calibrate; "
                "give --method scored"
            )
        if not any(calibration.question in QUESTIONS[config.view] for calibration in one.calibrations):
            raise ConfigError(
                f"--calibration {one.path}: fitted for another view than {config.view}; fit this one with "
                f"`local-judge judge calibrate --view {config.view}`"
            )
    return given


def check_given(given: Sequence[GivenCalibrations], identities: Mapping[str, EngineIdentity]) -> None:
    """Refuse a file that no judge can use.

    Args:
        given: the files.
        identities: of the judges, by name.

    Raises:
        ConfigError: a file is for another judge, or for other words.
    """
    judges = {Identified.of(identity).digest for identity in identities.values()}
    for one in given:
        own = [calibration for calibration in one.calibrations if calibration.judge in judges]
        if not own:
            name, identity = next(iter(identities.items()))
            fields = ", ".join(differing(one.calibrations, identity))
            raise ConfigError(
                f"--calibration {one.path}: fitted on another judge than {name!r} (its identity differs in: {fields}); "
                "fit this judge with `local-judge judge calibrate`"
            )
        if not current(own):
            raise ConfigError(
                f"--calibration {one.path}: fitted on other words of the question {own[0].question!r} than are asked "
                "now; fit it anew with `local-judge judge calibrate`"
            )


def calibrations_for(
    identity: EngineIdentity, ledger: Ledger, given: Sequence[GivenCalibrations] = ()
) -> tuple[Calibration, ...]:
    """The calibrations of a judge: the ledger's, and over them those given, of the questions as they are put now."""
    digest = Identified.of(identity).digest
    found = {(one.question, one.language): one for one in current(ledger.calibrations(digest))}
    for file in given:
        own = current(one for one in file.calibrations if one.judge == digest)
        # A file says all about its questions: what the ledger has of other languages was fitted on something else.
        asked = {one.question for one in own}
        found = {key: one for key, one in found.items() if key[0] not in asked}
        found |= {(one.question, one.language): one for one in own}
    return tuple(found[key] for key in sorted(found))


async def keep(judges: Iterable[Judge]) -> None:
    """Put the calibrations of these judges into their ledger.

    Raises:
        LedgerError: they could not be stored.
    """
    for judge in judges:
        await judge.ledger.put_calibrations(judge.calibrations)


def in_manifest(judge: Judge, config: ClaimsConfig) -> list[dict[str, Any]]:
    """The calibrations that a judge's verdicts may rest on, as a run's manifest records them."""
    if config.method != "scored" or config.calibration == "none":
        return []
    fields = (
        "question",
        "prompt",
        "language",
        "method",
        "slope_yes",
        "slope_no",
        "intercept",
        "threshold",
        "n",
        "seed",
        "data",
    )
    # With `near` also those of the page: a claim in another language is asked about with the page in front.
    asked = {*QUESTIONS[config.view], *QUESTIONS["page"]}
    return [
        {"id": one.id, **{name: getattr(one, name) for name in fields}}
        for one in current(judge.calibrations)
        if one.question in asked
    ]
