"""DEER by several judges, on reports small enough to work out by hand."""

from __future__ import annotations

from random import Random

import pytest

from local_judge.protocols.deer import Deer, DeerFindings
from local_judge.protocols.deer.overall import score as scored
from local_judge.protocols.deer.rubric.model import RubricFindings
from local_judge.protocols.deer.verification.rows import ClaimRow, Outcome, PairRow, Rows, n_tied, voted
from local_judge.scoring.node import Profile, Score, ScoreNode

from .rubric_cases import RF, Answer, drawn, findings

SCOPE = (RF, "scope", "1")


def judged(*answers: Answer) -> RubricFindings:
    """One judge's answers to C1-1, C1-2, and so on, of scope."""
    return findings({(*SCOPE, f"C1-{n}"): answer for n, answer in enumerate(answers, 1)})


def leaf(tree: tuple[ScoreNode, ...], item: str) -> Score:
    return tree[0].find("scope", "1", "coverage", item).score


def test_an_item_is_the_mean_over_the_judges_that_scored_it() -> None:
    tree = scored([], [judged(4, 10, "N/A"), judged(8, "failed", "N/A"), judged(9, "failed", 6)], "paper")
    first, second, third = (leaf(tree, f"C1-{n}") for n in (1, 2, 3))
    assert (first.value, first.low, first.high, first.n_failed) == (7.0, 7.0, 7.0, 0)
    # Two of three failed: low = (10 + 1 + 1) / 3, high = (10 + 10 + 10) / 3
    assert (second.value, second.low, second.high) == (10.0, 4.0, 10.0)
    assert (second.n_expected, second.n_failed) == (3, 2)
    # Two of three say that it does not apply.
    assert (third.value, third.n_failed) == (None, 0)
    # The dimension: the mean of the two items that apply.
    assert tree[0].score.value == 8.5
    assert (tree[0].score.low, tree[0].score.high) == (5.5, 8.5)


def test_as_many_scores_as_na_is_a_score() -> None:
    assert leaf(scored([], [judged("N/A"), judged(6)], "paper"), "C1-1").value == 6.0


def test_an_item_that_all_failed_at_is_open_on_the_whole_scale() -> None:
    score = leaf(scored([], [judged("failed", 5), judged("failed", 5)], "paper"), "C1-1")
    assert (score.value, score.low, score.high, score.n_failed) == (None, 1.0, 10.0, 2)


def test_what_one_judge_failed_at_may_turn_out_to_apply() -> None:
    score = leaf(scored([], [judged("N/A", 5), judged("failed", 5)], "paper"), "C1-1")
    assert (score.value, score.low, score.high, score.n_failed) == (None, 1.0, 10.0, 1)


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_the_tree_is_that_of_one_judge(profile: Profile) -> None:
    rubrics = [findings(drawn(seed)) for seed in (1, 2, 3)]
    trees = [scored([], rubrics[:n], profile) for n in (1, 2, 3)]
    paths = [[path for root in tree for path, _ in root.walk()] for tree in trees]
    assert paths[0] == paths[1] == paths[2]
    for tree in trees:
        for root in tree:
            for path, node in root.walk():
                score = node.score
                if score.value is not None and score.low is not None and score.high is not None:
                    assert score.low <= score.value <= score.high, path


def test_judges_that_say_the_same_are_one_judge() -> None:
    one = findings(drawn(4, failed=0.0))
    alone, three = (scored([], [one] * n, "upstream") for n in (1, 3))
    values = [[node.score.value for root in tree for _, node in root.walk()] for tree in (alone, three)]
    assert values[0] == pytest.approx(values[1])


def rows(*outcomes: Outcome, reliable: bool | None = True, confidence: tuple[float, ...] = ()) -> Rows:
    """One claim for each outcome, each on a page of its own."""
    return Rows(
        claims=tuple(
            ClaimRow(
                id=f"c{n}",
                type="A",
                pairs=(
                    PairRow(
                        url=f"u{n}",
                        outcome=outcome,
                        status="dead" if outcome == "source_unavailable" else "ok",
                        reliable=reliable,
                        confidence=confidence[n] if confidence else None,
                        threshold=0.5 if confidence else None,
                    ),
                ),
            )
            for n, outcome in enumerate(outcomes)
        )
    )


def test_verdicts_are_voted_on() -> None:
    one = rows("supported", "supported", "supported", "judge_failed", "source_unavailable")
    two = rows("supported", "not_supported", "judge_failed", "judge_failed", "source_unavailable")
    found = voted([one, two])
    assert [claim.pairs[0].outcome for claim in found.claims] == [
        "supported",
        "tied",
        "supported",
        "judge_failed",
        "source_unavailable",
    ]
    assert n_tied(found) == 1
    three = voted(
        [one, two, rows("supported", "not_supported", "supported", "supported", "source_unavailable")]
    )
    assert [claim.pairs[0].outcome for claim in three.claims][1:4] == [
        "not_supported",
        "supported",
        "supported",
    ]


def test_ties_and_failures_open_the_bounds_of_the_metrics() -> None:
    one = rows("supported", "supported", "supported", "judge_failed", "source_unavailable")
    two = rows("supported", "not_supported", "judge_failed", "judge_failed", "source_unavailable")
    integrity, _ = scored([one, two], [], "paper")
    score = integrity.find("claim_factuality").score
    # Known: c0 and c2 supported, c4 not (a dead page): 2 of 3. c1 is a tie, c3 nobody judged; of c2 one judge failed.
    assert score.value == pytest.approx(10 * 2 / 3)
    # Against: c1 and c3 not, c2 a tie that counts against: 1 of 5. In favour: c0 to c3: 4 of 5.
    assert (score.low, score.high) == (2.0, 8.0)
    assert (score.n_expected, score.n_failed) == (10, 3)
    assert integrity.score.note == "judges are divided evenly on 1 pairs of claim and source"


def test_probabilities_decide_where_there_are_some() -> None:
    # (0.9 + 0.3) / 2 >= 0.5, (0.6 + 0.2) / 2 < 0.5
    found = voted(
        [
            rows("supported", "supported", confidence=(0.9, 0.6)),
            rows("not_supported", "not_supported", confidence=(0.3, 0.2)),
        ]
    )
    assert [claim.pairs[0].outcome for claim in found.claims] == ["supported", "not_supported"]


def test_reliability_is_voted_on_too() -> None:
    votes = [rows("supported", reliable=flag) for flag in (True, None, False)]
    assert voted(votes).claims[0].pairs[0].reliable is None
    assert voted(votes[:2]).claims[0].pairs[0].reliable is True
    assert voted(votes[:2], unsettled=True).claims[0].pairs[0].reliable is None


def test_what_judges_are_compared_in() -> None:
    rubric = findings({(*SCOPE, "C1-1"): 4, (*SCOPE, "C1-2"): "N/A", (*SCOPE, "C1-3"): "failed"})
    verified = rows("supported", "judge_failed", "source_unavailable")
    found = Deer().decisions(DeerFindings(case="a", document="d", rows=verified, rubric=rubric))
    item = "request_fulfillment.scope.1.C1-"
    assert [(one.metric, one.item, one.value, one.scale) for one in found] == [
        (RF, f"{item}1", 4, "ordinal"),
        ("applicability", f"{item}1", "scored", "nominal"),
        ("applicability", f"{item}2", "not_applicable", "nominal"),
        (RF, f"{item}3", None, "ordinal"),
        ("applicability", f"{item}3", None, "nominal"),
        ("claim_support", "c0 u0", "supported", "nominal"),
        ("claim_support", "c1 u1", None, "nominal"),
        ("source_reliability", "u0", "reliable", "nominal"),
        ("source_reliability", "u1", "reliable", "nominal"),
    ]


def panel(rng: Random) -> list[Rows]:
    """What three judges said of some claims and pages, by thresholds of their own."""
    urls = ["u0", "u1", "u2"]
    cited = [(rng.choice("ABCD"), rng.sample(urls, rng.randint(1, 3))) for _ in range(rng.randint(1, 4))]
    scored = rng.random() < 0.5
    found: list[Rows] = []
    for threshold in (0.2, 0.5, 0.8):
        claims: list[ClaimRow] = []
        reliable = {url: rng.random() < 0.5 for url in urls}
        for n, (kind, pages) in enumerate(cited):
            chances = [rng.random() for _ in pages]
            pairs = tuple(
                PairRow(
                    url=url,
                    outcome="supported" if chance >= threshold else "not_supported",
                    reliable=reliable[url],
                    confidence=chance if scored else None,
                    threshold=threshold if scored else None,
                )
                for url, chance in zip(pages, chances, strict=True)
            )
            claims.append(ClaimRow.model_validate({"id": f"c{n}", "type": kind, "pairs": pairs}))
        found.append(Rows(claims=tuple(claims), references=tuple(urls)))
    return found


def holed(rows: Rows, rng: Random) -> Rows:
    """The same judge, had it failed at a third of its answers."""

    def answer(pair: PairRow) -> PairRow:
        lost = PairRow(url=pair.url, outcome="judge_failed", reliable=pair.reliable)
        return lost if rng.random() < 1 / 3 else pair

    return rows.model_copy(
        update={
            "claims": tuple(
                claim.model_copy(update={"pairs": tuple(map(answer, claim.pairs))}) for claim in rows.claims
            )
        }
    )


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_the_bounds_hold_what_the_judges_would_have_said(profile: Profile) -> None:
    rng = Random(5)
    for _ in range(150):
        whole = panel(rng)
        part = (
            [holed(whole[0], rng), *whole[1:]] if rng.random() < 0.5 else [holed(one, rng) for one in whole]
        )
        truth, found = (scored(judges, [], profile) for judges in (whole, part))
        for there, known in zip(truth, found, strict=True):
            for (path, true), (_, node) in zip(there.walk(), known.walk(), strict=True):
                value, low, high = true.score.value, node.score.low, node.score.high
                if value is not None and low is not None and high is not None:
                    assert low - 1e-9 <= value <= high + 1e-9, (path, part)
