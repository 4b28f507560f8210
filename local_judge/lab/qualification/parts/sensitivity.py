"""Do a judge's scores fall where a flaw was planted, and only there?

    truth -1   called if it fell by more than `still`
    truth  0   called if it did not rise by more than `still`

Padding is one of the flaws: how often the padded report scores higher is what a judge gives for length alone.

Invariants: each report, flaw and score of which a protocol expects something is one item; what is said is the score of
the perturbed report less that of the report, in parts of the scale, counted so that below 0 the perturbed report is
worse. A change has a value only where both scores have one and what the judge failed at leaves its direction beyond
doubt; else it is a failure with its kind, or, where the formula itself has no value, no change at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, field_validator

from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import ClaimSet
from local_judge.judge.failures import FailureKind
from local_judge.lab.planting.flaws.flaws import FLAWS, FlawSettings
from local_judge.lab.qualification.figures import Measure, mean_said, share, where
from local_judge.lab.qualification.model import Item, PartName
from local_judge.lab.qualification.part_context import Found, PartContext, run_part
from local_judge.lab.qualification.parts.perturbed_pairs import Family, families
from local_judge.lab.qualification.probes import ScaledScore, check_probes, scaled_scores, sensitivity_probes
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.protocols.probes import Expectation, FlawKind, SensitivityProbe
from local_judge.runs.records import CaseRecord, load_records, load_scores
from local_judge.runs.store import RunStore, claims_file, findings_file
from local_judge.runs.too_long import failures_in
from local_judge.tasks.model import Task
from serving.types import Frozen

Reports = Annotated[int, Field(ge=0)] | None


def _all() -> dict[str, Reports]:
    return dict.fromkeys(sensitivity_probes())


class SensitivitySettings(Frozen):
    """How much is asked."""

    probes: dict[str, Reports] = Field(default_factory=_all)
    """On how many reports each is run, the first ones; None for all."""
    flaws: tuple[FlawKind, ...] = FLAWS
    places: int = Field(default=3, ge=1, le=8)
    """Contradictions in a perturbed report, and fallacies in another."""
    share: float = Field(default=0.5, gt=0, le=1)
    """Of the citations, how many are moved."""
    padding: float = Field(default=0.5, gt=0, le=2)
    """Words without content, over words of the report."""
    still: float = Field(default=0.005, ge=0, lt=1)
    """A change of at most this part of the scale is none: 0.5 points of 100."""

    @field_validator("probes")
    @classmethod
    def _installed(cls, probes: dict[str, Reports]) -> dict[str, Reports]:
        check_probes(probes, sensitivity_probes())
        return probes

    def planted(self, seed: int) -> FlawSettings:
        """What is planted."""
        return FlawSettings(
            kinds=self.flaws, places=self.places, share=self.share, padding=self.padding, seed=seed
        )


CLAIMS = ClaimsConfig(extraction="sentences", method="scored", reliability=False)
"""The sentences are the claims, so that nothing but the answers about pages can move a score."""


class Sensitivity:
    """The part."""

    name: PartName = "sensitivity"

    def __init__(self, settings: SensitivitySettings) -> None:
        self.settings = settings

    async def ask(self, context: PartContext) -> Found:
        """Reports and perturbed reports by each probe in turn."""
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
        """The items of one run, and which scores are undefined."""
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
            perturbed = family.perturbed_reports.get(row.flaw)
            if perturbed is None:
                continue
            moved = change(run, row.path, family.report.id, perturbed.id, self.settings.still)
            if moved is None:
                notes.append(f"{perturbed.id}: {protocol.name} {row.path} is not defined")
            else:
                items.append(self._item(protocol.name, family, row, moved))
        return items, notes

    def _item(self, protocol: str, family: Family, row: Expectation, moved: Change) -> Item:
        called = None
        if moved.value is not None:
            went = direction(moved.value, self.settings.still)
            called = went < 0 if row.truth < 0 else went <= 0
        return Item(
            id=f"{family.report.id}~{row.flaw}:{protocol}:{row.path}",
            unit=family.report.id,
            facets={
                "protocol": protocol,
                "path": row.path,
                "flaw": row.flaw,
                "language": family.language,
            },
            truth=float(row.truth),
            said=moved.value,
            called=called,
            failure=moved.failure,
        )

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """By protocol: over all flaws, by flaw, and by flaw and score where a protocol has several."""
        found: list[Measure] = []
        for protocol in dict.fromkeys(item.facets["protocol"] for item in items):
            own = [item for item in items if item.facets["protocol"] == protocol]
            found += self._over_flaws(protocol)
            for flaw in dict.fromkeys(item.facets["flaw"] for item in own):
                same = [item for item in own if item.facets["flaw"] == flaw]
                found += self._measures({"protocol": protocol, "flaw": flaw}, same)
                paths = list(dict.fromkeys(item.facets["path"] for item in same))
                for path in paths if len(paths) > 1 else ():
                    found += self._measures({"protocol": protocol, "flaw": flaw, "path": path}, same)
        return found

    def _over_flaws(self, protocol: str) -> list[Measure]:
        """Of the flaws that a score should fall by, how often it did; of all, how often it rose."""
        of = where({"protocol": protocol})

        def to_fall(item: Item) -> bool:
            return of(item) and bool(item.truth)

        return [
            Measure(f"sensitivity/right/{protocol}", to_fall, share(lambda item: item.called), "more"),
            Measure(f"sensitivity/wrong/{protocol}", of, share(self._rose), "less"),
        ]

    def _measures(self, only: dict[str, str], items: Sequence[Item]) -> list[Measure]:
        """Mean change, share in the right direction, share that rose."""
        of = where(only)
        end = "/".join(value if facet != "path" else f"path={value}" for facet, value in only.items())
        falls = any(item.truth for item in items)
        return [
            Measure(f"sensitivity/moved/{end}", of, mean_said, "less" if falls else None),
            Measure(f"sensitivity/right/{end}", of, share(lambda item: item.called), "more"),
            Measure(f"sensitivity/wrong/{end}", of, share(self._rose), "less"),
        ]

    def _rose(self, item: Item) -> bool | None:
        return None if item.said is None else direction(item.said, self.settings.still) > 0


def _askable(found: Sequence[Family], protocol: AnyProtocol) -> tuple[list[Family], list[str]]:
    """The reports whose tasks have what a protocol needs, and what the others lack."""
    missing = {family.report.id: _missing(protocol, family.report.task) for family in found}
    kept = [family for family in found if missing[family.report.id] is None]
    return kept, [f"{report}: not judged by {protocol.name}: {why}" for report, why in missing.items() if why]


def _missing(protocol: AnyProtocol, task: Task | None) -> str | None:
    if task is None and protocol.without_task:
        return "it has no task"
    return protocol.missing_inputs(task)


class Scored(NamedTuple):
    """A finished run."""

    store: RunStore
    records: Mapping[str, CaseRecord]
    scores: Mapping[tuple[str, str], ScaledScore]
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
            (findings_file(self.protocol, record.key, None), load_protocol(self.protocol).findings_type),
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
        {(row.case, path): found for row in rows for path, found in scaled_scores(row.scores).items()},
        protocol,
    )


class Change(NamedTuple):
    """From report to perturbed report."""

    value: float | None
    """In parts of the scale; below 0 the perturbed report is the worse."""
    failure: FailureKind | None = None


def change(run: Scored, path: str, report: str, perturbed: str, still: float) -> Change | None:
    """What changed, or None where the score is undefined by its formula for one of the two.

    Args:
        run: over both.
        path: of the score.
        report: id.
        perturbed: id.
        still: a change of at most this part of the scale is none.

    Raises:
        ConfigError: the score has no scale with two ends.
    """
    found = {one: run.scores.get((one, path)) for one in (report, perturbed)}
    for one, scored in found.items():
        if scored is None or (scored.score.value is None and scored.score.n_failed):
            return Change(None, run.failure(one))
    before, after = found[report], found[perturbed]
    if before is None or after is None or before.score.value is None or after.score.value is None:
        return None

    def difference(of_after: float | None, of_before: float | None) -> float | None:
        if of_after is None or of_before is None:
            return None
        return round(after.share(of_after, path) - before.share(of_before, path), 9) + 0.0

    failed = [one for one in (report, perturbed) if run.records[one].n_calls_failed]
    if failed:
        ends = [
            difference(after.score.low, before.score.high),
            difference(after.score.high, before.score.low),
        ]
        if len({None if end is None else direction(end, still) for end in ends}) > 1 or None in ends:
            return Change(None, run.failure(failed[0]))
    return Change(difference(after.score.value, before.score.value))


def direction(value: float, still: float) -> int:
    """-1: fell, 0: stayed, 1: rose."""
    return 0 if abs(value) <= still else (1 if value > 0 else -1)
