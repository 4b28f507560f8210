"""The table over all reports never shows a number without what failures leave open."""

from __future__ import annotations

import io

from rich.console import Console

from local_judge.protocols.scores import Score, ScoreNode
from local_judge.reporting.tables import run_summary
from local_judge.runs.execute import CaseRecord, ScoreRecord


def row(case: str, score: Score) -> tuple[CaseRecord, ScoreRecord]:
    root = ScoreNode(id="information_integrity", label="Integrity", score=score)
    record = CaseRecord(id=case, key=case, document=case, status="done")
    return record, ScoreRecord(case=case, protocol="deer", version="1", profile="paper", scores=(root,))


def printed(*rows: tuple[CaseRecord, ScoreRecord]) -> str:
    out = io.StringIO()
    Console(file=out, width=120).print(run_summary([record for record, _ in rows], [row for _, row in rows]))
    return " ".join(out.getvalue().split())


def test_a_dimension_that_rests_on_one_part_of_five_says_so() -> None:
    # Four of five parts failed: their bounds are 0 and 10, the fifth is 9.69. (0 + 9.69) / 5 and (40 + 9.69) / 5.
    score = Score(value=9.69, n_expected=5, n_failed=4, low=1.938, high=9.938)
    assert "9.69 (1.94 to 9.94)" in printed(row("one", score))


def test_a_score_that_nothing_leaves_open_stands_alone() -> None:
    score = Score(value=9.17, n_expected=5, low=9.17, high=9.17)
    assert "│ 9.17 │" in printed(row("one", score))


def test_a_score_that_does_not_exist_is_a_dash() -> None:
    assert "│ – │" in printed(row("one", Score(value=None, n_undefined=1)))
    failed = Score(value=None, n_expected=3, n_failed=3, low=0.0, high=10.0)
    assert "│ – (0.00 to 10.00) │" in printed(row("one", failed))
