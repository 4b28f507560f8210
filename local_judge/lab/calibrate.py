"""From what a judge says of known claims to its calibrations.

Invariant: the same answers, settings and seed give the same calibrations and figures; a claim without an answer is
counted, opens the bounds of the accuracy, and is in no fit. Calibrations are in the ledger before they are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.yes_no import QUESTIONS, SUPPORTED, question_digest
from local_judge.judge.calibration import POOLED, Calibration
from local_judge.judge.judge import Judge
from local_judge.lab.labelled_claims import (
    ClaimAnswer,
    LabelledClaim,
    Watch,
    ask_claims,
    data_digest,
    refuse_duplicates,
)
from local_judge.stats.calibration.assess import (
    Assessment,
    Settings,
    assess,
    calibrated,
    part,
    uncalibrated,
)
from local_judge.stats.calibration.fitting import Uncalibratable
from local_judge.stats.calibration.folds import OutOfFold, folds_of
from local_judge.stats.calibration.separation import Judged
from serving.types import EngineIdentity, Frozen

LEAST_CLAIMS, LEAST_OF_A_KIND, LEAST_PAGES = 60, 20, 5
"""What a language needs for a calibration of its own: claims, true and altered ones of these, pages."""


class Bounds(Frozen):
    """Between which an accuracy lies, whatever the missing answers were."""

    low: float
    high: float


Words = Literal["planted", "annotated"]
"""Whose: the pages' own, altered by code; or of people who read the pages."""


class LanguageReport(Frozen):
    """One language, or all of them pooled; or the claims in one kind of words, in all languages."""

    language: str
    words: Words | None = None
    """None for both together."""
    n_expected: int
    """Claims on readable pages."""
    n_failed: int
    """Of these, without an answer of the judge."""
    before: Assessment | None
    """P(yes) at 0.5; None where there is only one class."""
    after: Assessment | None
    """Out of fold, by the calibration that counts for this language."""
    bounds: Bounds | None = None
    """Of the accuracy after calibration, over all `n_expected`; None where nothing failed."""
    calibration: str | None
    """Id of the calibration that counts for this language; None of claims by their words, in several languages."""
    own: bool
    """True if that is its own, and not the pooled one."""
    why_not: str = ""
    """Why it has none of its own."""


class CalibrationReport(Frozen):
    """What was fitted, and what it does."""

    judge: EngineIdentity
    question: str
    prompt: str
    settings: Settings
    n_rows: int
    n_unread: int
    """Rows whose page the snapshot cannot show."""
    n_elsewhere: int = 0
    """Rows that runs would ask about in another view: in no fit of this one."""
    failures: dict[str, int]
    """Rows without an answer, by kind of failure."""
    reports: tuple[LanguageReport, ...]
    """All languages pooled, then each by its code."""
    by_words: tuple[LanguageReport, ...] = ()
    """Where there are claims in both kinds of words: each claim by the fit that counts for its page's language."""
    calibrations: tuple[Calibration, ...]
    """Pooled first."""


class LabelledSet(NamedTuple):
    """Known claims, and the snapshot that has their pages."""

    rows: Sequence[LabelledClaim]
    snapshot: Snapshot


async def calibrate_judge(
    sets: Sequence[LabelledSet],
    judge: Judge,
    config: ClaimsConfig,
    settings: Settings,
    watch: Watch | None = None,
) -> CalibrationReport:
    """Ask the judge about known claims, fit its calibrations, and keep them in its ledger.

    Args:
        sets: what is known.
        judge: who is asked.
        config: what of a page is shown.
        settings: of the fit.
        watch: shows how many pages are done, set by set.

    Raises:
        InputError: a claim stands in two sets.
        Uncalibratable: there is nothing to fit in all claims together; what the ledger has stays.
        LedgerError: a reply or a calibration could not be stored.
    """
    refuse_duplicates(row for known in sets for row in known.rows)
    answers = [
        one for known in sets for one in await ask_claims(known.rows, known.snapshot, judge, config, watch)
    ]
    asked = QUESTIONS[config.view].supported
    report = calibrate(answers, await judge.engine.identity(), settings, asked)
    await judge.ledger.put_calibrations(report.calibrations)
    return report


class HeldOut(NamedTuple):
    """A claim by the calibration that counts for its page's language, fitted without its page."""

    probability: float
    called: bool
    threshold: float


class Fits(NamedTuple):
    """What was fitted, and every answered claim out of fold."""

    report: CalibrationReport
    held: dict[str, HeldOut]
    """By the row's id."""


def calibrate(
    answers: Sequence[ClaimAnswer], judge: EngineIdentity, settings: Settings, question: str = SUPPORTED
) -> CalibrationReport:
    """Fit all languages pooled, and each that has enough claims by itself.

    Raises:
        Uncalibratable: there is nothing to fit in all claims together.
    """
    return fits_of(answers, judge, settings, question).report


def fits_of(
    answers: Sequence[ClaimAnswer], judge: EngineIdentity, settings: Settings, question: str = SUPPORTED
) -> Fits:
    """As `calibrate`, with each claim as it would be judged by the calibrations.

    Args:
        answers: of one judge.
        judge: whose they are.
        settings: of the fit.
        question: to which, by name.

    Raises:
        Uncalibratable: there is nothing to fit in all claims together.
    """
    # In order of their ids: sums of floats depend on the order.
    readable = sorted(
        (one for one in answers if one.status == "ok" and not one.elsewhere), key=lambda one: one.row.id
    )
    answered = [one for one in readable if one.log_odds is not None]
    pooled, pooled_held = calibration_of(answered, POOLED, judge, settings, question)
    by_claim = _by_claim(answered, pooled_held, settings)
    calibrations = [pooled]
    reports = [_report(POOLED, readable, answered, pooled_held, pooled, settings)]
    for language in sorted({one.language for one in readable}):
        here = [one for one in answered if one.language == language]
        expected = [one for one in readable if one.language == language]
        own, held, why_not = pooled, part(pooled_held, [one.language == language for one in answered]), ""
        try:
            _enough(here)
            own, held = calibration_of(here, language, judge, settings, question)
            calibrations.append(own)
            by_claim |= _by_claim(here, held, settings)
        except Uncalibratable as error:
            why_not = str(error)
        reports.append(_report(language, expected, here, held, own, settings, why_not))
    words: tuple[Words, ...] = ("planted", "annotated")
    by_words = [
        _in_words(one, readable, answered, by_claim, settings)
        for one in words
        if len({each.row.annotated for each in readable}) == len(words)
    ]
    report = CalibrationReport(
        judge=judge,
        question=question,
        prompt=question_digest(question),
        settings=settings,
        n_rows=len(answers),
        n_unread=sum(one.status != "ok" for one in answers),
        n_elsewhere=sum(one.elsewhere for one in answers),
        failures=dict(sorted(Counter(one.failure.kind for one in readable if one.failure).items())),
        reports=tuple(reports),
        by_words=tuple(by_words),
        calibrations=tuple(calibrations),
    )
    return Fits(report, by_claim)


def _in_words(
    words: Words,
    readable: Sequence[ClaimAnswer],
    answered: Sequence[ClaimAnswer],
    by_claim: Mapping[str, HeldOut],
    settings: Settings,
) -> LanguageReport:
    """The claims in one kind of words, out of fold by the calibrations that runs apply."""
    expected, said = (
        [one for one in rows if one.row.annotated == (words == "annotated")] for rows in (readable, answered)
    )
    found = [by_claim[one.row.id] for one in said]
    held = OutOfFold(
        judged=[
            Judged(one.true, held.probability, one.page)
            for one, held in zip(_judged(said), found, strict=True)
        ],
        called=[one.called for one in found],
        thresholds=sorted({one.threshold for one in found}),
        fits=[],
    )
    return _report(POOLED, expected, said, held, None, settings, words=words)


def _by_claim(answers: Sequence[ClaimAnswer], held: OutOfFold, settings: Settings) -> dict[str, HeldOut]:
    placed = folds_of([one.page for one in held.judged], settings.folds, settings.seed)
    return {
        one.row.id: HeldOut(claim.value, called, held.thresholds[placed[claim.page]])
        for one, claim, called in zip(answers, held.judged, held.called, strict=True)
    }


def calibration_of(
    answers: Sequence[ClaimAnswer], language: str, judge: EngineIdentity, settings: Settings, question: str
) -> tuple[Calibration, OutOfFold]:
    """The calibration that these answers give, and each of them out of fold.

    Raises:
        Uncalibratable: any of its kinds.
    """
    judged = _judged(answers)
    fitted, held = calibrated(judged, settings)
    after = assess(held, settings)
    calibration = Calibration(
        identity=judge,
        question=question,
        prompt=question_digest(question),
        language=language,
        method=settings.method,
        slope_yes=fitted.curve.slope_yes,
        slope_no=fitted.curve.slope_no,
        intercept=fitted.curve.intercept,
        threshold=fitted.threshold,
        objective=settings.objective,
        n=after.n,
        n_true=after.n_true,
        n_pages=after.n_pages,
        folds=len(held.thresholds),
        seed=settings.seed,
        data=data_digest(answers),
        before=assess(uncalibrated(judged), settings.model_copy(update={"draws": 0})).quality,
        after=after.quality,
    )
    return calibration, held


def _judged(answers: Sequence[ClaimAnswer]) -> list[Judged]:
    """With what the judge said; URLs that lead to the same text are one page, which no fold may divide."""
    pages: dict[str, str] = {}
    for one in sorted(answers, key=lambda one: one.url):
        pages.setdefault(one.text_digest, one.url)
    return [
        Judged(one.row.true, one.log_odds, pages[one.text_digest])
        for one in answers
        if one.log_odds is not None
    ]


def _enough(answers: Sequence[ClaimAnswer]) -> None:
    """Raises Uncalibratable for too few to fit by themselves."""
    n, n_true, pages = (
        len(answers),
        sum(one.row.true for one in answers),
        len({one.text_digest for one in answers}),
    )
    if n < LEAST_CLAIMS or min(n_true, n - n_true) < LEAST_OF_A_KIND or pages < LEAST_PAGES:
        raise Uncalibratable(
            "few_pages",
            f"{n} claims ({n_true} true) on {pages} pages; a calibration of its own needs {LEAST_CLAIMS}, "
            f"{LEAST_OF_A_KIND} of either kind, on {LEAST_PAGES}",
        )


def _report(
    language: str,
    expected: Sequence[ClaimAnswer],
    answered: Sequence[ClaimAnswer],
    held: OutOfFold,
    counts: Calibration | None,
    settings: Settings,
    why_not: str = "",
    words: Words | None = None,
) -> LanguageReport:
    n_failed = len(expected) - len(answered)
    both = len({one.row.true for one in answered}) == 2
    after = assess(held, settings) if both else None
    bounds = None
    if n_failed and after is not None and after.accuracy.value is not None:
        right = round(after.accuracy.value * after.n)
        bounds = Bounds(low=right / len(expected), high=(right + n_failed) / len(expected))
    return LanguageReport(
        language=language,
        words=words,
        n_expected=len(expected),
        n_failed=n_failed,
        before=assess(uncalibrated(_judged(answered)), settings) if both else None,
        after=after,
        bounds=bounds,
        calibration=None if counts is None else counts.id,
        own=counts is not None and not why_not,
        why_not=why_not,
    )
