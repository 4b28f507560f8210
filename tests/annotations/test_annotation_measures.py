"""Extraction, back-tracking and coverage on the small report, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.annotations.backtracking import SetPair, backtracking_scores, set_scores
from local_judge.annotations.coverage import coverage
from local_judge.annotations.extraction import ReadReport, class_scores, extraction_scores, read_report
from local_judge.annotations.load import load_report
from local_judge.annotations.model import AnnotatedReport
from local_judge.annotations.similarity import lexical
from local_judge.claims.extract import Extraction
from local_judge.claims.model import Claim, ExtractionFailure
from local_judge.judge.failures import Failure

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
        type_judged="F" if kind == "A" else kind,
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
    lost = ExtractionFailure(sentences=("L5.S4",), failure=Failure(kind="timeout", detail=""))
    return read_report(report, Extraction(claims=claims, failures=(lost,)), lexical, 0.5)


def test_extraction(read: ReadReport) -> None:
    found = extraction_scores([read], lexical)
    # Eight sentences, one without an answer; m7 stands on it and leaves both sides. Matched: m1 to m5.
    assert (found.sentences, found.sentences_failed) == (7, 1)
    assert (found.gold, found.extracted) == (6, 7)
    assert (found.gold_density, found.density) == (6 / 7, 1.0)
    assert (found.recall.n, found.recall.of) == (5, 6)
    assert (found.precision.n, found.precision.of) == (5, 7)
    assert found.f1 == pytest.approx(10 / 13)
    # Settled classes: A A B C right, E given as F. F1: A, B, C 1; E and F 0; D has none on either side.
    assert found.micro_f1 == 0.8
    assert found.macro_f1 == pytest.approx(3 / 5)
    assert found.classes["D"].f1 is None and found.classes["E"].f1 == 0.0
    # As judged, both A were F: right B and C of 5; classes A 0, B 1, C 1, E 0, F 0.
    assert (found.micro_f1_judged, found.macro_f1_judged) == (0.4, 0.4)
    # Verifiable: A, A, B, C as such, E as F: TP 4, FP 1: F1 8/9.
    assert found.verifiable.f1 == pytest.approx(8 / 9)
    assert found.confusion["E"] == {"A": 0, "B": 0, "C": 0, "D": 0, "E": 0, "F": 1}


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
    rows = {row.method: row for row in backtracking_scores([read])}
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
    # Five sentences before m3 and m4 hold both citations.
    window = rows["window of 5"]
    assert (window.jaccard, window.precision, window.recall, window.empty) == (0.5, 0.5, 1.0, 0)


def test_a_window_looks_back_as_far_as_it_says(write: Write) -> None:
    path = write()
    text = path.with_name("mill.md")
    rest = " ".join(f"The sentence {word} says nothing." for word in ("one", "two", "three", "four"))
    text.write_text(text.read_text("utf-8").replace("The river is cold.", rest), encoding="utf-8")
    report = load_report(path)
    one = read_report(report, Extraction(claims=(), failures=()), lexical, 0.5)
    rows = {row.method: row for row in backtracking_scores([one])}
    # Before m4 stand S7 to S3 (five sentences without a citation), then S2 with [2] and S1 with [1].
    assert (rows["window of 5"].claims, rows["window of 5"].empty) == (2, 1)
    assert (rows["window of 5"].recall, rows["window of 10"].recall) == (0.5, 1.0)
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
    # Extracted A, A, B, F, C, F: six verifiable ones, two of them F.
    assert cells("extracted, own citations") == (2, 1, 6)
    assert cells("extracted, back-tracked (paper)") == (4, 3, 6)
    # Upstream knows no F apart: within the block, nothing follows "The river is cold" that it could take over.
    assert cells("extracted, back-tracked (upstream)") == (4, 3, 6)
