"""From a judge's answers about known claims to calibrations: by language, with what is missing counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from indexes.model import Page, SourceStatus
from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.yes_no import question_digest
from local_judge.lab.annotations.load import load_annotations, sample_folder
from local_judge.lab.annotations.model import annotated_claims
from local_judge.lab.calibrate import CalibrationReport, calibrate_judge, fits_of
from local_judge.lab.labelled.answers import Answer, ask_log_odds, data_digest
from local_judge.lab.labelled.load import load_sets
from local_judge.lab.labelled.model import LabelledClaim, LabelledSet, Origin
from local_judge.stats.calibration.assess import Settings
from local_judge.stats.calibration.fitting import Uncalibratable
from serving.engines.scripted import Call, Reply
from serving.errors import EngineTimeout
from serving.types import EngineIdentity

from ..known_claims import write_known
from ..scripted_judge import MakeJudge

JUDGE = EngineIdentity(model="m", engine="scripted", engine_version="1")
QUICK = Settings(draws=0)


def calibrate(answers: list[Answer], judge: EngineIdentity, settings: Settings) -> CalibrationReport:
    return fits_of(answers, judge, settings).report


def heard(language: str, n: int, lean: float, *, per_page: int = 4, seed: int = 0) -> list[Answer]:
    """Claims, every second one true, of a judge that adds `lean` to log-odds of +-1 and noise."""
    random = Random(seed)
    return [
        Answer(
            claim=LabelledClaim(
                id=f"{language}{number:03}",
                claim="c",
                url=f"https://{language}.example/{number // per_page}",
                label="unsupported" if number % 2 else "supported",
                origin="planted",
            ),
            page=page_of(language, f"{language}{number // per_page}", number // per_page),
            log_odds=lean + (1 if number % 2 == 0 else -1) + random.gauss(0, 1),
            replies=(f"r{number}",),
        )
        for number in range(n)
    ]


def page_of(language: str, digest: str, number: int, status: SourceStatus = "ok") -> Page:
    url = f"https://{language}.example/{number}"
    return Page(url=url, original_url=url, status=status, language=language, text_digest=digest)


def on_text(one: Answer, digest: str, language: str = "") -> Answer:
    changes = {"text_digest": digest, "language": language or one.page.language}
    return replace(one, page=one.page.model_copy(update=changes))


def unanswered(one: Answer, status: SourceStatus = "ok") -> Answer:
    failure = Failure(kind="timeout", detail="no answer") if status == "ok" else None
    page = one.page.model_copy(update={"status": status})
    return replace(one, log_odds=None, failure=failure, page=page, replies=())


def test_urls_of_the_same_text_are_one_page() -> None:
    # 24 claims of 6 URLs, every two of which lead to the same text.
    claims = heard("en", 24, 2.0)
    same = [on_text(one, f"t{number // 8}") for number, one in enumerate(claims)]
    assert calibrate(claims, JUDGE, QUICK).calibrations[0].n_pages == 6
    pooled = calibrate(same, JUDGE, QUICK).calibrations[0]
    assert (pooled.n_pages, pooled.folds) == (3, 3)


def test_each_claim_is_held_out_from_the_calibration_that_counts_for_its_language() -> None:
    both = [*heard("en", 150, 3.0), *heard("zh", 150, -3.0, seed=1), *heard("de", 20, 3.0, seed=2)]
    report, held = fits_of(both, JUDGE, QUICK)
    for one in report.reports[1:]:
        assert one.after is not None
        own = [row for row in both if row.page.language == one.language]
        right = sum(held[row.claim.key].called == row.claim.true for row in own) / len(own)
        assert right == pytest.approx(one.after.accuracy.value)
    assert all(one.called == (one.probability >= one.threshold) for one in held.values())


def test_each_language_that_has_enough_claims_has_its_own() -> None:
    both = [*heard("en", 200, 2.0), *heard("zh", 100, -1.0, seed=1), *heard("de", 20, 2.0, seed=2)]
    found = calibrate(both, JUDGE, QUICK)
    assert [one.language for one in found.calibrations] == ["all", "en", "zh"]
    pooled, english, chinese = found.calibrations
    # What divides the claims of one language lies in the middle of what the judge adds there.
    assert english.probability(1.6) < 0.5 < english.probability(2.4)
    assert chinese.probability(-1.4) < 0.5 < chinese.probability(-0.6)
    assert (pooled.n, english.n, chinese.n) == (320, 200, 100)
    assert {one.prompt for one in found.calibrations} == {question_digest("supported")}
    by_language = {one.language: one for one in found.reports}
    assert list(by_language) == ["all", "de", "en", "zh"]
    assert by_language["zh"].own and by_language["zh"].calibration == chinese.id
    assert not by_language["de"].own and by_language["de"].calibration == pooled.id
    assert by_language["de"].why_not.startswith(
        "20 claims (10 true) on 5 pages; a calibration of its own needs 60"
    )
    after = by_language["zh"].after
    assert after is not None and after.n == 100 and after.accuracy.value == chinese.after.accuracy


def test_the_order_of_the_rows_changes_nothing() -> None:
    both = [*heard("en", 80, 2.0), *heard("zh", 80, -1.0, seed=1)]
    shuffled = Random(4).sample(both, len(both))
    assert calibrate(both, JUDGE, QUICK) == calibrate(shuffled, JUDGE, QUICK)
    assert data_digest(both) == data_digest(shuffled)
    other = [on_text(both[0], "another"), *both[1:]]
    assert data_digest(other) != data_digest(both)


def test_what_is_missing_is_counted_and_opens_bounds() -> None:
    rows = heard("en", 80, 0.0)
    rows = [*map(unanswered, rows[:3]), *(unanswered(one, "dead") for one in rows[3:5]), *rows[5:]]
    found = calibrate(rows, JUDGE, QUICK)
    pooled = found.reports[0]
    assert (found.n_rows, found.n_unread, found.failures) == (80, 2, {"timeout": 3})
    assert (pooled.n_expected, pooled.n_failed) == (78, 3)
    assert pooled.after is not None and pooled.bounds is not None
    right = round(pooled.after.accuracy.value * 75)
    assert (pooled.bounds.low, pooled.bounds.high) == (right / 78, (right + 3) / 78)
    assert found.calibrations[0].n == 75


def test_planted_and_labelled_claims_have_figures_of_their_own_under_one_fit() -> None:
    def of_origin(rows: list[Answer], origin: Origin) -> list[Answer]:
        return [
            replace(
                one, claim=one.claim.model_copy(update={"id": f"{origin}/{one.claim.id}", "origin": origin})
            )
            for one in rows
        ]

    planted = of_origin(heard("en", 100, 2.0), "planted")
    # People's words get less from this judge, true or not; on pages of their own.
    written = of_origin(heard("en", 100, 0.0, seed=1), "labelled")
    apart = [on_text(one, f"p{one.page.text_digest}") for one in written]
    assert calibrate(planted, JUDGE, QUICK).by_origin == ()
    report, held = fits_of([*planted, *apart], JUDGE, QUICK)
    assert [(one.origin, one.n_expected) for one in report.by_origin] == [
        ("planted", 100),
        ("labelled", 100),
    ]
    for one, rows in zip(report.by_origin, (planted, apart), strict=True):
        assert one.after is not None
        right = sum(
            (held[row.claim.key].probability >= held[row.claim.key].threshold) == row.claim.true
            for row in rows
        )
        assert one.after.accuracy.value == pytest.approx(right / 100)
    # Each by the fit that counts for its language, which is what runs apply.
    chinese = [on_text(one, f"z{one.page.text_digest}", "zh") for one in apart]
    own = calibrate([*planted, *chinese], JUDGE, QUICK)
    language, labelled = {one.language: one for one in own.reports}["zh"].after, own.by_origin[1].after
    assert language is not None and labelled is not None
    assert labelled.accuracy.value == language.accuracy.value
    assert (own.by_origin[1].own, own.by_origin[1].calibration) == (False, None)
    # Fitted on the pages' words alone, the threshold lies above most of what people's true claims get.
    strict = calibrate(planted, JUDGE, QUICK).calibrations[0]
    both = report.calibrations[0]
    true = [one.log_odds for one in apart if one.claim.true and one.log_odds is not None]
    kept = [sum(fit.probability(odds) >= fit.threshold for odds in true) for fit in (strict, both)]
    assert kept[0] < kept[1]


def test_what_people_have_labelled_is_known() -> None:
    reports = load_annotations([sample_folder()])
    rows = annotated_claims(reports)
    # docs/guides/human-labels.md: 163 labelled pairs and 153 altered claims; no altered claim is supported.
    altered = [row for row in rows if "/altered@" in row.id]
    assert (len(rows) - len(altered), len(altered)) == (163, 153)
    assert len({row.id for row in rows}) == 316
    assert {row.origin for row in rows} == {"labelled"}
    assert not any(row.true for row in altered)
    lunch = next(row for row in rows if row.id.startswith("en2-school-lunch/en2-03@"))
    assert (lunch.true, lunch.facets["kind"]) == (True, "true")
    assert {row.label for row in rows if not row.true and row not in altered} == {
        "partial",
        "contradicted",
        "unsupported",
    }


async def test_a_judge_that_cannot_be_calibrated_keeps_what_it_had(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    rows = load_sets([write_known(tmp_path)])
    mood = {"constant": False}

    def script(call: Call) -> Reply:
        true = any(row.claim in call.prompt and row.true for row in rows)
        return {"Yes": 0.9, "No": 0.1} if mood["constant"] or true else {"Yes": 0.7, "No": 0.3}

    judge, engine = make_judge(script, ledger="one.sqlite")
    config = ClaimsConfig(method="scored")
    report = await calibrate_judge([LabelledSet(rows, snapshot)], judge, config, QUICK)
    kept = judge.ledger.calibrations(report.calibrations[0].judge)
    assert kept == report.calibrations
    # Replayed: not a call more, and the same calibrations.
    again = await calibrate_judge([LabelledSet(rows, snapshot)], judge, config, QUICK)
    assert (again, len(engine.calls)) == (report, len(rows))
    mood["constant"] = True
    twisted, _ = make_judge(script, ledger="two.sqlite")
    with pytest.raises(Uncalibratable, match="the same probability"):
        await calibrate_judge([LabelledSet(rows, snapshot)], twisted, config, QUICK)
    assert twisted.ledger.calibrations(kept[0].judge) == ()


async def test_each_row_has_its_answer_in_its_place(
    make_judge: MakeJudge, snapshot: Snapshot, tmp_path: Path
) -> None:
    rows = load_sets([write_known(tmp_path, n_pages=2)])
    missing = LabelledClaim(id="x", claim="Nobody knows.", url="https://nowhere.example/", label="supported")

    def script(call: Call) -> Reply:
        if rows[1].claim in call.prompt:
            return EngineTimeout("no answer")
        return {"Yes": 0.8, "No": 0.2}

    judge, _ = make_judge(script)
    found = await ask_log_odds([LabelledSet([missing, *rows], snapshot)], judge, ClaimsConfig())
    assert [one.claim.id for one in found] == ["x", *(row.id for row in rows)]
    assert (found[0].page.status, found[0].log_odds, found[0].failure) == ("not_in_snapshot", None, None)
    assert found[2].failure is not None and found[2].failure.kind == "timeout"
    # ln 0.8 - ln 0.2
    assert found[1].log_odds == pytest.approx(1.386294) and found[1].language == "en"
    assert judge.ledger.get(found[1].replies[0]) is not None
