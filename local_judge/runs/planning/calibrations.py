"""Calibrations given to a command, and the judges that they belong to.

Invariant: a judge gets only calibrations of its own identity; a file for none of the judges, or for another wording of
the question, is refused. Given calibrations take precedence over those in the ledger, and are stored there when a
command starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from local_judge.base.errors import ConfigError, InputError, first_problem
from local_judge.base.rows import read_text
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.yes_no import NAMES, QUESTIONS, question_digest
from local_judge.judge.judge import Judge
from local_judge.ledger.calibrations import Calibration, CalibrationFile, differing
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified
from serving.types import EngineIdentity


class GivenCalibrations(NamedTuple):
    """File of calibrations."""

    path: Path
    calibrations: tuple[Calibration, ...]


def load_calibrations(path: Path) -> GivenCalibrations:
    """Read a file that `judge calibrate --out` wrote.

    Raises:
        InputError: the file cannot be read or contains no calibrations.
    """
    try:
        return GivenCalibrations(
            path, CalibrationFile.model_validate_json(read_text(path), strict=True).calibrations
        )
    except ValidationError as error:
        raise InputError(
            f"{path}: not a file of calibrations ({first_problem(error, 'the file')}); "
            "`local-judge judge calibrate --out` writes one"
        ) from None


def current(calibrations: Iterable[Calibration]) -> tuple[Calibration, ...]:
    """Return the calibrations for the current wording of their questions."""
    digests = {name: question_digest(name) for name in NAMES}
    return tuple(one for one in calibrations if digests.get(one.question) == one.prompt)


def given_calibrations(paths: Iterable[Path], config: ClaimsConfig) -> list[GivenCalibrations]:
    """Read the given files, for claims verified by `config`.

    Raises:
        InputError: as `load_calibrations`.
        ConfigError: a file cannot be used: the method gives no probability, or the file is for another view.
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
    """Check that each file belongs to a judge.

    Args:
        given: the files.
        identities: identities of the judges, by name.

    Raises:
        ConfigError: a file is for another judge, or for another wording of the question.
    """
    judges = {Identified.of(identity).digest for identity in identities.values()}
    for one in given:
        own = [calibration for calibration in one.calibrations if calibration.judge in judges]
        if not own:
            name, identity = next(iter(identities.items()))
            fields = ", ".join(differing(one.calibrations, identity))
            raise ConfigError(
                f"--calibration {one.path}: fitted on a judge other than {name!r} (different: {fields}); "
                "fit this judge with `local-judge judge calibrate`"
            )
        if not current(own):
            raise ConfigError(
                f"--calibration {one.path}: fitted on another wording of the question {own[0].question!r}; fit "
                "it again with `local-judge judge calibrate`"
            )


def calibrations_for(
    identity: EngineIdentity, ledger: Ledger, given: Sequence[GivenCalibrations] = ()
) -> tuple[Calibration, ...]:
    """Return the calibrations of a judge for the current questions: given ones first, then those of the ledger."""
    digest = Identified.of(identity).digest
    found = {(one.question, one.language): one for one in current(ledger.calibrations(digest))}
    for file in given:
        own = current(one for one in file.calibrations if one.judge == digest)
        # A file covers its questions completely: the ledger's other languages were fitted on other data.
        asked = {one.question for one in own}
        found = {key: one for key, one in found.items() if key[0] not in asked}
        found |= {(one.question, one.language): one for one in own}
    return tuple(found[key] for key in sorted(found))


async def keep(judges: Iterable[Judge]) -> None:
    """Store the calibrations of judges in their ledger.

    Raises:
        LedgerError: they could not be stored.
    """
    for judge in judges:
        await judge.ledger.put_calibrations(judge.calibrations)


def in_manifest(judge: Judge, config: ClaimsConfig) -> list[dict[str, Any]]:
    """Return the calibrations that a judge's verdicts may use, in the form of a run's manifest."""
    if config.method != "scored" or config.calibration == "none":
        return []
    fields = (
        *("question", "prompt", "language", "method", "slope_yes", "slope_no", "intercept"),
        *("threshold", "n", "seed", "data"),
    )
    # `near` also uses those of `page`: a claim in another language is asked about with the page.
    asked = {*QUESTIONS[config.view], *(QUESTIONS["page"] if config.view == "near" else ())}
    return [
        {"id": one.id, **{name: getattr(one, name) for name in fields}}
        for one in current(judge.calibrations)
        if one.question in asked
    ]
