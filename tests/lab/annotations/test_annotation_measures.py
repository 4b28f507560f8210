"""Extraction, back-tracking and coverage on the small report, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.base.failures import Failure
from local_judge.claims.extract import Extraction
from local_judge.claims.model import Claim, ExtractionFailure
from local_judge.lab.annotations.backtracking import SetPair, backtracking_scores, coverage, set_scores
from local_judge.lab.annotations.extraction import (
    ReadReport,
    class_scores,
    extraction_scores,
    lexical,
    read_report,
)
from local_judge.lab.annotations.load import load_report
from local_judge.lab.annotations.model import AnnotatedReport

from .conftest import Write

HISTORY, NIGHT = "https://mill.example/history", "https://wheel.example/night"


def extracted(report: AnnotatedReport, label: str, text: str, kind: Any, *named: str) -> Claim:
    """A claim that a judge made of a sentence."""
    sentence = next(one for one in report.document.sentences if one.label == label)
    return Claim(
        id=f"{label}.1",
        text=text,
        sentence=label,
        span=sentence.span,
        type=kind,
        citations=sentence.citations,
        evidence_positions=named,
    )


@pytest.fixture
def read(write: Write) -> ReadReport:
    """Six of the seven claims found, one with a wrong class, one claim added, one sentence failed."""
    report = load_report(write())
    claims = (
        extracted(report, "L3.S1", "The mill was opened in 1974.", "A"),
        extracted(report, "L3.S2", "The wheel of the mill turns at night.", "A"),
        extracted(report, "L3.S3", "The mill is older than the bridge.", "B", "L3.S2", "L3.S1"),
        extracted(report, "L3.S4", "The river is cold.", "F"),
        extracted(report, "L5.S1", "The mill is as old as the pump.", "C", "L3.S3"),
        extracted(report, "L5.S2", "Mills are machines.", "F"),
        extracted(report, "L5.S3", "An entirely different subject.", "D"),
    )
    lost = ExtractionFailure(sentences=("L5.S4",), failure=Failure(kind="timeout", detail=""), most=8)
    return read_report(report, Extraction(claims=claims, failures=(lost,)), lexical, 0.5)


def test_extraction(read: ReadReport) -> None:
    found = extraction_scores([read], lexical)
    # Eight sentences, one without an answer; m7 stands on it and leaves both sides. Matched: m1 to m5.
    assert (found.sentences, found.sentences_failed) == (7, 1)
    assert (found.gold, found.extracted) == (6, 7)
    # One paragraph was read whole, L3: three annotated claims, four extracted. L5 has the failed sentence.
    assert (found.paragraphs, found.gold_density, found.density) == (1, 3.0, 4.0)
    assert (found.recall.n, found.recall.of) == (5, 6)
    assert (found.precision.n, found.precision.of) == (5, 7)
    assert found.f1 == pytest.approx(10 / 13)
    # Classes: A A B C right, E given as F. F1: A, B, C 1; E and F 0; D has none on either side.
    assert found.micro_f1 == 0.8
    assert found.macro_f1 == pytest.approx(3 / 5)
    assert found.classes["D"].f1 is None and found.classes["E"].f1 == 0.0
    # A, A, B, C as such, E as F, which is on the same side: TP 4, TN 1.
    assert (found.verifiable.tp, found.verifiable.tn, found.verifiable.f1) == (4, 1, 1.0)
    assert found.confusion["E"] == {"A": 0, "B": 0, "C": 0, "D": 0, "E": 0, "F": 1}


def test_a_claim_without_a_source_is_on_the_side_of_d_and_e(write: Write) -> None:
    report = load_report(write())
    given = {"L3.S1": "F", "L3.S3": "B", "L5.S2": "A", "L5.S4": "D"}
    claims = tuple(
        extracted(report, one.sentence, one.claim, given[one.sentence])
        for one in report.claims
        if one.sentence in given
    )
    found = extraction_scores(
        [read_report(report, Extraction(claims=claims, failures=()), lexical, 0.5)], lexical
    )
    # Annotated A as F: FN. B as B: TP. E as A: FP. F as D: TN; with F among the positives it would be FN.
    verifiable = found.verifiable
    assert (verifiable.tp, verifiable.fn, verifiable.fp, verifiable.tn) == (1, 1, 1, 1)
    # Two paragraphs, seven annotated claims, four extracted ones.
    assert (found.paragraphs, found.gold_density, found.density) == (2, 3.5, 2.0)


def test_a_class_has_precision_recall_and_f1() -> None:
    # B: annotated 3, given 2, both 1.
    found = class_scores([("B", "B"), ("B", "C"), ("B", "F"), ("A", "B")])["B"]
    assert (found.precision, found.recall, found.f1) == (0.5, 1 / 3, 0.4)


def test_set_formulas() -> None:
    # {1, 2} against {1}: 1/2, 1/2, 1. {3} against {1}: 0, 0, 0. Nothing against {1, 2}: 0, -, 0.
    pairs = [
        SetPair(frozenset("12"), frozenset("1")),
        SetPair(frozenset("3"), frozenset("1")),
        SetPair(frozenset(), frozenset("12")),
    ]
    found = set_scores("m", pairs)
    assert (found.claims, found.empty) == (3, 1)
    assert found.jaccard == pytest.approx(1 / 6)
    assert found.precision == pytest.approx(1 / 4)
    assert found.recall == pytest.approx(1 / 3)
    # Shared 1, joined 2 + 2 + 2, recovered 3, annotated 4.
    assert found.micro_jaccard == pytest.approx(1 / 6)
    assert (found.micro_precision, found.micro_recall) == (pytest.approx(1 / 3), 1 / 4)
    assert set_scores("none", []).jaccard is None


def test_backtracking(read: ReadReport) -> None:
    by_class = backtracking_scores([read])
    rows = {row.method: row for row in by_class["B and C"]}
    assert [{row.claims for row in by_class[one]} for one in ("B", "C")] == [{1}, {1}]
    assert list(rows) == [
        "paper, judge's claims",
        "upstream, judge's claims",
        "paper, judge's positions",
        "upstream, judge's positions",
        "paper, annotated positions",
        "upstream, annotated positions",
        "window of 5",
        "window of 10",
        "window of 15",
    ]
    assert {row.claims for row in rows.values()} == {2}
    # The judge's m3 names L3.S2 as well, so it and m4, which leads to it, receive {2, 1} for {1}.
    judged = rows["paper, judge's claims"]
    assert (judged.jaccard, judged.precision, judged.recall) == (0.5, 0.5, 1.0)
    assert rows["paper, judge's positions"] == judged.model_copy(
        update={"method": "paper, judge's positions"}
    )
    # By the annotated positions, exactly {1}.
    gold = rows["paper, annotated positions"]
    assert (gold.jaccard, gold.precision, gold.recall, gold.micro_jaccard) == (1.0, 1.0, 1.0, 1.0)
    # Two sentences before m3 and two after it: L3.S1 with [1], L3.S2 with [2], L3.S4, L5.S1. Around m4: L3.S3 to
    # L5.S3, without a citation. So 1/2 and 0; precision of m3 alone.
    window = rows["window of 5"]
    assert (window.jaccard, window.precision, window.recall, window.empty) == (0.25, 0.5, 0.5, 1)
    assert [by_class[one][6].jaccard for one in ("B", "C")] == [0.5, 0.0]


def test_back_tracking_of_the_judges_claims_is_of_those_that_it_classified_rightly(write: Write) -> None:
    report = load_report(write())
    # m3 is found as C, with the right place; m4 is found as C, by way of m3.
    claims = (
        extracted(report, "L3.S3", "The mill is older than the bridge.", "C", "L3.S1"),
        extracted(report, "L5.S1", "The mill is as old as the pump.", "C", "L3.S3"),
    )
    one = read_report(report, Extraction(claims=claims, failures=()), lexical, 0.5)
    by_class = backtracking_scores([one])
    assert {classes: rows[0].claims for classes, rows in by_class.items()} == {"B and C": 1, "B": 0, "C": 1}
    assert by_class["C"][0].jaccard == 1.0
    # The places alone, with the annotated classes: both.
    assert by_class["B and C"][2].claims == 2


def test_a_window_has_the_claim_in_its_middle(write: Write) -> None:
    path = write()
    text = path.with_name("mill.md")
    rest = " ".join(f"The sentence {word} says nothing." for word in ("one", "two", "three", "four"))
    text.write_text(text.read_text("utf-8").replace("The river is cold.", rest), encoding="utf-8")
    report = load_report(path)
    one = read_report(report, Extraction(claims=(), failures=()), lexical, 0.5)
    rows = {row.method: row for row in backtracking_scores([one])["B and C"]}
    # Before m4 stand L3.S7 to S3 (five sentences without a citation), then S2 with [2] and S1 with [1]. Windows of 5,
    # 10 and 15 have 2, 5 and 7 sentences before it: none, none, both citations.
    assert (rows["window of 5"].claims, rows["window of 5"].empty) == (2, 1)
    assert (rows["window of 10"].recall, rows["window of 15"].recall) == (0.5, 1.0)
    assert rows["window of 15"].jaccard == 0.5
    # Nothing was extracted: no judge's claims, and no positions.
    assert rows["paper, judge's claims"].claims == 0
    assert rows["paper, judge's positions"].empty == 2


def test_coverage(read: ReadReport) -> None:
    rows = {row.method: row for row in coverage([read], {HISTORY: "ok", NIGHT: "dead"})}

    def cells(method: str) -> tuple[int, int, int]:
        row = rows[method]
        assert row.cited.of == row.readable.of
        return row.cited.n, row.readable.n, row.cited.of

    # Annotated and answered: m1 [1], m2 [2] cited, m3 and m4 by back-tracking. Page 2 is dead.
    assert cells("annotated, own citations") == (2, 1, 4)
    assert cells("annotated, back-tracked") == (4, 3, 4)
    # Extracted A, A, B, F, C, F, D: the two F, which have no source by definition, are not among the four.
    assert cells("extracted, own citations") == (2, 1, 4)
    assert cells("extracted, back-tracked (paper)") == (4, 3, 4)
    assert cells("extracted, back-tracked (upstream)") == (4, 3, 4)
