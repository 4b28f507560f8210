"""Active fact-checking as numbers: of a report, over reports, by several judges. Letters: see `facts_cases.WORDS`."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.protocols.base import load_protocol
from local_judge.protocols.deepresearcheval import DeepResearchEval, DreFindings
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.deepresearcheval.facts.metric import Facts
from local_judge.protocols.deepresearcheval.facts.scores import (
    AS_WRITTEN,
    NO_STATEMENTS,
    aggregate_facts,
    score_facts,
    vote_on_statements,
)
from local_judge.scoring.node import Score, ScoreNode
from local_judge.stats.rates import population_interval

from .facts_cases import findings


def of(node: ScoreNode) -> dict[str, Score]:
    """The root's score and its children's, by id."""
    return {"ratio": node.score} | {child.id: child.score for child in node.children}


def ends(score: Score) -> tuple[float | None, float | None, float | None]:
    return score.low, score.value, score.high


def test_unknown_and_other_labels_lower_the_ratio() -> None:
    found = of(score_facts([findings("rrwuo")], "paper"))
    # 2 Right of 5 statements
    assert ends(found["ratio"]) == (40.0, 40.0, 40.0)
    assert (found["ratio"].numerator, found["ratio"].denominator) == (2, 5)
    counts = ("statements", "right", "wrong", "unknown", "off_label", "changed", "checked")
    assert [found[name].value for name in counts] == [5, 2, 1, 1, 1, 1, 5]


def test_a_failure_is_neither_wrong_nor_missing() -> None:
    found = of(score_facts([findings("rrwf")], "paper"))
    # Of 3 that have a label 2 are Right; of all 4 they are 2 at least and 3 at most.
    assert ends(found["ratio"]) == (50.0, pytest.approx(200 / 3), 75.0)
    assert (found["ratio"].n_expected, found["ratio"].n_failed) == (4, 1)
    assert found["ratio"].note == "1 of 4 statements failed"
    assert ends(found["right"]) == (2, 2, 3) and ends(found["wrong"]) == (1, 1, 2)
    assert ends(found["statements"]) == (4, 4, 4)


def test_sentences_that_were_not_read_open_the_bounds_by_all_they_may_state() -> None:
    found = of(score_facts([findings("rw", unread=1)], "paper"))
    # One sentence of two statements at most: 1 of 4 to 3 of 4.
    assert ends(found["ratio"]) == (25.0, 50.0, 75.0)
    assert ends(found["statements"]) == (2, 2, 4)
    assert (found["ratio"].n_expected, found["ratio"].n_failed) == (3, 1)
    nothing = score_facts([findings("", unread=1)], "paper").score
    assert ends(nothing) == (0.0, None, 100.0) and nothing.n_undefined == 0


def test_where_only_so_many_are_checked_the_unread_might_have_been_among_them() -> None:
    # Three of three that may be checked: two statements of the unread sentence may have taken two places.
    full = of(score_facts([findings("rrw", unread=1, limit=3)], "paper"))
    assert ends(full["ratio"]) == (0.0, pytest.approx(200 / 3), 100.0)
    # Room for one more: of 4, between 1 Right (one left out, one not Right) and 4.
    room = of(score_facts([findings("rrw", unread=1, limit=4)], "paper"))
    assert ends(room["ratio"]) == (25.0, pytest.approx(200 / 3), 100.0)


def test_a_limit_is_said() -> None:
    found = findings("rw").model_copy(update={"statements": findings("rwuuu").statements, "limit": 2})
    node = score_facts([found], "paper")
    assert node.score.note.startswith("2 of 5 statements ")
    assert (of(node)["statements"].value, of(node)["checked"].value) == (5, 2)


def sampled(letters: str, found: int = 10, choose: str | None = "seed", **more: Any) -> FactsFindings:
    """Checked statements by a letter each, and others up to `found` that were not drawn."""
    statements = findings(letters + "u" * (found - len(letters))).statements
    return findings(letters, limit=len(letters), choose=choose, **more).model_copy(
        update={"statements": statements}
    )


def whole(node: ScoreNode) -> tuple[float | None, float | None]:
    return node.score.interval_low, node.score.interval_high


def test_of_a_sample_the_interval_for_the_whole_report_stands_beside_the_bounds() -> None:
    node = score_facts([sampled("ruuuu")], "paper")
    # 1 of 5 drawn from 10. At least 1 of 10 is Right.
    # P(X <= 1 | M = 5) = (C(5,5) + 5 C(5,4)) / C(10,5) = 26/252 > 0.025.
    # P(X <= 1 | M = 6) = 6 C(4,4) / 252 = 6/252 < 0.025. So at most 5 of 10 are.
    assert ends(node.score) == (20.0, 20.0, 20.0) and whole(node) == (10.0, 50.0)
    assert node.score.note.startswith("5 of 10 statements ")
    assert node.score.note.endswith(", drawn at random: the 95 % interval is for all 10")
    assert whole(score_facts([sampled("uuuuu")], "paper")) == (0.0, 30.0)


def test_failures_in_a_sample_widen_its_interval() -> None:
    node = score_facts([sampled("ruuuf")], "paper")
    # 1 or 2 of 5. P(X <= 2 | M = 7) = C(7,2) C(3,3) / 252 = 21/252 > 0.025, and of 8 at least 3 are drawn.
    assert ends(node.score) == (20.0, 25.0, 40.0) and whole(node) == (10.0, 70.0)
    # Two statements that nobody read may be Right or not: 1 to 5 + 2 of 12.
    unread = score_facts([sampled("ruuuu", unread=1)], "paper")
    assert whole(unread) == (pytest.approx(100 / 12), pytest.approx(700 / 12))
    assert ends(of(unread)["statements"]) == (10, 10, 12)


@pytest.mark.parametrize("source", ["own", "shared"])
def test_judges_of_a_sample(source: str) -> None:
    node = score_facts([sampled("ruuuu", source=source), sampled("ruuur", source=source)], "paper")
    # Of shared statements the last is Right or Unknown: 1 to 2 of 5, as with a failure. Own ones are two samples.
    assert whole(node) == ((10.0, 70.0) if source == "shared" else (None, None))


@pytest.mark.parametrize(
    ("found", "says", "over"),
    [
        (
            sampled("ru", choose="salience"),
            "2 of 10 statements were to be checked, salient ones first: no interval for the others",
            None,
        ),
        (sampled("ru", choose=None), "2 of 10 statements were to be checked", None),
        # Complete, so that it adds no uncertainty: 1 to 9 of the other report's 10 and 1 of its 2.
        (sampled("ru", found=2), "", (pytest.approx(200 / 12), pytest.approx(1000 / 12))),
    ],
)
def test_only_a_random_sample_has_an_interval(
    found: FactsFindings, says: str, over: tuple[float, float] | None
) -> None:
    node = score_facts([found], "paper")
    assert (whole(node), node.score.note) == ((None, None), says)
    assert whole(aggregate_facts([[sampled("ru")], [found]], "paper", 0)) == (over or (None, None))


def test_of_a_system_samples_are_weighted_by_the_statements_that_they_stand_for() -> None:
    reports = [[sampled("rrrrrrrrrw", found=100)], [findings("rwwwwwwwww")]]
    node = aggregate_facts(reports, "paper", 0)
    found = of(node)
    # 9 of 10 drawn from 100, and 1 of all 10: (90 + 1) / (100 + 10), not 10 of 20.
    assert ends(found["ratio"]) == (pytest.approx(9100 / 110),) * 3
    assert (found["ratio"].numerator, found["ratio"].denominator) == (91, 110)
    assert found["ratio"].note == (
        "stratified estimate: 20 of 110 statements drawn, reports weighted by statements found"
    )
    least, most = population_interval(9, 10, 100)
    assert whole(node) == (pytest.approx((least + 1) / 1.1), pytest.approx((most + 1) / 1.1))
    # Table 4: 55 statements a report, 45.5 of them Right; 10 were to be checked.
    assert [found[name].value for name in ("statements", "right", "wrong", "checked")] == [55, 45.5, 9.5, 10]
    assert found["by_report"].value == 50.0
    assert whole(aggregate_facts(reports, "paper", 1)) == (None, None)


def test_of_a_system_failures_and_unread_sentences_open_bounds_and_interval_of_samples() -> None:
    reports = [[sampled("rrwf", found=8)], [sampled("ruuu", found=4, unread=1)]]
    node = aggregate_facts(reports, "paper", 0)
    # 8 / 4 * 2 Right of 8 / 4 * 3 with a label, and 1 of 4: 5 of 10. The second report may have two statements more,
    # which replace two of the four that may be checked: then 0 to 3 of 4 are Right, for six statements.
    assert ends(node.score) == (pytest.approx(400 / 14), 50.0, pytest.approx(1050 / 14))
    (least, _), (_, most) = population_interval(2, 4, 8), population_interval(3, 4, 8)
    assert whole(node) == (pytest.approx(100 * (least + 1) / 14), pytest.approx(100 * (most + 1 + 2) / 14))
    assert ends(of(node)["right"]) == (2.0, 2.5, 5.25)


def test_no_statements_is_undefined() -> None:
    score = score_facts([findings("")], "paper").score
    assert (score.value, score.n_undefined, score.note, score.low) == (None, 1, NO_STATEMENTS, None)


def test_the_published_code_takes_the_judges_labels() -> None:
    one = findings("rRwu")
    assert score_facts([one], "paper").score.value == 25.0
    assert score_facts([one], "upstream").score.value == 50.0
    file = findings("ro", source="file").model_copy(update={"method": None})
    small = file.rulings[0].model_copy(update={"given": "right"})
    file = file.model_copy(update={"rulings": (small, file.rulings[1])})
    # `right` is read as Right; as it is written it is a label like any other, and both stay among the statements.
    assert score_facts([file], "paper").score.value == 50.0
    assert score_facts([file], "paper").score.note == AS_WRITTEN
    upstream = of(score_facts([file], "upstream"))
    assert (upstream["ratio"].value, upstream["off_label"].value) == (0.0, 2)


def test_over_reports_the_ratio_is_pooled_and_the_means_are_the_tables_columns() -> None:
    found = of(aggregate_facts([[findings("rrrw")], [findings("ru")], [findings("")]], "paper", 0))
    # 4 Right of 6; by report 75, 50 and undefined; means over three reports.
    assert found["ratio"].value == pytest.approx(400 / 6)
    assert found["ratio"].note == "pooled"
    assert (found["by_report"].value, found["by_report"].n_undefined) == (62.5, 1)
    assert found["statements"].value == 2 and found["right"].value == pytest.approx(4 / 3)
    assert found["ratio"].value == pytest.approx(
        100 * (found["right"].value or 0) / (found["statements"].value or 1)
    )


def test_over_reports_what_is_missing_stays_open() -> None:
    found = of(aggregate_facts([[findings("rrrw")], [findings("rf")]], "paper", 1))
    assert ends(found["ratio"]) == (0.0, 80.0, 100.0)
    assert "1 of the run's reports missing" in found["ratio"].note
    # 75, 100 (or 50 to 100) and a missing one
    assert ends(found["by_report"]) == (pytest.approx(125 / 3), 87.5, pytest.approx(275 / 3))
    assert (found["by_report"].n_expected, found["by_report"].n_failed) == (3, 1)
    assert ends(found["right"]) == (pytest.approx(4 / 3), 2, None)
    nothing = aggregate_facts([[findings("f")]], "paper", 2)
    assert ends(nothing.score) == (0.0, None, 100.0)


def shared(letters: str) -> FactsFindings:
    return findings(letters, source="shared")


def test_judges_of_the_same_statements_vote() -> None:
    judges = [shared("rrwfu"), shared("rwwru"), shared("rwrff")]
    made = vote_on_statements(judges, "paper")
    assert [one.label for one in made.rulings] == ["Right", "Wrong", "Wrong", "Right", "Unknown"]
    found = of(score_facts(judges, "paper"))
    assert found["ratio"].value == 40.0
    # Had the judges that failed at the fourth said Wrong, it would be Wrong; the fifth is Unknown in any case but two.
    assert (found["ratio"].low, found["ratio"].high) == (20.0, 40.0)
    assert (found["ratio"].n_expected, found["ratio"].n_failed) == (15, 3)


def test_divided_judges_leave_a_hole() -> None:
    judges = [shared("rru"), shared("rww")]
    found = of(score_facts(judges, "paper"))
    # One Right of one that is decided. Against the report 1 of 3; for it 2 of 3, which is below what is decided.
    assert ends(found["ratio"]) == (pytest.approx(100 / 3), 100.0, 100.0)
    assert found["ratio"].denominator == 1


@pytest.mark.parametrize("letters", [("rr", "ru"), ("ru", "rr")])
def test_a_tie_opens_the_bounds_whoever_comes_first(letters: tuple[str, str]) -> None:
    found = of(score_facts([shared(one) for one in letters], "paper"))
    # The second statement is Right or Unknown: 1 or 2 of 2, and Unknown none or one; Wrong it is by nobody.
    assert ends(found["ratio"]) == (50.0, 100.0, 100.0)
    assert ends(found["right"]) == (1, 1, 2) and ends(found["unknown"]) == (0, 0, 1)
    assert ends(found["wrong"]) == (0, 0, 0)


def test_a_missing_answer_may_have_been_any_label() -> None:
    found = of(score_facts([shared(one) for one in "rfu"], "paper"))
    assert ends(found["ratio"]) == (0.0, None, 100.0)
    # The third judge may have made it Right or Unknown, or have left three divided.
    assert [ends(found[name]) for name in ("right", "wrong", "unknown")] == [(0, 0, 1)] * 3


def test_labels_without_evidence_are_those_of_each_judge() -> None:
    # Two of the first judge's labels are not borne out, one of the second's.
    assert of(score_facts([shared("RRr"), shared("Rrr")], "paper"))["changed"].value == 1.5
    file = findings("ro", source="file")
    assert of(score_facts([file], "paper"))["changed"].value == 0  # nobody has looked its evidence up


def test_several_judges_leave_a_missing_report_without_upper_end() -> None:
    found = of(aggregate_facts([[shared("r"), shared("r")]], "paper", 1))
    assert ends(found["ratio"]) == (0.0, 100.0, 100.0) and ends(found["right"]) == (0.5, 1, None)


def test_judges_with_statements_of_their_own_are_averaged() -> None:
    judges = [findings("rw"), findings("rrrw")]
    assert score_facts(judges, "paper").score.value == 62.5
    over = aggregate_facts([judges, judges], "paper", 0)
    # Each judge's pooled ratio: 2 of 4 and 6 of 8.
    assert over.score.value == 62.5


def test_over_reports_judges_vote_first() -> None:
    reports = [[shared("rr"), shared("rr")], [shared("ww"), shared("wf")]]
    over = aggregate_facts(reports, "paper", 0)
    # 2 of 4; had the judge that failed said Right, the last would be a tie, and in the report's favour Right.
    assert ends(over.score) == (50.0, 50.0, 75.0)
    assert (over.score.n_expected, over.score.n_failed) == (8, 1)


def test_what_judges_can_differ_in() -> None:
    assert [(one.metric, one.item, one.value, one.scale) for one in Facts().decisions(findings("rRf"))] == [
        ("facts", "L1.S1 Statement 1.", "Right", "nominal"),
        ("facts", "L1.S2 Statement 2.", "Unknown", "nominal"),
        ("facts", "L1.S3 Statement 3.", None, "nominal"),
    ]


def test_facts_are_a_part_of_the_protocol() -> None:
    protocol = load_protocol("deepresearcheval", {"parts": "facts"})
    assert (protocol.needs_claims, protocol.needs_snapshot, protocol.without_task) == (False, True, None)
    sharing = load_protocol("deepresearcheval", {"parts": "facts", "facts": {"statements": "shared"}})
    assert sharing.needs_claims and protocol.searches
    assert DeepResearchEval().without_task == "--set deepresearcheval.parts=[facts]"
    assert not load_protocol("deepresearcheval", {"parts": "quality"}).needs_snapshot
    found = DreFindings(case="a", document="d", facts=findings("rwf"))
    [root] = protocol.score([found], "paper")
    assert (root.id, root.score.value, found.n_failed) == ("facts", 50.0, 1)
    [over] = protocol.aggregate([[found], [found]], "paper", 0)
    assert over.score.denominator == 4
    assert len(list(protocol.decisions(found))) == 3
    assert protocol.evidence_gaps(found) == () and protocol.agent_runs(found) == ()
    assert protocol.aggregate([[DreFindings(case="a", document="d")]], "paper", 0) == ()
