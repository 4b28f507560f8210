"""Writing quality: how it is asked, in how many calls, and what it scores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from local_judge.protocols.dream.writing import (
    DIMENSIONS,
    IDS,
    SUBDIMENSIONS,
    Rating,
    Writing,
    WritingFindings,
    WritingSettings,
    of_dimension,
)
from local_judge.scoring.node import ScoreNode

from ...scripted_judge import MakeJudge
from .dream_cases import FAILURE, case, context, scoring, writing

SENT = """Task: score how well the report above is written, in each of the aspects at the end. Judge the writing \
alone, not whether what it says is true, complete or well cited. The labels such as L4.S2 at the head of lines are not \
the report's own.

A score is a whole number from 0 to 100:
90 to 100: a demanding editor would change nothing.
70 to 89: good, with small faults.
50 to 69: readable, with faults that a reader notices again and again.
25 to 49: poor; the reader has to work against it.
0 to 24: the report fails in this, or has nothing of the kind where it needs it.

Score each aspect by itself: a report may be strong in one and weak in the next. Neither length nor the number of \
headings and lists is a merit.

For each aspect give:
"quote": words of the report that show best what the score rests on, copied exactly, at most two sentences, without \
labels.
"rationale": one or two sentences on how the report does in this aspect, and what kept it from a higher score.
"score": the whole number.

Answer with one JSON object. Its keys are the ids in brackets, each exactly once, in order.

[rhythm] Rhythm: sentences differ in length and form, and read well aloud.
[transitions] Transitions: words and sentences lead from one thought to the next, so that the reader never has to \
guess how two are related.
[readability] Readability: wording is plain and precise, terms are explained where they are needed, and a sentence is \
understood at the first reading."""


def score_writing(judges: Sequence[WritingFindings]) -> ScoreNode:
    return Writing().score(judges, "paper")


def test_the_published_weights() -> None:
    weights = {dimension: [one.weight for one in of_dimension(dimension)] for dimension in DIMENSIONS}
    assert weights == {
        "ideas": [0.25, 0.25, 0.25, 0.25],
        "organization": [0.3, 0.4, 0.3],
        "fluency": [0.3, 0.3, 0.4],
    }
    assert len(set(IDS)) == len(SUBDIMENSIONS) == 10


async def test_one_call_asks_all_ten_behind_the_report(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(scoring({"headings": 90}))
    found = await Writing().examine(case(), context(judge))
    [call] = engine.calls
    report, _, own = call.messages[1].content.partition("\n\nTask:")
    assert report.startswith("Report:\n```\n# The mill") and report.endswith("[1].\n```")
    assert call.schema is not None and tuple(call.schema["required"]) == IDS
    assert [line.partition("]")[0][1:] for line in own.splitlines() if line.startswith("[")] == list(IDS)
    assert [one.score for one in found.subdimensions] == [50, 50, 50, 50, 90, 50, 50, 50, 50, 50]
    assert all(
        one.quote is not None and one.quote.text == "The mill cost 9 million" for one in found.subdimensions
    )
    assert found.n_failed == 0


async def test_a_call_for_each_dimension_or_subdimension(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(scoring({}))
    await Writing(WritingSettings(calls="dimension")).examine(case(), context(judge))
    asked = {tuple(call.schema["required"]): call for call in engine.calls if call.schema is not None}
    assert sorted(map(len, asked)) == [3, 3, 4]
    shared = {call.messages[1].content.partition("\n\nTask:")[0] for call in engine.calls}
    assert len(shared) == 1
    fluency = asked["rhythm", "transitions", "readability"]
    assert "Task:" + fluency.messages[1].content.partition("\n\nTask:")[2] == SENT
    judge, engine = make_judge(scoring({}))
    found = await Writing(WritingSettings(calls="subdimension")).examine(case(), context(judge))
    assert len(engine.calls) == 10 and tuple(one.id for one in found.subdimensions) == IDS


async def test_scores_off_the_scale_are_no_answers_and_quotations_are_looked_up(
    make_judge: MakeJudge,
) -> None:
    judge, _ = make_judge(
        scoring({"rhythm": 101, "headings": -1, "coherence": True}, quote="It was free of charge")
    )
    found = await Writing().examine(case(), context(judge))
    failed = {one.id: one.failure.kind for one in found.subdimensions if one.failure is not None}
    assert failed == dict.fromkeys(("headings", "coherence", "rhythm"), "invalid_reply")
    assert (
        found.subdimensions[0].quote is None
        and found.subdimensions[0].quote_rejected == "It was free of charge"
    )
    score = score_writing([found]).score
    assert (score.n_expected, score.n_failed) == (10, 3)
    assert score.note == "3 of 10 answers failed; 7 of 7 scores without a quotation that occurs in the report"


async def test_a_report_that_does_not_fit_is_a_failure_and_no_zero(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(scoring({}), context_tokens=300)
    found = await Writing().examine(case(), context(judge))
    assert not engine.calls and {one.failure.kind for one in found.subdimensions if one.failure} == {
        "report_too_long"
    }
    score = score_writing([found]).score
    assert (score.value, score.low, score.high, score.n_failed) == (None, 0, 100, 10)


def test_known_values() -> None:
    """(80 + 60 + 40 + 20) / 4 = 50; .3 * 100 + .4 * 50 + .3 * 0 = 50; .3 * 10 + .3 * 20 + .4 * 90 = 45."""
    root = score_writing([writing(80, 60, 40, 20, 100, 50, 0, 10, 20, 90)])
    by_dimension = {child.id: child.score.value for child in root.children}
    assert by_dimension == pytest.approx({"ideas": 50, "organization": 50, "fluency": 45})
    assert root.score.value == pytest.approx((50 + 50 + 45) / 3)
    assert root.score.low == pytest.approx(root.score.value) and root.score.high == pytest.approx(
        root.score.value
    )
    assert root.find("organization", "bullet_grouping").score.value == 50


def test_what_failed_is_left_out_and_opens_the_bounds() -> None:
    """Organization without its lists: (.3 * 100 + .3 * 50) / .6 = 75, between 45 and 45 + .4 * 100."""
    root = score_writing([writing(80, 80, 80, 80, 100, None, 50, 60, 60, 60)])
    organization = root.find("organization").score
    assert organization.value == pytest.approx(75)
    assert (organization.low, organization.high) == (pytest.approx(45), pytest.approx(85))
    assert root.score.value == pytest.approx((80 + 75 + 60) / 3)
    assert (root.score.low, root.score.high) == (pytest.approx(185 / 3), pytest.approx(225 / 3))
    # A dimension of which nothing is known is left out of the mean, and may be anything.
    root = score_writing([writing(80, 80, 80, 80, None, None, None, 60, 60, 60)])
    assert root.find("organization").score.value is None
    assert root.score.value == 70
    assert (root.score.low, root.score.high) == (pytest.approx(140 / 3), pytest.approx(80))


def test_two_judges_are_put_together_by_subdimension() -> None:
    """The second has no score of the lists: those of the first stand for both."""
    first, second = writing(*[80] * 10), writing(*[40] * 5, None, *[40] * 4)
    root = score_writing([first, second])
    assert root.find("organization", "bullet_grouping").score.value == 80
    assert root.find("organization").score.value == pytest.approx(0.6 * 60 + 0.4 * 80)
    assert root.find("ideas").score.value == 60
    lists = root.find("organization", "bullet_grouping").score
    assert (lists.low, lists.high, lists.n_expected, lists.n_failed) == (40, 90, 2, 1)


def test_judges_can_be_compared() -> None:
    rows = list(Writing().decisions(writing(80, 60, 40, 20, 100, None, 0, 10, 20, 90)))
    assert len({(row.metric, row.item) for row in rows}) == 10
    assert {row.metric for row in rows} == {"writing.ideas", "writing.organization", "writing.fluency"}
    assert {row.item: row.value for row in rows}["bullet_grouping"] is None


def test_findings_have_all_ten() -> None:
    with pytest.raises(ValidationError, match="sub-dimensions"):
        WritingFindings(subdimensions=(Rating(id="headings", score=None, failure=FAILURE),))
