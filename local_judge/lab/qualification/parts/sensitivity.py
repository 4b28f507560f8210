"""Part `sensitivity`: do scores fall if a flaw is planted in a report, and only where they should?

    truth -1   called if the score fell by more than `still`
    truth  0   called if the score did not rise by more than `still`

One of the flaws is padding: how often the padded report scores higher is what a judge gives for length alone.

Invariants: each report, flaw and score for which a protocol expects something is one item. `said` is the score of the
perturbed report minus that of the report, as a share of the scale; it is negative if the perturbed report is worse. A
change has a value only if both scores have one and the judge's failures leave no doubt about the direction. Otherwise
the item is a failure with its kind, or there is no item if the formula itself has no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, Field, field_validator

from local_judge.base.failures import FailureKind
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import ClaimSet
from local_judge.lab.planting.flaws.flaws import FLAWS, FlawSettings
from local_judge.lab.qualification.figures import (
    Measure,
    MeasureRow,
    Value,
    called_share,
    mean_said,
    measures,
    share,
    where,
)
from local_judge.lab.qualification.model import Item, JudgeAnswer
from local_judge.lab.qualification.part import EACH, Found, Part, PartContext, run_part
from local_judge.lab.qualification.probes import (
    Family,
    ScaledScore,
    check_probes,
    families,
    scaled_scores,
    sensitivity_probes,
)
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.protocols.probes import FlawKind, SensitivityProbe
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.records import CaseRecord, failures_in, load_records, load_scores
from local_judge.runs.storage.store import RunStore

Reports = Annotated[int, Field(ge=0)] | None


def _all() -> dict[str, Reports]:
    return dict.fromkeys(sensitivity_probes())


class SensitivitySettings(Frozen):
    """Sizes of the part."""

    probes: dict[str, Reports] = Field(default_factory=_all)
    """Number of reports for each probe, the first ones; None for all."""
    flaws: tuple[FlawKind, ...] = FLAWS
    """Flaws of the perturbed reports."""
    places: int = Field(default=3, ge=1, le=8)
    """Number of contradictions in a perturbed report, and of fallacies in another."""
    share: float = Field(default=0.5, gt=0, le=1)
    """Share of the citations that are moved."""
    padding: float = Field(default=0.5, gt=0, le=2)
    """Words without content divided by words of the report."""
    still: float = Field(default=0.005, ge=0, lt=1)
    """Largest change, as a share of the scale, that counts as none: 0.5 points of 100."""

    @field_validator("probes")
    @classmethod
    def _installed(cls, probes: dict[str, Reports]) -> dict[str, Reports]:
        check_probes(probes, sensitivity_probes())
        return probes

    def planted(self, seed: int) -> FlawSettings:
        """Return the settings of the planted flaws."""
        return FlawSettings(
            kinds=self.flaws, places=self.places, share=self.share, padding=self.padding, seed=seed
        )


CLAIMS: Final = ClaimsConfig(extraction="sentences", method="scored", reliability=False)
"""Sentences are the claims, so that only the answers about pages can change a score."""


class Sensitivity(Part[SensitivitySettings]):
    """The part."""

    name = "sensitivity"
    legend = (
        "The judge scores reports, and copies of them with one flaw each.\n\n"
        "- `right`: share of the copies whose score falls, or does not rise for flaws that should not lower it;\n"
        "- `wrong`: share of the copies with a higher score;\n"
        "- `moved`: mean change as a share of the scale;\n"
        "- over all flaws, `right` covers only flaws that should lower the score."
    )

    figures = rf"(right|wrong)/{EACH}|(moved|right|wrong)/{EACH}/\w+(/path=.+)?"

    async def ask(self, context: PartContext) -> Found:
        """Score reports and perturbed reports with each probe."""
        probes = sensitivity_probes()
        chosen = {name: n for name, n in self.settings.probes.items() if n != 0}
        most = None if None in chosen.values() else max((n or 0 for n in chosen.values()), default=0)
        found, notes = families(context.reports[:most], self.settings.planted(context.seed))
        items: list[Item] = []
        for name, n in chosen.items():
            protocol = load_protocol(probes[name].protocol, dict(probes[name].probe.settings))
            own, left_out = _askable(found[:n], protocol)
            notes += left_out
            if own:
                made, undefined = await self._probe(name, probes[name].probe, protocol, own, context)
                items += made
                notes += undefined
        return Found(tuple(items), tuple(dict.fromkeys(notes)))

    async def _probe(
        self,
        name: str,
        probe: SensitivityProbe,
        protocol: AnyProtocol,
        own: Sequence[Family],
        context: PartContext,
    ) -> tuple[list[Item], list[str]]:
        """Return the items of one run, and notes on undefined scores."""
        rows = [row for flaw in self.settings.flaws for row in probe.expectations if row.flaw == flaw]
        flaws: list[FlawKind] = list(dict.fromkeys(row.flaw for row in rows))
        texts = [text for family in own for text in family.texts(flaws)]
        reads_pages = protocol.needs_claims or protocol.needs_snapshot
        snapshot = context.snapshot if reads_pages else None
        job = context.job(name, texts, protocol.name, probe.settings, snapshot, CLAIMS)
        await run_part(job)
        run = scored(job.store, protocol.name)
        items: list[Item] = []
        notes: list[str] = []
        for family, row in product(own, rows):
            perturbed = family.perturbed.get(row.flaw)
            if perturbed is None:
                continue
            report, still = family.report.id, self.settings.still
            answer = change(run, row.path, report, perturbed.id, still)
            if answer is None:
                notes.append(f"{perturbed.id}: {protocol.name} {row.path} is not defined")
                continue
            if answer.value is not None:
                went = direction(answer.value, still)
                answer = answer._replace(yes=went < 0 if row.truth < 0 else went <= 0)
            facets = {
                "protocol": protocol.name,
                "path": row.path,
                "flaw": row.flaw,
                "language": family.language,
            }
            id = f"{report}~{row.flaw}:{protocol.name}:{row.path}"
            items.append(answer.item(id, report, facets, float(row.truth)))
        return items, notes

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Return by protocol: over all flaws, by flaw, and by flaw and score if a protocol has several scores."""
        rose = share(
            lambda item: None if item.said is None else direction(item.said, self.settings.still) > 0
        )
        found: list[Measure] = []
        for protocol in dict.fromkeys(item.facets["protocol"] for item in items):
            own = [item for item in items if item.facets["protocol"] == protocol]
            found += _over_flaws(self.name, protocol, rose)
            for flaw in dict.fromkeys(item.facets["flaw"] for item in own):
                same = [item for item in own if item.facets["flaw"] == flaw]
                paths = list(dict.fromkeys(item.facets["path"] for item in same))
                falls = any(item.truth for item in same)
                for path in ("", *(paths if len(paths) > 1 else ())):
                    only = {"protocol": protocol, "flaw": flaw} | ({"path": path} if path else {})
                    subset = f"/{protocol}/{flaw}" + (f"/path={path}" if path else "")
                    rows: tuple[MeasureRow, ...] = (
                        ("moved", mean_said, "less" if falls else None),
                        ("right", called_share, "more"),
                        ("wrong", rose, "less"),
                    )
                    found += measures(self.name, subset, where(only), rows)
        return found


def _over_flaws(part: str, protocol: str, rose: Value) -> list[Measure]:
    """Return how often a score fell that should fall, and how often any score rose."""
    of = where({"protocol": protocol})
    return [
        *measures(
            part,
            f"/{protocol}",
            lambda item: of(item) and bool(item.truth),
            (("right", called_share, "more"),),
        ),
        *measures(part, f"/{protocol}", of, (("wrong", rose, "less"),)),
    ]


def _askable(found: Sequence[Family], protocol: AnyProtocol) -> tuple[list[Family], list[str]]:
    """Return the reports whose tasks have what a protocol needs, and notes on what the others lack."""
    kept: list[Family] = []
    notes: list[str] = []
    for family in found:
        task = family.report.task
        needs_task = task is None and protocol.without_task
        why = "it has no task" if needs_task else protocol.missing_inputs(task)
        if why is None:
            kept.append(family)
        else:
            notes.append(f"{family.report.id}: not judged by {protocol.name}: {why}")
    return kept, notes


class Scored(NamedTuple):
    """A finished run."""

    store: RunStore
    records: Mapping[str, CaseRecord]
    scores: Mapping[tuple[str, str], ScaledScore]
    """Scores by report and path."""
    protocol: str

    def failure(self, report: str) -> FailureKind:
        """Return why an answer about a report is missing; `incomplete` if no stored failure says it."""
        for kind in self._failures(report):
            return kind
        return "incomplete"

    def _failures(self, report: str) -> Iterator[FailureKind]:
        record = self.records.get(report)
        if record is None or record.status != "done":
            return
        files: list[tuple[str, type[BaseModel]]] = [
            (findings_file(self.protocol, None), load_protocol(self.protocol).findings_type),
            (claims_file(None), ClaimSet),
        ]
        for name, model in files:
            for failure in failures_in(self.store.find_item(name, record.key, model)):
                yield failure.kind


def scored(store: RunStore, protocol: str) -> Scored:
    """Return the scores of a run by the formulas of the paper."""
    rows = [row for row in load_scores(store, [protocol]) if row.profile == "paper"]
    return Scored(
        store,
        {record.id: record for record in load_records(store)},
        {(row.case, path): found for row in rows for path, found in scaled_scores(row.scores).items()},
        protocol,
    )


def change(run: Scored, path: str, report: str, perturbed: str, still: float) -> JudgeAnswer | None:
    """Return the change of a score from a report to its perturbed version, as a share of the scale.

    Args:
        run: scores of both.
        path: path of the score.
        report: id of the report.
        perturbed: id of the perturbed version.
        still: largest change that counts as none.

    Returns:
        The change, negative if the perturbed version is worse, or a failure. None if the formula of the score gives one
        of the two no value.

    Raises:
        ConfigError: the score has no scale with two ends.
    """
    found = {one: run.scores.get((one, path)) for one in (report, perturbed)}
    for one, scored in found.items():
        if scored is None or (scored.score.value is None and scored.score.n_failed):
            return JudgeAnswer.failed(run.failure(one))
    before, after = found[report], found[perturbed]
    if before is None or after is None or before.score.value is None or after.score.value is None:
        return None

    def difference(of_after: float | None, of_before: float | None) -> float | None:
        if of_after is None or of_before is None:
            return None
        return round(after.share(of_after, path) - before.share(of_before, path), 9) + 0.0

    failed = [one for one in (report, perturbed) if run.records[one].n_calls_failed]
    if failed:
        least = difference(after.score.low, before.score.high)
        most = difference(after.score.high, before.score.low)
        if least is None or most is None or direction(least, still) != direction(most, still):
            return JudgeAnswer.failed(run.failure(failed[0]))
    return JudgeAnswer(difference(after.score.value, before.score.value))


def direction(value: float, still: float) -> int:
    """Return -1 for a fall, 0 for no change, 1 for a rise."""
    return 0 if abs(value) <= still else (1 if value > 0 else -1)
