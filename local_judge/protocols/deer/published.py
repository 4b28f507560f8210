"""DEER's published result folder read as findings.

    fact/<sample>.json    stated scores of the ten metrics, by the published code's formulas only (`upstream`)
    others/<sample>.json  answers to the rubric's items, from which both profiles are computed
    final/<sample>.json   stated dimensions of a sample that has neither of the two
    final.json            stated dimensions of a system, of a folder that has no samples

Invariant: what the files state twice has to agree: averages follow from metrics, and `final/` and `final.json` from
`fact/` and `others/`. A disagreement is an error that names the file and the score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from local_judge.base.errors import InputError, first_problem, os_errors
from local_judge.base.files import MOST_TEXT, open_file
from local_judge.base.rows import parse_object, read_text
from local_judge.protocols.deer.export import (
    DeerFindings,
    Graded,
    OthersFile,
    Parts,
    findings_of,
    folder,
    read_file,
    sample_of,
)
from local_judge.protocols.deer.names import INTEGRATED_NAMES, METRICS, REFERENCE_QUALITY
from local_judge.protocols.deer.verification import upstream
from local_judge.protocols.file_formats import Imported, ImportedReport, file_digest
from local_judge.protocols.stated import ALL, Stated, StatedScore, Subject

DIGITS = "[0-9]*.json"
PARTS = ("fact", "others", "final")


M = TypeVar("M", bound=BaseModel)


class _Final(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    score_avgs: dict[str, Graded]
    criteria_avgs: Parts


class _Fact(BaseModel):
    """The parts of `fact/<sample>.json` that scores are made of; `raw` is kept and not read."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    score_avgs: dict[str, float]
    criteria_avgs: dict[str, dict[str, float]]
    scores: dict[str, dict[str, dict[str, float]]]


class _Sample(NamedTuple):
    number: int
    files: Mapping[str, Path]
    """Files by the part that they are."""


def read_folder(path: Path) -> Imported[DeerFindings]:
    """Return the findings of a result folder, or of a `final.json`.

    Raises:
        InputError: a file cannot be read, has another form, or disagrees with another one.
    """
    if not path.is_dir():
        return Imported([_system(path)], file_digest(path))
    samples = _samples(path)
    if not samples:
        return Imported([_system(path / "final.json")], file_digest(path / "final.json"))
    found = {sample.number: _findings(sample) for sample in samples}
    _check_final(path, found)
    files = [file for sample in samples for file in sample.files.values()]
    system = path.resolve().name
    return Imported([ImportedReport(one, one.case, system) for one in found.values()], file_digest(*files))


def _samples(path: Path) -> list[_Sample]:
    found: dict[int, dict[str, Path]] = {}
    for part in PARTS:
        for file in sorted((path / part).glob(DIGITS)):
            if file.stem.isascii() and file.stem.isdecimal() and len(file.stem) < 10:
                found.setdefault(int(file.stem), {})[part] = file
    return [_Sample(number, found[number]) for number in sorted(found)]


def _findings(sample: _Sample) -> DeerFindings:
    content = b""
    for file in sample.files.values():
        with os_errors(InputError, f"{file}: cannot be read"), open_file(file, MOST_TEXT) as opened:
            content += opened.read()
    rubric = stated = None
    if "others" in sample.files:
        file = sample.files["others"]
        try:
            rubric = findings_of(read_file(file, OthersFile))
        except ValueError as error:
            raise InputError(f"{file}: {' '.join(str(error).split())}") from None
    if "fact" in sample.files:
        stated = _stated_fact(sample.files["fact"])
    if rubric is None and stated is None:
        stated = _stated_final(sample.files["final"], "report")
    return DeerFindings(
        case=str(sample.number),
        document=hashlib.sha256(content).hexdigest()[:16],
        rubric=rubric,
        stated=stated,
    )


def _stated_fact(path: Path) -> Stated:
    record = parse_object(read_text(path), str(path))
    fact = _read(path, _Fact, record)
    wanted: dict[str, dict[str, set[str]]] = {}
    for metric in METRICS:
        wanted.setdefault(metric.dimension, {}).setdefault(metric.part, set()).add(metric.name)
    given = {
        dimension: {part: set(metrics) for part, metrics in parts.items()}
        for dimension, parts in fact.scores.items()
    }
    if given != wanted:
        raise InputError(f"{path}: scores: not the ten metrics of the published code")
    dimensions, parts = upstream.averages(fact.scores)
    _compare(path, "score_avgs", dimensions, fact.score_avgs)
    _compare(path, "criteria_avgs", parts, fact.criteria_avgs)
    scores: list[StatedScore] = []
    for name, groups in fact.scores.items():
        root = INTEGRATED_NAMES[name]
        scores.append(_score(root, dimensions[name]))
        for part, metrics in groups.items():
            ids = [metric.id for metric in METRICS if (metric.dimension, metric.part) == (name, part)]
            above = f"{root}/{ids[0] if len(ids) == 1 else REFERENCE_QUALITY}"
            scores.append(_score(above, parts[name][part]))
            named = {metric.name: metric.id for metric in METRICS if metric.dimension == name}
            scores += [_score(f"{above}/{named[metric]}", value) for metric, value in metrics.items()]
    return Stated(scores=tuple(scores), record=cast("dict[str, JsonValue]", record))


def _stated_final(path: Path, of: Subject) -> Stated:
    record = parse_object(read_text(path), str(path))
    final = _read(path, _Final, record)
    scores: list[StatedScore] = []
    for name, value in final.score_avgs.items():
        scores.append(_score(name, value))
        scores += [
            _score(f"{name}/{part}", below) for part, below in final.criteria_avgs.get(name, {}).items()
        ]
    return Stated(of=of, scores=tuple(scores))


def _score(path: str, value: Graded) -> StatedScore:
    name = path.rpartition("/")[2].replace("_", " ").title()
    number = None if isinstance(value, str) else float(value)
    return StatedScore(path=path, label=name, value=number, profiles=("upstream",))


def _system(path: Path) -> ImportedReport[DeerFindings]:
    if not path.is_file():
        raise InputError(f"{path.parent}: contains no final.json, and no results in {', '.join(PARTS)}")
    folder = path.resolve().parent
    if folder.name in PARTS:
        raise InputError(f"{path}: one report of a result folder; import {folder.parent}")
    stated = _stated_final(path, "system")
    system = folder.name
    return ImportedReport(
        DeerFindings(case=system, document=file_digest(path)[:16], stated=stated), ALL, system
    )


def _check_final(path: Path, found: Mapping[int, DeerFindings]) -> None:
    """Compare `final/` and `final.json` with what follows from `fact/` and `others/`."""
    samples = {number: sample_of(one) for number, one in found.items()}
    written = folder(
        {number: sample for number, sample in samples.items() if sample.has_fact or sample.has_others}
    )
    for name, ours in written.items():
        file = path / name
        if name.startswith("final") and file.is_file():
            theirs = _read(file, _Final, parse_object(read_text(file), str(file)))
            for key in ("score_avgs", "criteria_avgs"):
                _compare(file, key, cast("Mapping[str, Any]", ours[key]), getattr(theirs, key))


def _compare(path: Path, name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    keys: Sequence[str] = list(dict.fromkeys((*ours, *theirs)))
    for key in keys:
        one, other = ours.get(key), theirs.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            _compare(path, f"{name}.{key}", cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other))
        elif one != other:
            raise InputError(f"{path}: {name}.{key} is {other}, and {one} follows from the other scores")


def _read(path: Path, model: type[M], record: dict[str, Any]) -> M:
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error, 'the file')}") from None
