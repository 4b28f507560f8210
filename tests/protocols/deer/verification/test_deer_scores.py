"""Both profiles on reports small enough to work out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indexes.model import SourceStatus
from local_judge.claims.model import ClaimType
from local_judge.claims.unread import Unread, UnreadSentence
from local_judge.protocols.deer.names import METRICS
from local_judge.protocols.deer.verification import scores, upstream
from local_judge.protocols.deer.verification import scores as verification
from local_judge.protocols.deer.verification.rows import ClaimRow, Outcome, PairRow, Rows
from local_judge.scoring.algebra import mean_of
from local_judge.scoring.node import Profile, Score, ScoreNode
from tests.golden.compare import differences
from tests.golden.deer import run_metrics

FIXTURE = Path(__file__).parents[4] / "../shared/fixtures/deer.json"


def near(value: float) -> object:
    return pytest.approx(value, rel=1e-12)  # pyright: ignore[reportUnknownMemberType]


def pair(url: str, outcome: Outcome, reliable: bool | None = False, status: SourceStatus = "ok") -> PairRow:
    return PairRow(url=url, outcome=outcome, reliable=reliable, status=status)


def claim(id: str, type: ClaimType, *pairs: PairRow, cited: bool = True) -> ClaimRow:
    return ClaimRow(id=id, type=type, cited=cited, pairs=pairs)


def unread(n: int, *, of: int, most: int = 8, written: tuple[str, ...] = ("u1",)) -> Unread:
    """Sentences with citations, of a report's, whose claims are unknown."""
    return Unread(
        sentences=tuple(
            UnreadSentence(label=f"L9.S{number}", most=most, cited=True, written=written)
            for number in range(n)
        ),
        urls=written,
        known_sentences=1 - n / of,
    )


def score(rows: Rows, profile: Profile = "paper") -> ScoreNode:
    """The dimensions of one judge under one node, by which they can be found."""
    dimensions = verification.score([rows], profile)
    return ScoreNode(id="deer", label="DEER", score=Score(value=None), children=dimensions)


# u1: 1 of 2 pairs supported, reliable; u2: 2 of 2, not reliable; u3: dead; u4: listed only; one entry without
# URL.
FIVE = Rows(
    claims=(
        claim("1", "A", pair("u1", "supported", reliable=True)),
        claim("2", "A", pair("u1", "not_supported", reliable=True), pair("u2", "supported")),
        claim("3", "B", cited=False),
        claim("4", "C", pair("u2", "supported"), pair("u3", "source_unavailable", None, status="dead")),
        claim("5", "E"),
    ),
    references=("u1", "u2", "u3", "u4", None),
)


def metrics(scores: ScoreNode) -> dict[str, Score]:
    return {
        path[-1]: node.score
        for dimension in scores.children
        for path, node in dimension.walk()
        if len(path) == 3
    }


def test_five_claims_by_the_paper() -> None:
    scores = score(FIVE, "paper")
    found = {name: (s.numerator, s.denominator, s.value) for name, s in metrics(scores).items()}
    assert found == {
        # 1, 2 and 4 of the four claims of class A to C
        "claim_factuality": (3, 4, 7.5),
        # three of five pairs; the dead page supports nothing
        "citation_support": (3, 5, 6.0),
        # u1 and u2 of u1, u2, u3, u4 and the entry without URL
        "reference_support": (2, 5, 4.0),
        # u1 and u2 of the three used
        "reproducibility": (2, 3, near(20 / 3)),
        # only u1 is reliable
        "reliability": (1, 3, near(10 / 3)),
        # counts 2, 2, 1: HHI = (4 + 4 + 1) / 25 = 0.36; (1 - 0.36) / (1 - 1/3) = 0.96
        "reference_diversity": (near(0.64), near(2 / 3), near(9.6)),
        # four of five claims are of class A to C
        "evidence_coverage": (4, 5, 8.0),
        "information_amount": (3, None, 1),
        "citation_amount": (3, None, 1),
        "reference_amount": (2, None, 1),
    }
    # (20/3 + 10/3) / 2
    assert scores.find("information_integrity", "reference_quality").score.value == near(5.0)
    # (7.5 + 6 + 4 + 5 + 9.6) / 5
    assert scores.find("information_integrity").score.value == near(6.42)
    # (8 + 1 + 1 + 1) / 4
    assert scores.find("information_sufficiency").score.value == 2.75
    for _, node in (entry for dimension in scores.children for entry in dimension.walk()):
        assert (node.score.low, node.score.high) == (node.score.value, node.score.value)
        assert node.score.n_failed == node.score.n_undefined == 0


def test_five_claims_by_the_code() -> None:
    scores = score(FIVE, "upstream")
    found = {name: (s.numerator, s.denominator, s.value) for name, s in metrics(scores).items()}
    assert found == {
        # claim 3 has no citation and becomes D: 1, 2 and 4 of three
        "claim_factuality": (3, 3, 10.0),
        "citation_support": (3, 5, 6.0),
        # the entry without URL is not shown
        "reference_support": (2, 4, 5.0),
        "reproducibility": (2, 3, 6.67),
        "reliability": (1, 3, 3.33),
        # supported pairs only: 1 and 2, HHI = 5/9; 1 - (5/9 - 1/2) / (1/2) = 8/9
        "reference_diversity": (near(4 / 9), 0.5, near(80 / 9)),
        # (A + B) / (A + B + C) = 2 / 3
        "evidence_coverage": (2, 3, 6.67),
        # D 1 + E 1 + supported 3
        "information_amount": (5, None, 1),
        "citation_amount": (3, None, 1),
        "reference_amount": (2, None, 1),
    }
    # round((10 + 6 + 5 + 5 + 8.89) / 5, 2), and round((6.67 + 1 + 1 + 1) / 4, 2)
    assert scores.find("information_integrity").score.value == 6.98
    assert scores.find("information_sufficiency").score.value == 2.42


def test_profiles_share_one_tree() -> None:
    def names(scores: ScoreNode) -> list[tuple[tuple[str, ...], str]]:
        return [(path, node.label) for d in scores.children for path, node in d.walk()]

    assert names(score(FIVE, "paper")) == names(score(FIVE, "upstream"))
    leaves = [node for d in score(FIVE, "paper").children for _, node in d.walk() if not node.children]
    assert [leaf.id for leaf in leaves] == [metric.id for metric in METRICS]
    assert [leaf.label for leaf in leaves] == [
        "Claim Factuality",
        "Citation Support",
        "Reference Support",
        "Reproducibility",
        "Reliability",
        "Reference Diversity",
        "Evidence Coverage",
        "Information Amount",
        "Citation Amount",
        "Reference Amount",
    ]


def test_failed_claim_leaves_the_denominator_and_opens_bounds() -> None:
    rows = Rows(
        claims=(
            claim("1", "A", pair("u1", "supported", reliable=True)),
            claim("2", "A", pair("u1", "not_supported"), pair("u2", "judge_failed", None)),
        ),
        references=("u1", "u2"),
    )
    found = metrics(score(rows, "paper"))
    # claim 2 could still be supported by u2: 1/1, or 1/2 and 2/2 when resolved
    assert found["claim_factuality"] == Score(
        value=10, numerator=1, denominator=1, n_expected=2, n_failed=1, low=5, high=10
    )
    # 1/2 known pairs; 1/3 and 2/3 of all three
    citation = found["citation_support"]
    assert (citation.value, citation.low, citation.high) == (
        5,
        near(10 / 3),
        near(20 / 3),
    )
    # u1 was read; whether u2 is usable, no judge has said
    reproducibility = found["reproducibility"]
    assert (reproducibility.value, reproducibility.low, reproducibility.high) == (10, 5, 10)
    # the spread of citations does not depend on verdicts: 2 and 1, (1 - 5/9) / (1/2)
    assert found["reference_diversity"].value == near(80 / 9)
    assert found["citation_amount"].note == "counts what is known"

    charged = metrics(score(rows, "upstream"))
    assert charged["claim_factuality"].value == 5
    assert (charged["claim_factuality"].low, charged["claim_factuality"].high) == (5, 10)
    # u2 is an error for the code; it would be none had the judge answered
    reproducibility = charged["reproducibility"]
    assert (reproducibility.value, reproducibility.high, reproducibility.n_failed) == (5, 10, 1)
    assert reproducibility.note == "the code charges failures to the report"


def test_what_failures_leave_open_in_the_code() -> None:
    rows = Rows(
        claims=(
            claim("1", "A", pair("u1", "supported"), pair("u2", "supported")),
            claim("2", "A", pair("u1", "judge_failed", None)),
        )
    )
    # 1 and 1 are even; with a second support for u1 they would be less so: the resolutions are no bounds
    diversity = metrics(score(rows, "upstream"))["reference_diversity"]
    assert (diversity.value, diversity.low, diversity.high, diversity.n_failed) == (10, 0, 10, 1)
    # u1 is an error as charged, and may be usable: 1 - 1/2, 1 - 0/2
    part = score(rows, "upstream").find("information_integrity", "reference_quality", "reproducibility").score
    assert (part.value, part.low, part.high) == (5, 5, 10)


def test_a_claim_supported_elsewhere_does_not_fail() -> None:
    rows = Rows(claims=(claim("1", "A", pair("u1", "supported"), pair("u2", "judge_failed", None)),))
    assert metrics(score(rows))["claim_factuality"].n_failed == 0


@pytest.mark.parametrize("status", ["not_in_snapshot", "unavailable"])
def test_page_that_we_do_not_have_is_not_charged(status: SourceStatus) -> None:
    rows = Rows(claims=(claim("1", "A", pair("u1", "source_unavailable", None, status=status)),))
    scores = score(rows, "paper")
    for name in ("claim_factuality", "citation_support", "reproducibility", "reliability"):
        found = metrics(scores)[name]
        assert (found.value, found.n_failed, found.low, found.high) == (None, 1, 0, 10)
        assert found.note == "all 1 failed"
    assert scores.find("information_integrity").score.value is None


def test_dead_page_is_the_reports() -> None:
    rows = Rows(claims=(claim("1", "A", pair("u1", "source_unavailable", None, status="dead")),))
    found = metrics(score(rows, "paper"))
    for name in ("claim_factuality", "citation_support", "reproducibility", "reliability"):
        assert (found[name].value, found[name].n_failed) == (0, 0)


@pytest.mark.parametrize(
    "unreadable",
    [
        *(
            pair("u1", "source_unavailable", None, status=one)
            for one in ("blocked", "empty", "unsupported_type")
        ),
        pair("u1", "unusable", False),
    ],
)
def test_page_that_nobody_can_read_counts_against_reproducibility_alone(unreadable: PairRow) -> None:
    rows = Rows(claims=(claim("1", "A", unreadable),))
    found, charged = metrics(score(rows, "paper")), metrics(score(rows, "upstream"))
    for name in ("claim_factuality", "citation_support"):
        assert (found[name].value, found[name].n_failed, found[name].low, found[name].high) == (
            None,
            1,
            0,
            10,
        )
        assert (charged[name].n_failed, charged[name].low, charged[name].high) == (1, 0, 10)
    for of in (found, charged):
        reproducibility = of["reproducibility"]
        assert (reproducibility.value, reproducibility.low, reproducibility.high) == (0, 0, 0)
        assert reproducibility.n_failed == 0


def test_everything_failed_is_null_with_the_whole_scale_open() -> None:
    rows = Rows(claims=(claim("1", "A", pair("u1", "judge_failed", None)),), references=("u1",))
    scores = score(rows, "paper")
    found = metrics(scores)
    for name in ("claim_factuality", "citation_support", "reference_support", "reliability"):
        assert (found[name].value, found[name].low, found[name].high) == (None, 0, 10)
    assert (found["citation_amount"].value, found["citation_amount"].low) == (None, 1)
    # diversity of one source is 0/0
    integrity = scores.find("information_integrity").score
    assert (integrity.value, integrity.n_expected, integrity.n_failed, integrity.n_undefined) == (
        None,
        5,
        4,
        1,
    )
    assert integrity.note == "of 5 parts 1 undefined and 4 failed"
    assert (integrity.low, integrity.high) == (0, 10)


def test_no_claims() -> None:
    found = metrics(score(Rows(claims=()), "paper"))
    for name in ("claim_factuality", "evidence_coverage", "reference_diversity"):
        assert (found[name].value, found[name].n_failed, found[name].n_undefined) == (None, 0, 1)
    # the scale of amounts begins at 1
    assert found["information_amount"].value == 1
    for dimension in score(Rows(claims=()), "upstream").children:
        for _, node in dimension.walk():
            assert node.score.value is None
            assert node.score.note == "the code fails on a report without claims"


def test_no_verifiable_claim_is_null_in_the_paper_and_zero_in_the_code() -> None:
    rows = Rows(claims=(claim("1", "E"),))
    assert score(rows, "paper").find("information_integrity").score.value is None
    assert score(rows, "upstream").find("information_integrity").score.value == 0
    factuality = metrics(score(rows, "upstream"))["claim_factuality"]
    assert (factuality.value, factuality.note) == (0, "0/0 is 0 in the code")


def test_one_source_has_no_evenness() -> None:
    rows = Rows(claims=(claim("1", "A", pair("u1", "supported", reliable=True)),), references=("u1",))
    found = metrics(score(rows, "paper"))["reference_diversity"]
    assert (found.value, found.n_undefined, found.note) == (None, 1, "1 source cited, evenness needs two")
    # mean of 10, 10, 10, 10
    assert score(rows, "paper").find("information_integrity").score.value == 10
    assert metrics(score(rows, "upstream"))["reference_diversity"].value == 0


def test_two_sources_alike_are_fully_even() -> None:
    assert scores.evenness([3, 3]) == (0.5, 0.5)
    assert upstream.diversity([3, 3]) == 10


def test_reliability_that_was_not_asked_is_unknown() -> None:
    rows = Rows(claims=(claim("1", "A", pair("u1", "supported", reliable=None)),))
    found = metrics(score(rows, "paper"))["reliability"]
    assert (found.value, found.n_failed, found.low, found.high) == (None, 1, 0, 10)


def test_a_page_held_to_be_unreliable_stays_so_whatever_failed() -> None:
    rows = Rows(
        claims=(
            claim("1", "A", pair("u1", "judge_failed", False)),
            claim("2", "A", pair("u2", "supported", reliable=True)),
        )
    )
    found = metrics(score(rows, "paper"))["reliability"]
    # u2 of two; that u1 may support its claim changes nothing
    assert (found.value, found.n_failed, found.low, found.high) == (5, 0, 5, 5)


def test_other_classes_count_only_in_the_code() -> None:
    """An E claim's verified pair: the paper's reference metrics do not see it, the code's do."""
    rows = Rows(
        claims=(
            claim("1", "A", pair("u1", "supported", reliable=True)),
            claim("2", "E", pair("u2", "supported", reliable=True)),
        ),
        references=("u1", "u2"),
    )
    assert metrics(score(rows, "paper"))["reference_support"].value == 5
    assert metrics(score(rows, "upstream"))["reference_support"].value == 10
    assert metrics(score(rows, "upstream"))["citation_support"].n_expected == 1


@pytest.mark.parametrize(
    ("n", "step", "printed", "coded"),
    [(0, 15, 1, 0), (1, 15, 1, 1), (15, 15, 1, 1), (16, 15, 2, 2), (136, 15, 10, 10), (500, 15, 10, 10)],
)
def test_amounts(n: int, step: int, printed: int, coded: int) -> None:
    assert scores.amount(n, step) == printed
    assert upstream.amount_score(n, step) == coded


def test_amounts_are_full_at_136_91_and_37() -> None:
    for n, step in ((136, 15), (91, 10), (37, 4)):
        assert upstream.amount_score(n, step) == 10
        assert upstream.amount_score(n - 1, step) == 9


def test_fragments_and_backticks_of_listed_references() -> None:
    assert upstream.clean_url(" `https://a.com/x#y` ") == "https://a.com/x"


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_a_report_that_could_not_be_read_has_no_scores(profile: Profile) -> None:
    """Neither a 0 for the references that it lists nor a 1 for its amounts: nothing is known of it."""
    for root in score(Rows(claims=(), references=("u1", None), unread=unread(3, of=3)), profile).children:
        for _, node in root.walk():
            found = node.score
            assert (found.value, found.low, found.high, found.n_undefined) == (None, 0, 10, 0)
            assert found.n_failed > 0 and found.note


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_unread_sentences_are_told_beside_the_dimensions(profile: Profile) -> None:
    rows = Rows(claims=(claim("1", "A", pair("u1", "supported", reliable=True)),), unread=unread(3, of=6))
    for root in score(rows, profile).children:
        assert root.score.note.endswith("the claims of 3 sentences are unknown")
        assert root.score.known is not None and root.score.known <= 0.5
    for root in score(rows.model_copy(update={"unread": Unread()}), profile).children:
        assert "unknown" not in root.score.note


def test_unread_sentences_open_the_bounds_by_all_claims_and_pairs_that_they_may_have() -> None:
    """Two claims of A on u1, one supported, and an E. Unread: one of four sentences, with two claims on u1 and u2."""
    rows = Rows(
        claims=(
            claim("1", "A", pair("u1", "supported", reliable=True)),
            claim("2", "A", pair("u1", "not_supported", reliable=True)),
            claim("3", "E"),
        ),
        references=("u1", "u3"),
        unread=unread(1, of=4, most=2, written=("u1", "u2")),
    )
    found = {name: (one.value, one.low, one.high) for name, one in metrics(score(rows, "paper")).items()}
    assert found == {
        "claim_factuality": (5, near(10 / 4), near(30 / 4)),
        # four pairs more: 1/6 to 5/6
        "citation_support": (5, near(10 / 6), near(50 / 6)),
        # u1 of u1 and u3; u2, listed nowhere, may be used too
        "reference_support": (5, near(10 / 3), near(20 / 3)),
        "reproducibility": (10, 5, 10),
        "reliability": (10, 5, 10),
        "reference_diversity": (None, 0, 10),
        "evidence_coverage": (near(20 / 3), 4, 8),
        "information_amount": (1, 1, 1),
        "citation_amount": (1, 1, 1),
        "reference_amount": (1, 1, 1),
    }
    assert {one.known for one in metrics(score(rows, "paper")).values() if one.value is not None} == {0.75}
    charged = {name: (one.value, one.low, one.high) for name, one in metrics(score(rows, "upstream")).items()}
    assert charged == {
        # both may repeat a known claim, which then takes their class: F for the supported one, or with support
        "claim_factuality": (5, 0, 10),
        "citation_support": (5, 0, 10),
        # u1 of u1 and u3, or u1 and u2 of two
        "reference_support": (5, 5, 10),
        # against: both pages are errors of two claims
        "reproducibility": (10, 0, 10),
        "reliability": (10, 5, 10),
        "reference_diversity": (0, 0, 10),
        # (A + B) / (A + B + C): 2/2, or 0/4 if the known ones become C too
        "evidence_coverage": (10, 0, 10),
        # of the E and the supported A, or of none
        "information_amount": (1, 0, 1),
        "citation_amount": (1, 0, 1),
        "reference_amount": (1, 1, 1),
    }


@pytest.mark.parametrize("profile", ["paper", "upstream"])
def test_claim_whose_support_was_not_read_may_be_supported(profile: Profile) -> None:
    rows = Rows(
        claims=(
            claim("1", "A", pair("u1", "supported", reliable=True)),
            claim("2", "B").model_copy(update={"cited": False, "untraced": True}),
        ),
        unread=unread(1, of=4, most=0).model_copy(update={"n_untraced": 1, "urls": ("u1",)}),
    )
    found = metrics(score(rows, profile))
    assert (found["claim_factuality"].value, found["claim_factuality"].low) == (10, 5)
    assert (found["citation_support"].low, found["citation_support"].high) == (5, 10)


def test_mean_keeps_its_bounds_around_the_value() -> None:
    known = Score(value=2, n_expected=1, low=2, high=2)
    failed = Score(value=None, n_expected=1, n_failed=1, low=4, high=10)
    mean = mean_of([known, failed, Score(value=None, n_undefined=1)])
    # value 2 of the one part known; bounds (2 + 4) / 2 and (2 + 10) / 2, widened to hold the value
    assert (mean.value, mean.low, mean.high) == (2, 2, 6)
    assert (mean.n_expected, mean.n_failed, mean.n_undefined) == (3, 1, 1)
    # Of one part of three there is no value, and nothing is widened: (2 + 4 + 4) / 3.
    mean = mean_of([known, failed, failed])
    assert (mean.value, mean.low, mean.high) == (None, pytest.approx(10 / 3), pytest.approx(22 / 3))


@pytest.mark.skipif(not FIXTURE.exists(), reason="golden vectors are not here")
def test_tree_holds_what_the_code_gave() -> None:
    cases: list[Any] = json.loads(FIXTURE.read_text(encoding="utf-8"))["metrics"]
    assert len(cases) >= 80
    for case in cases:
        expected, got = run_metrics(case)
        assert not list(differences("", expected, got))


def test_bounds_hold_whatever_a_failure_turns_out_to_be() -> None:
    """Every way to resolve three failures stays within the bounds, for every metric of the paper."""
    answers: tuple[tuple[Outcome, bool], ...] = (
        ("supported", True),
        ("supported", False),
        ("not_supported", False),
    )

    def rows(a: PairRow, b: PairRow, c: PairRow) -> Rows:
        return Rows(
            claims=(
                claim("1", "A", pair("u1", "supported", reliable=True), a),
                claim("2", "B", b),
                claim("3", "C", pair("u2", "not_supported"), c),
                claim("4", "F"),
            ),
            references=("u1", "u2", "u3", "u4"),
        )

    bounds = metrics(score(rows(*(pair(u, "judge_failed", None) for u in ("u2", "u3", "u1")))))
    assert bounds["claim_factuality"].n_failed == 2
    for first in answers:
        for second in answers:
            for third in answers:
                resolved = rows(pair("u2", *first), pair("u3", *second), pair("u1", *third))
                for name, found in metrics(score(resolved)).items():
                    low, high = bounds[name].low, bounds[name].high
                    assert low is not None and high is not None and found.value is not None
                    assert low <= found.value <= high, name
