"""Reports with their perturbed reports, for the parts that have both judged.

Invariant: a perturbed report has the task of its report, and differs from it in one flaw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from local_judge.documents import parse_report
from local_judge.lab.planting.commands import NotPlanted, plant_reports
from local_judge.lab.planting.flaws.flaws import FlawSettings
from local_judge.protocols.probes import FlawKind
from local_judge.runs.inputs import RawReport


class Family(NamedTuple):
    """A report with its perturbed reports."""

    report: RawReport
    language: str
    perturbed_reports: Mapping[FlawKind, RawReport]

    def texts(self, flaws: Sequence[FlawKind]) -> list[RawReport]:
        """The report, and its perturbed reports with some flaws."""
        return [
            self.report,
            *(self.perturbed_reports[flaw] for flaw in flaws if flaw in self.perturbed_reports),
        ]


def families(reports: Sequence[RawReport], flaws: FlawSettings) -> tuple[list[Family], list[str]]:
    """The reports that can be read with their perturbed reports, and what could not be planted, in words."""
    made = plant_reports(reports, flaws)
    rows = {row.id: row for row in made.rows}
    found: list[Family] = []
    for raw in reports:
        if raw.id in rows:
            perturbed_reports: dict[FlawKind, RawReport] = {
                flaw.kind: raw._replace(id=flaw.id, content=rows[flaw.id].report.encode())
                for flaw in made.flaws
                if flaw.report == raw.id
            }
            found.append(Family(raw, parse_report(raw.content).language, perturbed_reports))
    notes = [f"{raw}: cannot be read: {why}" for raw, why in made.summary.unreadable.items()]
    return found, notes + [_unplanted(one) for one in made.summary.not_planted]


def _unplanted(one: NotPlanted) -> str:
    return f"{one.report}: no place for {one.kind}: {one.reason}"
