"""RACE's published results read as findings: rows of reports, means of a system, and leaderboards.

    raw_results.jsonl   one row per report, 0 to 1
    race_result.txt     means over the reports of one system, 0 to 1
    leaderboard         one row per system, 0 to 100 (`local_judge.protocols.leaderboard`)

Invariant: the files hold scores without criteria, so the findings state scores and have no comparison. The published
code's formula is the paper's where the judge answered each criterion once, so a stated score has both profiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from local_judge.base.errors import InputError, plain
from local_judge.base.rows import optional_text, read_jsonl, row_id
from local_judge.protocols.file_formats import (
    FailedReport,
    Imported,
    ImportedReport,
    content_id,
    file_digest,
    folder_system,
)
from local_judge.protocols.leaderboard import Means, read_means
from local_judge.protocols.race.asking import label
from local_judge.protocols.race.findings import RaceFindings
from local_judge.protocols.race.upstream import MEANS, RESULTS, SCORES
from local_judge.protocols.stated import ALL, Stated, StatedScore, Subject

SCALE = 100.0

RaceImport = Imported[RaceFindings]


def read_published(path: Path) -> RaceImport:
    """Return the findings in a file, or in the folder of a system.

    Raises:
        InputError: it cannot be read or has another form; names the place and the fault.
    """
    if path.is_dir():
        files = [path / name for name in (RESULTS, MEANS) if (path / name).is_file()]
        if not files:
            raise InputError(f"{path}: contains neither {RESULTS} nor {MEANS}")
        path = files[0]
    if path.suffix == ".jsonl":
        rows = list(_rows(path))
        reports = [row for row in rows if isinstance(row, ImportedReport)]
        if not reports:
            raise InputError(f"{path}: no rows with scores in it")
        failed = [one for one in rows if isinstance(one, FailedReport)]
        return Imported(reports, file_digest(path), failed)
    means = read_means(path, "race", dict(zip(SCORES, SCORES, strict=True)))
    return Imported([_of_system(found) for found in means], file_digest(path))


def _rows(path: Path) -> Iterator[ImportedReport[RaceFindings] | FailedReport]:
    system = folder_system(path, "race")
    seen: set[str] = set()
    for place, row in read_jsonl(path):
        case = row_id(row, place)
        if case is None or case in seen:
            raise InputError(f"{place}: no id" if case is None else f"{place}: id {case!r} occurs twice")
        seen.add(case)
        if "error" in row:  # which the published code leaves out when it reads its rows again
            yield FailedReport(case, case, system, plain(str(row["error"])))
            continue
        missing = next((name for name in SCORES if name not in row), None)
        if missing is not None:
            raise InputError(f"{place}: no {missing}")
        values = {name: _scale_share(row[name], f"{place}: {name}") for name in SCORES}
        request = optional_text(row, "prompt", place) or ""
        yield ImportedReport(_findings(case, values, "report", row, request), case, system)


def _of_system(found: Means) -> ImportedReport[RaceFindings]:
    scale = 1 if found.percent else SCALE
    values = {name: None if value is None else value * scale for name, value in found.values.items()}
    return ImportedReport(_findings(found.case, values, "system", found.values), ALL, found.system)


def _scale_share(value: object, place: str) -> float | None:
    """Return a share from 0 to 1 as a score from 0 to 100."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{place}: {repr(value)[:40]} is not a number from 0 to 1")
    return value * SCALE


def _findings(
    case: str,
    values: Mapping[str, float | None],
    of: Subject,
    record: Mapping[str, object],
    request: str = "",
) -> RaceFindings:
    scores = tuple(
        StatedScore(
            path=name.removesuffix("_score"),
            label=label(name.removesuffix("_score")),
            value=value,
        )
        for name, value in values.items()
    )
    return RaceFindings(
        case=case,
        document=content_id(record),
        task=case,
        request=request,
        stated=Stated.model_validate({"of": of, "scores": scores, "record": record}),
    )
