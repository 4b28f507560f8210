"""One report's tree, a system's pooled games, and what judges are compared in."""

from __future__ import annotations

import pytest

from local_judge.protocols.base import Contest, Decision
from local_judge.protocols.liveresearchbench.depth.games import DIMENSIONS
from local_judge.protocols.liveresearchbench.depth.scores import aggregate_depth, score_depth
from local_judge.protocols.liveresearchbench.metrics.depth import Depth
from local_judge.scoring.node import Score, ScoreNode

from .depth_cases import against, findings, order, pair

WIN, LOSS, TIE = against((20, 20), (10, 12)), against((10, 12), (20, 20)), against((20, 15), (15, 20))
OPEN = against((20, None), (10, 0))


def value(node: ScoreNode, *path: str) -> float | None:
    return node.find(*path).score.value


def test_the_tree_of_a_report() -> None:
    node = score_depth([findings(WIN)], "paper")
    assert node.score == Score(value=100, numerator=1, denominator=1, n_expected=1, low=100, high=100)
    assert [child.id for child in node.children] == [
        "margin",
        *DIMENSIONS,
        "consistency",
        "by_totals",
        "word",
    ]
    # (10 + 8) / 2; 20 and 10, 12 spread over five dimensions, the first two of 12 having 3.
    assert value(node, "margin") == 9
    assert (value(node, "insight"), value(node, "insight", "baseline")) == (4, 2.5)
    assert (value(node, "density"), value(node, "density", "baseline")) == (4, 2)
    assert (value(node, "consistency"), value(node, "by_totals"), value(node, "word")) == (100, 100, 100)


def test_both_profiles_have_the_same_tree() -> None:
    one = findings(pair(order(True, 20, 19, said="report"), order(False, 20, 19, said="other")))
    paper, upstream = (score_depth([one], profile) for profile in ("paper", "upstream"))
    assert [path for path, _ in paper.walk()] == [path for path, _ in upstream.walk()]
    assert (paper.score.value, paper.score.note) == (None, "tied")
    # One word for each: a win and a loss.
    assert (upstream.score.value, upstream.score.denominator) == (50, 2)
    # The same two games by their totals: 20:19 is a tie.
    assert (value(upstream, "by_totals"), value(upstream, "word")) == (None, 0)
    assert (value(paper, "consistency"), value(upstream, "consistency")) == (100, 0)


def test_a_failure_is_no_loss() -> None:
    node = score_depth([findings(OPEN)], "paper")
    score = node.score
    assert (score.value, score.n_failed, score.n_undefined, score.low, score.high) == (None, 1, 0, 0, 100)
    assert score.note == "1 of 1 games failed"
    # +10 and anything from -25 to 25.
    margin = node.find("margin").score
    assert (margin.value, margin.low, margin.high, margin.n_failed) == (10, -7.5, 17.5, 1)
    insight = node.find("insight").score
    assert (insight.value, insight.low, insight.high) == (4, 2, 4.5)


def test_an_ensemble() -> None:
    # +1 and +2: 1.5 together, more than 1.
    both = [findings(against((20, 20), (19, 19))), findings(against((20, 20), (18, 18)))]
    ensemble = score_depth(both, "paper")
    assert (ensemble.score.value, value(ensemble, "margin")) == (100, 1.5)
    games = score_depth(both, "upstream").score
    assert (games.value, games.numerator, games.n_expected) == (100, 2, 4)
    holed = score_depth([both[1], findings(against((None, None), (0, 0)))], "paper").score
    assert (holed.value, holed.low, holed.high, holed.note) == (100, 0, 100, "1 without some judges")


def test_ties_are_in_no_part_of_a_win_rate() -> None:
    node = aggregate_depth([(findings(one),) for one in (WIN, WIN, LOSS, TIE, TIE)], "paper")
    # 2 / (2 + 1), whatever was tied.
    assert node.score.value == pytest.approx(200 / 3)
    assert [value(node, name) for name in ("wins", "losses", "ties", "decisive", "games")] == [2, 1, 2, 3, 5]
    # Both ties come of orders that contradict each other.
    assert (value(node, "consistency"), value(node, "word")) == (60, 100)
    # By order they are a win and a loss each: 6 of 10 games.
    upstream = aggregate_depth([(findings(one),) for one in (WIN, WIN, LOSS, TIE, TIE)], "upstream")
    assert (upstream.score.value, value(upstream, "games")) == (60, 10)
    # By totals two games of the first report are won; of the second one is tied, one lost: 2 of 3, and not the mean of
    # 100 and 0.
    one_lost = pair(order(True, 20, 20), order(False, 10, 20))
    assert value(
        aggregate_depth([(findings(WIN),), (findings(one_lost),)], "paper"), "by_totals"
    ) == pytest.approx(200 / 3)


def test_no_decisive_game_is_no_rate() -> None:
    node = aggregate_depth([(findings(TIE),), (findings(TIE),)], "paper")
    assert (node.score.value, node.score.note, node.score.n_undefined) == (None, "all tied", 1)
    assert (value(node, "low"), node.find("low").score.note) == (None, "no decisive game")
    assert value(aggregate_depth([], "paper"), "games") == 0
    assert aggregate_depth([], "paper").score.note == "compared with no baseline"


def test_a_system_s_rate_is_the_mean_of_the_judges_rates_in_the_published_code() -> None:
    # 1 win and no loss; 1 win and 3 losses: (100 + 25) / 2, and not 2 of 5.
    won, lost, tied = (against((15, 15), (other, other)) for other in (5, 25, 15))
    split = pair(order(True, 20, 10), order(False, 10, 20))
    sides = [
        [findings(one) for one in some]
        for some in ([pair(order(True, 20, 10), order(False, 20, 20)), tied], [split, lost])
    ]
    node = aggregate_depth(list(zip(*sides, strict=True)), "upstream")
    assert (node.score.value, node.score.low, node.score.high) == (62.5, 62.5, 62.5)
    assert [value(node, name) for name in ("wins", "losses", "ties")] == [2, 3, 3]
    # In `paper`, judges decide each pair together.
    together = aggregate_depth([(findings(won), findings(lost))], "paper")
    assert (together.score.value, value(together, "games")) == (None, 1)


def test_a_judge_of_ties_has_the_rate_0_beside_others_in_the_published_code() -> None:
    # One judge: 3 wins, 1 loss; the other 4 ties: (75 + 0) / 2.
    one = [
        findings(against((20, 20), (10, 10))),
        findings(pair(order(True, 20, 10), order(False, 10, 20))),
    ]
    other = [findings(against((20, 20), (20, 20)))] * 2
    node = aggregate_depth(list(zip(one, other, strict=True)), "upstream")
    assert node.score.value == 37.5
    assert [value(node, name) for name in ("wins", "losses", "ties", "decisive", "games")] == [3, 1, 4, 4, 8]


def test_the_interval_draws_reports() -> None:
    # All reports alike: nothing to vary, in games that are both ways on each.
    alike = [(findings(pair(order(True, 20, 10), order(False, 10, 20))),)] * 6
    node = aggregate_depth(alike, "upstream")
    assert (node.score.value, value(node, "low"), value(node, "high")) == (50, 50, 50)
    mixed = aggregate_depth([(findings(one),) for one in (WIN, LOSS) * 10], "paper")
    low, high = value(mixed, "low"), value(mixed, "high")
    # Binomial of 20 with 1/2: its 2.5 and 97.5 percentiles are 6 and 14.
    assert (mixed.score.value, low, high) == (50, pytest.approx(30, abs=5), pytest.approx(70, abs=5))
    assert mixed.find("low").score.note == "of 1,000 draws of reports, seed 0"
    alone = aggregate_depth([(findings(WIN),)], "paper")
    assert (value(alone, "low"), alone.find("low").score.note) == (None, "too few reports")


def test_failed_games_and_missing_reports_open_the_bounds() -> None:
    node = aggregate_depth([(findings(one),) for one in (WIN, LOSS, OPEN)], "paper")
    # 1 of 2; the third may be a loss or a win: 1 of 3 to 2 of 3.
    score = node.score
    assert (score.value, score.low, score.high) == (50, pytest.approx(100 / 3), pytest.approx(200 / 3))
    assert (score.n_failed, score.note) == (1, "1 of 3 games failed")
    missing = aggregate_depth([(findings(WIN),)], "paper", n_missing=2).score
    assert (missing.value, missing.low, missing.high, missing.n_failed) == (100, 0, 100, 2)
    assert missing.note == "2 of the run's reports missing"


def test_counts_of_games_are_as_open_as_the_games() -> None:
    """A win, a game that failed, and one that is 10 + 8 by the first judge and 10 + (-25 to 25) by the second.

    The last is won by what is known, and at worst tied: 3 / 4.
    """
    judges = [findings(WIN), findings(WIN)], [findings(OPEN)] * 2, [findings(WIN), findings(OPEN)]
    node = aggregate_depth(judges, "paper")
    bounds = {
        name: (found.value, found.low, found.high)
        for name in ("wins", "losses", "ties", "decisive", "games")
        for found in [node.find(name).score]
    }
    assert bounds == {
        "wins": (2, 1, 3),
        "losses": (0, 0, 1),
        "ties": (0, 0, 2),
        "decisive": (2, 1, 3),
        "games": (3, 3, 3),
    }
    assert node.find("wins").score.n_failed == 1


def test_missing_reports_open_every_figure() -> None:
    whole, holed = (aggregate_depth([(findings(WIN),)], "paper", n_missing=n) for n in (0, 1))
    for name in ("wins", "losses", "ties", "decisive", "games", "defective"):
        known, found = whole.find(name).score, holed.find(name).score
        assert (known.high, known.n_failed) == (known.value, 0)
        assert (found.value, found.low, found.high, found.n_failed) == (known.value, known.value, None, 1)
    for name in ("consistency", "word", "sound"):
        found = holed.find(name).score
        assert (found.value, found.low, found.high, found.n_failed) == (100, 0, 100, 1)


def test_defective_baselines() -> None:
    bad = against((20, 20), (5, 5), defects=("plan",))
    kept = aggregate_depth([(findings(bad),), (findings(LOSS),)], "paper")
    assert (kept.score.value, value(kept, "sound"), value(kept, "defective")) == (50, 0, 1)
    left = aggregate_depth([(findings(bad, leave_out=True),), (findings(LOSS, leave_out=True),)], "paper")
    assert (left.score.value, value(left, "sound"), value(left, "defective")) == (0, 0, 1)
    assert Depth().contests([findings(bad, leave_out=True)], "paper") == []


def test_contests() -> None:
    other = pair(order(True, 10, 20), order(False, 12, 20), system="bo")
    both = findings(WIN, other)
    assert Depth().contests([both], "paper") == [
        Contest(opponent="baseline", case=None, document="other", points=(1.0,), consistent=(True,)),
        Contest(opponent="bo", case="bo-1", document="other", points=(0.0,), consistent=(True,)),
    ]
    assert Depth().contests([both, findings(TIE, OPEN)], "upstream") == [
        Contest(
            opponent="baseline",
            case=None,
            document="other",
            points=(1.0, 1.0, 1.0, 0.0),
            consistent=(True, False),
        ),
        Contest(
            opponent="bo", case="bo-1", document="other", points=(0.0, 0.0, 1.0, None), consistent=(True,)
        ),
    ]


def test_what_judges_are_compared_in() -> None:
    decisions = list(Depth().decisions(findings(OPEN)))
    # Two orders of five dimensions of two reports, each order's difference, and the winner.
    assert len(decisions) == 2 * (5 * 2 + 1) + 1 == len({(one.metric, one.item) for one in decisions})
    assert {one.scale for one in decisions if one.metric != "depth.winner"} == {"interval"}
    known = {(one.metric, one.item): one.value for one in decisions}
    assert known["depth.insight", "baseline 1, report first, report"] == 4
    assert known["depth.insight", "baseline 1, report first, other"] == 2
    assert known["depth.difference", "baseline 1, report first"] == 10
    assert known["depth.difference", "baseline 1, report second"] is None
    assert decisions[-1] == Decision(metric="depth.winner", item="baseline 1", value=None, scale="nominal")
    assert [list(Depth().decisions(findings(pair)))[-1].value for pair in (WIN, TIE)] == ["report", "tie"]
    other = list(Depth().decisions(findings(WIN)))
    assert [(one.metric, one.item) for one in other] == [(one.metric, one.item) for one in decisions]
