"""Sound reports and their flawed perturbed reports."""

from __future__ import annotations

from local_judge.documents import parse_report
from local_judge.lab.experiments.reasoning import load_arguments, reasoning
from serving.engines.scripted import Call, Reply

from .conftest import RunWhole, fenced, row, table_of
from .truth import criteria_asked, curve, values

FLAWS = [flaw.flawed for argument in load_arguments() for flaw in argument.flaws]
ALONE = {"dream": {"parts": ["reasoning"], "reasoning": {"search": False}}}


def judge_who_sees_flaws(call: Call) -> Reply:
    """One major deduction for each flaw that the report has; of two articles, two points less for each flaw."""
    if "Article 1:" in call.prompt:
        points = [
            10 - 2 * sum(flaw in fenced(call.prompt, title) for flaw in FLAWS)
            for title in ("Article 1:", "Article 2:")
        ]
        return {
            name: {"analysis": "", "article_1": points[0], "article_2": points[1]}
            for name in criteria_asked(call.prompt)
        }
    report = fenced(call.prompt, "Report:")
    deductions = [
        {"quote": flaw, "kind": "unsupported_inference", "reason": "", "severity": "major"}
        for flaw in FLAWS
        if flaw in report
    ]
    return {"extracted": [words_of(report)], "deductions": deductions}


def words_of(report: str) -> str:
    """Its first sentence, without the label."""
    return "This report reasons from figures that were published"


def test_perturbed_reports_differ_in_their_flaws_alone() -> None:
    made = reasoning()
    by_id = {report.id: parse_report(report.content) for report in made.reports}
    for argument in load_arguments():
        sound, flawed = (
            [sentence.text for sentence in by_id[f"{argument.id}-{side}"].sentences]
            for side in ("sound", "flawed")
        )
        assert len(sound) == len(flawed)
        changed = [pair for pair in zip(sound, flawed, strict=True) if pair[0] != pair[1]]
        assert sorted(changed) == sorted((flaw.sound, flaw.flawed) for flaw in argument.flaws)
    assert [len(trial.planted) for trial in made.design.trials] == [0, 3] * 10


def test_a_judge_who_sees_the_flaws_marks_every_perturbed_report_down(run_whole: RunWhole) -> None:
    done, engine = run_whole(reasoning(), judge_who_sees_flaws, settings=ALONE, protocols=["dream"])
    found = curve(done.results, "dream", "reasoning")
    # Three major deductions of three points each: 10 - 9 of 10.
    assert values(found) == [100.0, 10.0]
    assert (found.slope, found.spearman, found.distance) == (-90.0, None, None)
    assert found.pairs is not None
    assert (found.pairs.n, found.pairs.right, found.pairs.tied, found.pairs.mean_change) == (10, 10, 0, -90.0)
    assert found.verdict == "as expected"
    assert len(engine.calls) == 20


def test_an_oracle_prints_both_protocols_beside_the_papers_degradations(run_whole: RunWhole) -> None:
    done, _ = run_whole(reasoning(), judge_who_sees_flaws, settings=ALONE)
    printed = table_of(done.results)
    # DREAM: 10 - 3 * 3 of 10. RACE: 10 against a reference of 10, and 10 - 3 * 2 = 4 against it: 4 / 14 = 28.57.
    dream, race = row(printed, "dream: Reasoning quality"), row(printed, "race: Overall")
    # Relative: (10 - 100) / 100, and (28.57 - 50) / 50.
    assert (dream[:2], dream[5:8], dream[9]) == (
        ["100.00", "10.00"],
        ["10/10", "-90.00", "-90.0 %"],
        "as expected",
    )
    assert (race[:2], race[5:8], race[9]) == (
        ["50.00", "28.57"],
        ["10/10", "-21.43", "-42.9 %"],
        "as expected",
    )
    assert [cells[8] for cells in printed if cells[0] == "paper"] == ["-40.1 %", "-9.1 %"]


def test_a_judge_who_sees_none_is_not_as_expected(run_whole: RunWhole) -> None:
    def blind(call: Call) -> Reply:
        return {"extracted": [words_of("")], "deductions": []}

    done, _ = run_whole(reasoning(), blind, settings=ALONE, protocols=["dream"])
    found = curve(done.results, "dream", "reasoning")
    assert found.pairs is not None
    assert (values(found), found.pairs.right, found.pairs.tied) == ([100.0, 100.0], 0, 10)
    assert found.verdict == "not as expected"


def test_one_pair_alone_has_a_direction(run_whole: RunWhole) -> None:
    done, _ = run_whole(reasoning(1), judge_who_sees_flaws, settings=ALONE, protocols=["dream"])
    found = curve(done.results, "dream", "reasoning")
    assert found.pairs is not None
    assert (found.pairs.n, found.pairs.right, found.verdict) == (1, 1, "as expected")
