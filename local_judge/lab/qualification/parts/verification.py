"""Does the judge see whether a page states a claim?

Invariant: each planted claim is one item for each method that it was asked by; what is called calibrated is out of
fold, so that no claim is judged by a fit that has seen its page.

    method=raw          P(yes) of `scored`, a yes from 0.5 on
    method=calibrated   the same answers by the calibrations that later runs apply: that of the page's language where
                        it has one of its own, else that of all together; fit and threshold of the other folds
    method=near         the same as calibrated, where the judge is shown what is near to a claim (`claims.view`)
    method=grouped      labels of `grouped`, ranked supported > partial > not_found > off_topic > contradicted
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import Field

from local_judge.claims.config import ClaimsConfig, View
from local_judge.claims.model import Label
from local_judge.claims.yes_no import QUESTIONS
from local_judge.judge.calibration import CalibrationFile, sigmoid
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.calibrate import HeldOut, fits_of
from local_judge.lab.labelled_claims import (
    ClaimAnswer,
    LabelledClaim,
    annotated_claims,
    ask_claims,
    refuse_duplicates,
)
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.figures import Auc, Ece, Measure, Ratio, Value, share, steps
from local_judge.lab.qualification.model import Cost, Item, PartName, Unmeasured
from local_judge.lab.qualification.part_context import Found, PartContext, cost_of
from local_judge.runs.calibrations import GivenCalibrations
from local_judge.runs.store import RunStore
from local_judge.runs.verify import ClaimRow, verify_rows
from local_judge.stats.calibration.assess import Settings
from local_judge.stats.calibration.fitting import Uncalibratable
from local_judge.stats.calibration.folds import FOLDS
from local_judge.stats.calibration.separation import NEUTRAL
from serving.types import Frozen

RANKS: Final[dict[Label, int]] = {
    "supported": 4,
    "partial": 3,
    "not_found": 2,
    "off_topic": 1,
    "contradicted": 0,
}
FITTED: Final[Mapping[View, str]] = {"page": "calibrated", "near": "near"}
"""The methods that are calibrated."""
TRUE: Final = "true"
"""The kind of a claim with which nothing is wrong."""
CALIBRATIONS: Final[Mapping[View, str]] = {"page": "calibration.json", "near": "calibration_near.json"}


class VerificationSettings(Frozen):
    """How much is asked."""

    claims: int = Field(default=300, ge=8)
    """Planted in the snapshot, half of them false."""
    per_page: int = Field(default=4, ge=1)
    annotated: tuple[str, ...] = ()
    """Annotated reports, or `sample`, whose claims are fitted on too: planted ones are in the words of the pages."""
    near: bool = True
    """Ask the same claims by the view `near` too."""
    grouped: bool = True
    """Ask the same claims by `grouped` too."""
    folds: int = Field(default=FOLDS, ge=2)


class Verification:
    """The part."""

    name: PartName = "verification"

    def __init__(self, settings: VerificationSettings) -> None:
        self.settings = settings

    async def ask(self, context: PartContext) -> Found:
        """One question a claim by `scored`; by `grouped` all claims of a page in one."""
        costs: dict[str, Cost] = {}
        async with context.apart("scored") as judge:
            answers = await _ask_planted(context, judge, "page")
            costs["scored"] = cost_of(judge)
        known = {one.id: one for one in context.claims}
        items = [_raw(one, known[one.row.id]) for one in answers]
        annotated = [annotation_path(given) for given in self.settings.annotated]
        refuse_duplicates(row for path in annotated for row in annotated_claims(load_annotations([path])))
        fits = [await self._fit(context, answers, "page", annotated)]
        if self.settings.near:
            async with context.apart("near") as judge:
                answers = await _ask_planted(context, judge, "near")
                costs["near"] = cost_of(judge)
            fits.append(await self._fit(context, answers, "near", annotated))
        items += [item for fit in fits for item in fit.items]
        if self.settings.grouped:
            async with context.apart("grouped") as judge:
                items += await _grouped(context, judge)
                costs["grouped"] = cost_of(judge)
        return Found(
            tuple(items),
            tuple(dict.fromkeys(note for fit in fits for note in fit.notes)),
            calibrations=tuple(one for fit in fits for one in fit.given),
            costs=costs,
            unmeasured=tuple(one for fit in fits for one in fit.unmeasured),
        )

    async def _fit(
        self, context: PartContext, answers: Sequence[ClaimAnswer], view: View, annotated: Sequence[Path]
    ) -> _Fit:
        """Calibrate the answers of one view, and those about annotated claims with them, and keep the file."""
        settings = Settings(folds=self.settings.folds, seed=context.seed, draws=0)
        identity = await context.judge.engine.identity()
        others = [one for path in annotated for one in await _ask_annotated(path, context, view)]
        notes = tuple(_about(others, FITTED[view]))
        try:
            fits = fits_of([*answers, *others], identity, settings, QUESTIONS[view].supported)
        except Uncalibratable as error:
            unmeasured = tuple(_uncalibrated(error, [*answers, *others], FITTED[view]))
            return _Fit(unmeasured=unmeasured, notes=(*notes, unmeasured[0].reason))
        file = CalibrationFile(calibrations=fits.report.calibrations)
        RunStore(context.folder).write_json(CALIBRATIONS[view], file)
        given = GivenCalibrations(context.folder / CALIBRATIONS[view], file.calibrations)
        known = {one.id: one for one in context.claims}
        return _Fit(tuple(_calibrated(answers, known, fits.held, FITTED[view])), (given,), notes=notes)

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """AUC, accuracy, F1 and calibration; but for `raw` also by language, length of evidence and kind."""
        found: list[Measure] = []
        near = ("near",) if self.settings.near else ()
        grouped = ("grouped",) if self.settings.grouped else ()
        for method in ("raw", "calibrated", *near, *grouped):
            found += _measures(method, {})
            for facet in ("language", "length", "kind") if method != "raw" else ():
                for value in sorted({item.facets[facet] for item in items} - {TRUE}):
                    found += _measures(method, {facet: value})
        return found


class _Fit(NamedTuple):
    """What came of calibrating the answers of one view."""

    items: tuple[Item, ...] = ()
    given: tuple[GivenCalibrations, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    notes: tuple[str, ...] = ()


def _about(annotated: Sequence[ClaimAnswer], method: str) -> Iterator[str]:
    """What the fits rest on beside planted claims, and what of it is missing."""
    if not annotated:
        return
    n = sum(one.log_odds is not None for one in annotated)
    yield (
        f"`{method}` is fitted on {n} of {len(annotated)} annotated claims too, in people's words; "
        "no figure is of these"
    )
    unread = sum(one.status != "ok" for one in annotated)
    missing = len(annotated) - n - unread - sum(one.elsewhere for one in annotated)
    if missing:
        yield f"{missing} annotated claims have no answer, and are in no fit of `{method}`"
    if unread:
        yield f"{unread} annotated claims lean on pages that cannot be read"


def _calibrated(
    answers: Sequence[ClaimAnswer],
    known: Mapping[str, PlantedClaim],
    held: Mapping[str, HeldOut],
    method: str,
) -> list[Item]:
    """The answers by the calibrations that were fitted on them, each out of fold."""
    items: list[Item] = []
    for one in answers:
        if one.elsewhere:
            continue
        value, called, cut = held.get(one.row.id, (None, None, None))
        item = _item(one, known[one.row.id], method, value, called)
        items.append(item.model_copy(update={"cut": cut}))
    return items


async def _ask_planted(context: PartContext, judge: Judge, view: View) -> list[ClaimAnswer]:
    rows = [
        LabelledClaim(id=one.id, claim=one.claim, url=one.url, true=one.true, kind=one.kind)
        for one in context.claims
    ]
    return await ask_claims(rows, context.snapshot, judge, _scored(view))


async def _ask_annotated(path: Path, context: PartContext, view: View) -> list[ClaimAnswer]:
    rows = annotated_claims(load_annotations([path]))
    with snapshot_beside([path]) as pages:
        return await ask_claims(rows, pages, context.judge, _scored(view))


def _scored(view: View) -> ClaimsConfig:
    return ClaimsConfig(method="scored", view=view, calibration="none", reliability=False)


def _uncalibrated(error: Uncalibratable, answers: Sequence[ClaimAnswer], method: str) -> Iterator[Unmeasured]:
    """Too few claims are what was asked; that nothing tells them apart, or most have no answer, is the judge."""
    silent = 2 * sum(one.log_odds is None for one in answers) > len(answers)
    for what in ("auc", "accuracy", "f1", "caught", "called_wrong", "ece"):
        yield Unmeasured(
            figures=f"verification/{what}/{method}",
            reason=f"not calibrated: {error}",
            by_judge=silent or error.kind in ("constant", "inverted"),
        )


def _raw(answers: ClaimAnswer, claim: PlantedClaim) -> Item:
    if answers.log_odds is None:
        return _item(answers, claim, "raw", None, None)
    p = sigmoid(answers.log_odds)
    return _item(answers, claim, "raw", p, p >= NEUTRAL)


def _item(
    answers: ClaimAnswer, claim: PlantedClaim, method: str, said: float | None, called: bool | None
) -> Item:
    failure = answers.failure.kind if answers.failure else None
    return Item(
        id=f"{claim.id}:{method}",
        unit=answers.text_digest or answers.url,
        facets=_facets(claim, method),
        truth=float(claim.true),
        said=said,
        called=called,
        failure=failure,
    )


def _facets(claim: PlantedClaim, method: str) -> dict[str, str]:
    return {
        "method": method,
        "kind": claim.kind or TRUE,
        "language": claim.language,
        "length": claim.length,
    }


async def _grouped(context: PartContext, judge: Judge) -> list[Item]:
    rows = [ClaimRow(id=one.id, claim=one.claim, url=one.url) for one in context.claims]
    config = ClaimsConfig(method="grouped", form="terse", reliability=False)
    verified = await verify_rows(rows, context.snapshot, judge, config)
    return [
        Item(
            id=f"{claim.id}:grouped",
            unit=claim.text_digest,
            facets=_facets(claim, "grouped"),
            truth=float(claim.true),
            said=None if one.label is None else RANKS[one.label],
            called=None if one.label is None else one.label == "supported",
            failure=one.failure.kind if one.failure else None,
        )
        for claim, one in zip(context.claims, verified, strict=True)
    ]


def _measures(method: str, only: dict[str, str]) -> list[Measure]:
    """Of one kind of alteration: these beside all true claims."""

    def of(item: Item) -> bool:
        return item.facets["method"] == method and all(
            item.facets[facet] == value or (facet == "kind" and item.facets[facet] == TRUE)
            for facet, value in only.items()
        )

    def measure(what: str, value: Value, better: Literal["more", "less"] = "more") -> Measure:
        return Measure(f"verification/{what}/{method}{steps(only)}", of, value, better)

    found = [
        measure("auc", Auc()),
        measure("accuracy", share(lambda item: item.called == (item.truth == 1))),
        measure("f1", Ratio(_f1)),
        measure("caught", share(lambda item: None if item.truth else not item.called)),
        measure("called_wrong", share(lambda item: not item.called if item.truth else None), "less"),
    ]
    if method != "grouped":
        found.append(measure("ece", Ece(), "less"))
    return found


def _f1(item: Item) -> tuple[int, int]:
    """Of finding the altered claims: 2 hits / (2 hits + misses + false alarms)."""
    altered, found = item.truth == 0, not item.called
    hit, wrong = 2 * (altered and found), altered != found
    return hit, hit + wrong
