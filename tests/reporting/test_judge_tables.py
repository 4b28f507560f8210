"""Judges side by side, as text."""

from __future__ import annotations

import pytest

from local_judge.reporting.run_tables import (
    TableOptions,
    agreement_notes,
    agreement_table,
    judge_tables,
    run_summary,
)
from local_judge.runs.storage.records import CaseRecord, ScoreRecord
from local_judge.runs.storage.rescoring import AgreementRecord
from local_judge.runs.storage.summaries import summarised
from local_judge.scoring.node import Score, ScoreNode
from local_judge.stats.estimate import Estimate

from ..printing import printed


def record(case: str, **failed: int) -> CaseRecord:
    return CaseRecord(
        id=case,
        key="k",
        status="done",
        n_verdicts_failed=sum(failed.values()),
        n_failed_by_judge=failed,
    )


def row(case: str, judge: str | None, value: float | None) -> ScoreRecord:
    score = Score(value=value, n_expected=1, n_failed=int(value is None), low=0.0, high=10.0)
    root = ScoreNode(id="a", label="A", score=score)
    return ScoreRecord(case=case, protocol="deer", version="1", profile="paper", judge=judge, scores=(root,))


RECORDS = [record("one", steady=0, shaky=2), record("two", steady=0, shaky=3)]
SCORES = [
    row(case, judge, value)
    for case, values in (("one", (4.0, 4.0, None)), ("two", (6.0, 6.0, 8.0)))
    for judge, value in zip((None, "steady", "shaky"), values, strict=True)
]


def test_each_judge_has_a_line_with_what_it_failed_at() -> None:
    (table,) = judge_tables(RECORDS, summarised(RECORDS, SCORES), ["steady", "shaky"])
    lines = [" ".join(line.split()) for line in printed(table).splitlines()]
    assert lines[0] == "deer (paper profile) by judge, means of 2 reports"
    assert lines[3:] == [
        "steady │ 5.00 (4.00 to 6.00) │ 0",
        "shaky │ 8.00 n=1 50.0 % known │ 5",
        "ensemble │ 5.00 (4.00 to 6.00) │ 5",
    ]


def test_the_summary_says_of_how_many_judges_it_is() -> None:
    assert "deer (paper profile, ensemble of 2 judges)" in printed(
        *run_summary(RECORDS, summarised(RECORDS, SCORES[::3]))
    )
    shaky = [score for score in SCORES if score.judge == "shaky"]
    of_one = printed(
        *run_summary(RECORDS, summarised(RECORDS, shaky), TableOptions(reports=True), scores=shaky)
    )
    assert "deer (paper profile, judge shaky)" in of_one
    by_report = [
        line.split("│")[-1].strip() for line in of_one.splitlines() if line.startswith(("one", "two"))
    ]
    assert by_report == ["2", "3"]


def agreement(judges: tuple[str, ...], kappa: Estimate | None = None) -> AgreementRecord:
    return AgreementRecord(
        protocol="deer",
        version="1",
        metric="[bold]x",
        scale="ordinal",
        judges=judges,
        n_reports=2,
        n_items=4,
        n_missing=dict.fromkeys(judges, 0) | {judges[-1]: 3},
        alike=Estimate(value=0.75, n=4, hits=3, low=0.5, high=1.0, n_draws=1000),
        alike_pairs=Estimate(value=0.8, n=10, hits=8),
        difference=Estimate(value=1.25, n=10),
        kappa=kappa,
        alpha=Estimate(value=None, n=0, reason="all ratings are equal"),
    )


def test_agreement_is_short_for_all_and_whole_with_pairs() -> None:
    kappa = Estimate(value=0.5, n=4)
    rows = [
        agreement(("a", "b", "c")),
        agreement(("a", "b"), kappa=kappa),
        agreement(("a", "c"), kappa=kappa),
        agreement(("b", "c"), kappa=kappa),
    ]
    short = printed(agreement_table(rows, whole=False))
    assert short.count("[bold]x") == 1 and "difference" not in short
    assert "0.75 3/4" in short and "0.50" not in short and short.rstrip().endswith("c 3")
    whole = printed(agreement_table(rows, whole=True))
    assert whole.count("[bold]x") == 4
    assert "a, b, c" in whole and "0.50 to 1.00" in whole and "1.25" in whole
    assert list(agreement_notes(rows)) == [
        "95% bootstrap intervals over reports of 1,000 draws",
        "no alpha, because all ratings are equal: deer [bold]x",
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_a_name_cannot_write_to_the_terminal(whole: bool) -> None:
    assert "\x1b" not in printed(agreement_table([agreement(("a\x1b[31m", "b"))], whole=whole))
