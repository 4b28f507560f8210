"""Part `verification`: does the judge recognise whether a page states a claim?

Invariant: each planted claim is one item for each method. Calibrated answers are out of fold: no claim is judged by a
fit that used its page.

    method=raw          P(yes) of `scored`, yes from 0.5
    method=calibrated   the same answers with the calibrations that later runs apply: that of the page's language if it
                        has one, else the pooled one; fit and threshold of the other folds
    method=near         as calibrated, for the view `near`, which shows the passages near to a claim (`claims.view`)
    method=contrast     as calibrated, for the view `contrast`, which subtracts half of the answer without a page
    method=grouped      labels of `grouped`, ranked supported > partial > not_found > off_topic, unusable > contradicted
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig, View
from local_judge.claims.yes_no import QUESTIONS
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.annotations.model import annotated_claims
from local_judge.lab.calibrate import fits_of
from local_judge.lab.labelled.answers import Answer, ask_log_odds, ask_verdicts
from local_judge.lab.labelled.model import TRUE, LabelledSet, refuse_duplicates
from local_judge.lab.planting.model import FALSE_KINDS, LANGUAGES, LENGTHS
from local_judge.lab.qualification.figures import (
    Auc,
    Ece,
    Measure,
    MeasureRow,
    Ratio,
    Where,
    facet_values,
    measures,
    share,
    steps,
)
from local_judge.lab.qualification.model import Cost, Item, JudgeAnswer, Unmeasured
from local_judge.lab.qualification.part import Found, Part, PartContext, cost_of
from local_judge.ledger.calibrations import CalibrationFile, sigmoid
from local_judge.runs.planning.calibrations import GivenCalibrations
from local_judge.runs.storage.store import RunStore
from local_judge.stats.calibration.assess import Settings
from local_judge.stats.calibration.fitting import FOLDS, Uncalibratable
from local_judge.stats.calibration.measures import NEUTRAL


class _Calibrated(NamedTuple):
    """Names of a calibrated view of the method `scored`."""

    view: View
    method: str
    """Value of the facet `method`."""
    cost: str
    """Name of its separate cost."""
    file: str


VIEWS: Final = (
    _Calibrated("page", "calibrated", "scored", "calibration.json"),
    _Calibrated("near", "near", "near", "calibration_near.json"),
    _Calibrated("contrast", "contrast", "contrast", "calibration_contrast.json"),
)


class VerificationSettings(Frozen):
    """Sizes of the part."""

    claims: int = Field(default=300, ge=8)
    """Number of claims planted in the snapshot, half of them false."""
    per_page: int = Field(default=4, ge=1)
    """Maximum number of claims per page."""
    annotated: tuple[str, ...] = ()
    """Annotated reports, or `sample`, whose claims are also fitted on: planted claims use the words of the pages."""
    near: bool = True
    """Ask about the same claims with the view `near`."""
    contrast: bool = False
    """Ask about the same claims with the view `contrast`, in two calls per claim."""
    grouped: bool = True
    """Ask about the same claims with the method `grouped`."""
    folds: int = Field(default=FOLDS, ge=2)
    """Number of folds of the calibration."""

    def views(self) -> list[_Calibrated]:
        """Return the views of the method `scored` to ask about, `page` first."""
        asked = {"page": True, "near": self.near, "contrast": self.contrast}
        return [view for view in VIEWS if asked[view.view]]


def _f1(item: Item) -> tuple[int, int]:
    """F1 of finding the altered claims: 2 hits / (2 hits + misses + false alarms)."""
    altered, found = item.truth == 0, not item.called
    hit, wrong = 2 * (altered and found), altered != found
    return hit, hit + wrong


ROWS: Final[Sequence[MeasureRow]] = (
    ("auc", Auc(), "more"),
    ("accuracy", share(lambda item: item.called == (item.truth == 1)), "more"),
    ("f1", Ratio(_f1), "more"),
    ("caught", share(lambda item: None if item.truth else not item.called), "more"),
    ("called_wrong", share(lambda item: not item.called if item.truth else None), "less"),
    ("ece", Ece(), "less"),
)
"""The measures; `grouped` gives no probabilities and has no `ece`."""


SUBSETS: Final = "|".join(
    f"/{facet}=({'|'.join(values)})"
    for facet, values in {"language": LANGUAGES, "length": [*LENGTHS], "kind": FALSE_KINDS}.items()
)
"""Pattern of the subsets of claims in the ids of figures."""


class Verification(Part[VerificationSettings]):
    """The part."""

    name = "verification"
    legend = (
        "Does the page state the claim? Some of the claims are true; code altered the others.\n\n"
        "- `raw`: the method `scored`, with a threshold of 0.5 on P(yes);\n"
        "- `calibrated`: the same answers, with a calibration and a threshold fitted on the other pages;\n"
        "- `near`: like `calibrated`, but the judge is shown the passages near the claim;\n"
        "- `contrast`: like `calibrated`, less half of what the judge answers without the page;\n"
        "- `grouped`: the method `grouped`, which asks for a label;\n"
        "- `auc`, `accuracy`: of separating true from altered claims;\n"
        "- `f1`: of finding the altered claims;\n"
        "- `caught`: share of the altered claims that the judge does not call true;\n"
        "- `called wrong`: share of the true claims that the judge does not call true;\n"
        "- `ece`: expected calibration error; with few claims it is above 0 even for the best judge;\n"
        "- a row about one kind of alteration compares its claims with all true claims."
    )

    figures = (
        r"((auc|accuracy|f1|caught|called_wrong)/(raw|calibrated|near|contrast|grouped)"
        r"|ece/(raw|calibrated|near|contrast))"
        rf"({SUBSETS})?"
    )

    async def ask(self, context: PartContext) -> Found:
        """Ask one question per claim by `scored`, and one per page by `grouped`."""
        claims = [LabelledSet(context.claims, context.snapshot)]
        annotated = [annotation_path(given) for given in self.settings.annotated]
        refuse_duplicates(one for path in annotated for one in annotated_claims(load_annotations([path])))
        costs: dict[str, Cost] = {}
        items: list[Item] = []
        fits: list[Found] = []
        for view in self.settings.views():
            async with context.apart(view.cost) as judge:
                answers = await ask_log_odds(claims, judge, _scored(view.view))
                costs[view.cost] = cost_of(judge)
            if view.view == "page":
                items += map(_raw, answers)
            fits.append(await self._fit(context, answers, view, annotated))
        items += [item for fit in fits for item in fit.items]
        if self.settings.grouped:
            async with context.apart("grouped") as judge:
                verdicts = await ask_verdicts(
                    claims, judge, ClaimsConfig(method="grouped", form="terse", reliability=False)
                )
                items += [_item(one, "grouped", one.rank, one.called) for one in verdicts]
                costs["grouped"] = cost_of(judge)
        return Found(
            tuple(items),
            tuple(dict.fromkeys(note for fit in fits for note in fit.notes)),
            calibrations=tuple(one for fit in fits for one in fit.calibrations),
            costs=costs,
            unmeasured=tuple(one for fit in fits for one in fit.unmeasured),
        )

    async def _fit(
        self,
        context: PartContext,
        answers: Sequence[Answer],
        view: _Calibrated,
        annotated: Sequence[Path],
    ) -> Found:
        """Calibrate the answers of one view together with answers about annotated claims, and store the file."""
        settings = Settings(folds=self.settings.folds, seed=context.seed, draws=0)
        identity = await context.judge.engine.identity()
        others = [one for path in annotated for one in await _ask_annotated(path, context, view.view)]
        notes = tuple(_about(others, view.method))
        try:
            fits = fits_of([*answers, *others], identity, settings, QUESTIONS[view.view].supported)
        except Uncalibratable as error:
            unmeasured = tuple(_uncalibrated(error, [*answers, *others], view.method))
            return Found((), (*notes, unmeasured[0].reason), unmeasured=unmeasured)
        file = CalibrationFile(calibrations=fits.report.calibrations)
        RunStore(context.folder).write_json(view.file, file)
        given = GivenCalibrations(context.folder / view.file, file.calibrations)
        items: list[Item] = []
        for one in answers:
            if not one.elsewhere:
                value, called, cut = fits.held.get(one.claim.key, (None, None, None))
                item = _item(one, view.method, value, called)
                items.append(item.model_copy(update={"cut": cut}))
        return Found(tuple(items), notes, (given,))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Return the measures by method; except for `raw` also by language, length of the page and kind."""
        views, grouped = (view.method for view in self.settings.views()), ("grouped",) * self.settings.grouped
        facets = [
            only for only in facet_values(items, "language", "length", "kind") if TRUE not in only.values()
        ]
        found: list[Measure] = []
        for method in ("raw", *views, *grouped):
            rows = ROWS[:-1] if method == "grouped" else ROWS
            for only in ({}, *(facets if method != "raw" else ())):
                found += measures(self.name, f"/{method}{steps(only)}", _where(method, only), rows)
        return found


def _where(method: str, only: dict[str, str]) -> Where:
    """Return the condition for items of a method and subset; a kind of alteration includes all true claims."""
    return lambda item: (
        item.facets["method"] == method
        and all(
            item.facets[facet] == value or (facet == "kind" and item.facets[facet] == TRUE)
            for facet, value in only.items()
        )
    )


def _about(annotated: Sequence[Answer], method: str) -> Iterator[str]:
    """Describe the annotated claims in the fits, and those that are missing."""
    if not annotated:
        return
    n = sum(one.log_odds is not None for one in annotated)
    yield (f"`{method}` is also fitted on {n} of {len(annotated)} annotated claims; no figure includes them")
    unread = sum(not one.is_read for one in annotated)
    missing = len(annotated) - n - unread - sum(one.elsewhere for one in annotated)
    if missing:
        yield f"{missing} annotated claims have no answer, and are in no fit of `{method}`"
    if unread:
        yield f"{unread} annotated claims refer to pages that cannot be read"


async def _ask_annotated(path: Path, context: PartContext, view: View) -> list[Answer]:
    claims = annotated_claims(load_annotations([path]))
    with snapshot_beside([path]) as pages:
        return await ask_log_odds([LabelledSet(claims, pages)], context.judge, _scored(view))


def _scored(view: View) -> ClaimsConfig:
    return ClaimsConfig(method="scored", view=view, calibration="none", reliability=False)


def _uncalibrated(error: Uncalibratable, answers: Sequence[Answer], method: str) -> Iterator[Unmeasured]:
    """Yield the missing figures; the judge is the reason if its answers do not separate claims, or most are missing."""
    silent = 2 * sum(one.log_odds is None for one in answers) > len(answers)
    for what, _, _ in ROWS:
        yield Unmeasured(
            figures=f"verification/{what}/{method}",
            reason=f"not calibrated: {error}",
            by_judge=silent or error.kind in ("constant", "inverted"),
        )


def _raw(answer: Answer) -> Item:
    if answer.log_odds is None:
        return _item(answer, "raw", None, None)
    p = sigmoid(answer.log_odds)
    return _item(answer, "raw", p, p >= NEUTRAL)


def _item(one: Answer, method: str, said: float | None, called: bool | None) -> Item:
    answer = JudgeAnswer(said, called, one.failure.kind if one.failure else None)
    facets = {"method": method, **one.claim.facets}
    return answer.item(f"{one.claim.key}:{method}", one.claim.document, facets, float(one.claim.true))
