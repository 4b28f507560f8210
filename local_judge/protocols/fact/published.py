"""FACT's published means of systems read as findings: `fact_result.txt` and leaderboards.

Invariant: the files hold means of the published code, so the stated scores are those of the profile `upstream`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from local_judge.base.errors import InputError
from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.scores import ACCURACY, CITATIONS, EFFECTIVE, LABELS
from local_judge.protocols.file_formats import ImportedReport, folder_system, printed_lines
from local_judge.protocols.leaderboard import read_leaderboard
from local_judge.protocols.stated import ALL, Stated, StatedScore

MEANS = "fact_result.txt"
PRINTED = {"total_citations": CITATIONS, "total_valid_citations": EFFECTIVE, "valid_rate": ACCURACY}
"""Names in `fact_result.txt`, and the scores that they are."""
STATED = (ACCURACY, EFFECTIVE)
"""Columns of a leaderboard; the accuracy is from 0 to 100 there."""


def read_means(path: Path) -> list[ImportedReport[FactFindings]]:
    """Return the means of a `fact_result.txt`, or of a leaderboard, one for each system.

    Raises:
        InputError: it cannot be read or has another form; names the place and the fault.
    """
    if path.suffix != ".txt":
        return [
            _report(
                row.system,
                {name: _share(name, value, path) for name, value in row.values.items()},
                row.system,
            )
            for row in read_leaderboard(path, STATED)
        ]
    lines = printed_lines(path)
    if set(lines) != set(PRINTED):
        raise InputError(f"{path}: expected one line for each of {', '.join(PRINTED)}")
    found: dict[str, float | None] = {}
    for name, id in PRINTED.items():
        try:
            value = float(lines[name])
        except ValueError:
            value = float("nan")
        if not 0 <= value < float("inf") or (id == ACCURACY and value > 1):
            raise InputError(f"{path}: {name}: {lines[name][:40]!r} is not a number that it can be")
        found[id] = value
    system = folder_system(path, "fact")
    return [_report(system or path.stem, found, system)]


def _share(name: str, value: float | None, path: Path) -> float | None:
    if name != ACCURACY or value is None:
        return value
    if value > 100:
        raise InputError(f"{path}: {name}: {value:g} is above 100")
    return value / 100


def _report(
    case: str, values: Mapping[str, float | None], system: str | None
) -> ImportedReport[FactFindings]:
    scores = tuple(
        StatedScore(path=id, label=LABELS[id], value=value, profiles=("upstream",))
        for id, value in values.items()
    )
    findings = FactFindings(
        case=case,
        document=hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16],
        source="file",
        stated=Stated(of="system", scores=scores),
    )
    return ImportedReport(findings, ALL, system)
