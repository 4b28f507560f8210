"""Comparison of two runs and of the systems of one run."""

from __future__ import annotations

from pathlib import Path

from local_judge.runs.results.attributes import open_runs
from local_judge.runs.results.comparison import ScoreDifference, run_difference, system_differences

from ..reporting.test_groups import fact_run, known_protocols, record

__all__ = ["known_protocols"]

TASKS = 6


def run(folder: Path, systems: dict[str, str]) -> Path:
    """A run in which each report of a system has claims with these verdicts: `s` supported, `u` unsupported."""
    return fact_run(
        folder,
        [
            (record(f"{system}-{task}", system).model_copy(update={"task": str(task)}), verdicts)
            for system, verdicts in systems.items()
            for task in range(TASKS)
        ],
    )


def test_a_difference_has_one_p_value_wherever_it_is_shown(tmp_path: Path) -> None:
    """Accuracy is 1 and 1/2 in each of six tasks, effective citations are 2 and 1: p is 2 / 2^6 of both, and of two
    tests the smaller one is doubled (Holm), whether both are shown or one."""
    both = run(tmp_path / "both", {"ada": "ss", "bo": "su"})
    apart = run(tmp_path / "ada", {"ada": "ss"}), run(tmp_path / "bo", {"bo": "su"})
    [opened] = open_runs([both])
    score = "citation_accuracy"

    def p_values(rows: tuple[ScoreDifference, ...]) -> dict[str, float | None]:
        return {row.path[0]: row.difference.p_holm for row in rows}

    whole = p_values(run_difference(apart).scores)
    assert whole == {score: 4 / 64, "effective_citations": 4 / 64}
    assert p_values(system_differences(opened)) == whole
    assert p_values(system_differences(opened, all_scores=True)).items() >= whole.items()
    assert p_values(run_difference(apart, all_scores=True).scores).items() >= whole.items()
    assert p_values(system_differences(opened, score=score)) == {score: whole[score]}
    assert p_values(run_difference(apart, protocol="fact", score=score).scores) == {score: whole[score]}


def test_scores_of_unmatched_reports_are_counted(tmp_path: Path) -> None:
    first = run(tmp_path / "first", {"ada": "ss", "bo": "su"})
    second = run(tmp_path / "second", {"ada": "su"})
    found = run_difference((first, second))
    assert (found.matched_by, found.n_reports, found.n_first, found.n_second) == ("id", TASKS, TASKS, 0)
    accuracy = found.scores[0].difference
    assert (accuracy.first, accuracy.second, accuracy.value, accuracy.n) == (1.0, 0.5, -0.5, TASKS)
