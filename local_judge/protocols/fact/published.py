"""FACT's published means of systems read as findings: `fact_result.txt` and leaderboards.

Invariant: the files hold means of the published code, so the stated scores are those of the profile `upstream`.
"""

from __future__ import annotations

from pathlib import Path

from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.scores import ACCURACY, CITATIONS, EFFECTIVE, LABELS
from local_judge.protocols.file_formats import ImportedReport, content_id
from local_judge.protocols.leaderboard import Means, read_means
from local_judge.protocols.stated import ALL, Stated, StatedScore

MEANS = "fact_result.txt"
PRINTED = {"total_citations": CITATIONS, "total_valid_citations": EFFECTIVE, "valid_rate": ACCURACY}
"""Names in `fact_result.txt`, and the scores that they are."""
STATED = (ACCURACY, EFFECTIVE)
"""Columns of a leaderboard; the accuracy is from 0 to 100 there."""


def read_means_of_systems(path: Path) -> list[ImportedReport[FactFindings]]:
    """Return the means of a `fact_result.txt`, or of a leaderboard, one for each system.

    Raises:
        InputError: it cannot be read or has another form; names the place and the fault.
    """
    return [_report(found) for found in read_means(path, "fact", PRINTED)]


def _report(found: Means) -> ImportedReport[FactFindings]:
    values = dict(found.values)
    if found.percent and (accuracy := values.get(ACCURACY)) is not None:
        values[ACCURACY] = accuracy / 100
    scores = tuple(
        StatedScore(path=id, label=LABELS[id], value=value, profiles=("upstream",))
        for id, value in values.items()
    )
    findings = FactFindings(
        case=found.case,
        document=content_id(values),
        source="file",
        stated=Stated(of="system", scores=scores),
    )
    return ImportedReport(findings, ALL, found.system)
