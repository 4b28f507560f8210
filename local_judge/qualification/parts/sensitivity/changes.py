"""What a score made of a twin, beside what it made of the report.

Invariant: a change has a value only where both scores have one and what the judge failed at leaves its direction beyond
doubt; else it is a failure with its kind, or, where the formula itself has no value, no change at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import BaseModel

from local_judge.claims.model import ClaimSet
from local_judge.judge.failures import FailureKind
from local_judge.protocols.base import load_protocol
from local_judge.protocols.scores import Score
from local_judge.qualification.parts.sensitivity.expectations import Place
from local_judge.runs.records import CaseRecord, load_records, load_scores
from local_judge.runs.store import RunStore, claims_file, findings_file
from local_judge.runs.too_long import failures_in


class Scored(NamedTuple):
    """A finished run."""

    store: RunStore
    records: Mapping[str, CaseRecord]
    scores: Mapping[tuple[str, str], Score]
    """By report and path."""
    protocol: str

    def failure(self, report: str) -> FailureKind:
        """Why an answer about a report is missing; `incomplete` where nothing that was kept says it."""
        for kind in self._failures(report):
            return kind
        return "incomplete"

    def _failures(self, report: str) -> Iterator[FailureKind]:
        record = self.records.get(report)
        if record is None or record.status != "done":
            return
        files: list[tuple[str, type[BaseModel]]] = [
            (findings_file(self.protocol, record.key, None), load_protocol(self.protocol).findings),
            (claims_file(record.key, None), ClaimSet),
        ]
        for name, model in files:
            if (self.store.root / name).exists():
                for failure in failures_in(self.store.read_model(name, model)):
                    yield failure.kind


def scored(store: RunStore, protocol: str) -> Scored:
    """The scores of a run by the formulas of the paper."""
    rows = [row for row in load_scores(store, [protocol]) if row.profile == "paper"]
    return Scored(
        store,
        {record.id: record for record in load_records(store)},
        {
            (row.case, "/".join(path)): node.score
            for row in rows
            for root in row.scores
            for path, node in root.walk()
        },
        protocol,
    )


class Change(NamedTuple):
    """From report to twin."""

    value: float | None
    """In parts of the scale; below 0 the twin is the worse."""
    failure: FailureKind | None = None


def change(run: Scored, place: Place, report: str, twin: str, still: float) -> Change | None:
    """What changed, or None where the score is undefined by its formula for one of the two.

    Args:
        run: over both.
        place: of the score.
        report: id.
        twin: id.
        still: a change of at most this part of the scale is none.
    """
    found = {one: run.scores.get((one, place.path)) for one in (report, twin)}
    for one, score in found.items():
        if score is None or (score.value is None and score.n_failed):
            return Change(None, run.failure(one))
    before, after = found[report], found[twin]
    if before is None or after is None or before.value is None or after.value is None:
        return None
    value = _part(after.value - before.value, place)
    failed = [one for one in (report, twin) if run.records[one].n_calls_failed]
    if failed:
        ends = [_difference(after.low, before.high, place), _difference(after.high, before.low, place)]
        if len({None if end is None else direction(end, still) for end in ends}) > 1 or None in ends:
            return Change(None, run.failure(failed[0]))
    return Change(value)


def direction(value: float, still: float) -> int:
    """-1: fell, 0: stayed, 1: rose."""
    return 0 if abs(value) <= still else (1 if value > 0 else -1)


def _difference(after: float | None, before: float | None, place: Place) -> float | None:
    return None if after is None or before is None else _part(after - before, place)


def _part(difference: float, place: Place) -> float:
    sign = 1.0 if place.better == "more" else -1.0
    return round(sign * difference / place.scale, 9) + 0.0
