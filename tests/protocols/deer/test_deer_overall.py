from __future__ import annotations

import pytest

from local_judge.claims.unread import Unread, UnreadSentence
from local_judge.protocols.deer.overall import score
from local_judge.protocols.deer.rubric import upstream
from local_judge.protocols.deer.verification import upstream as by_rule
from local_judge.protocols.deer.verification.rows import ClaimRow, PairRow, Rows
from local_judge.scoring.node import Profile, ScoreNode
from local_judge.stats.sums import sum_in_order

from .rubric_cases import FS, II, RF, drawn, everywhere, findings, settled

SEVEN = [
    "request_fulfillment",
    "analytical_soundness",
    "structural_coherence",
    "format_style",
    "information_integrity",
    "information_sufficiency",
    "ethics_compliance",
]
PROFILES: tuple[Profile, ...] = ("paper", "upstream")


def claim(number: int, *pairs: PairRow) -> ClaimRow:
    return ClaimRow(id=f"L1.S{number}.1", type="A", pairs=pairs)


def pair(url: str, supported: bool) -> PairRow:
    return PairRow(url=url, outcome="supported" if supported else "not_supported", reliable=supported)


ROWS = Rows(
    claims=(
        claim(1, pair("https://a.example", True), pair("https://b.example", True)),
        claim(2, pair("https://a.example", True)),
        claim(3, pair("https://c.example", False)),
    ),
    references=("https://a.example", "https://b.example", "https://c.example"),
)


def by_id(roots: tuple[ScoreNode, ...]) -> dict[str, ScoreNode]:
    return {root.id: root for root in roots}


def values(roots: tuple[ScoreNode, ...], ids: list[str]) -> list[float]:
    found = [by_id(roots)[id].score.value for id in ids]
    return [value for value in found if value is not None]


@pytest.mark.parametrize("profile", PROFILES)
def test_seven_dimensions_and_their_mean(profile: Profile) -> None:
    roots = score([ROWS], [findings(drawn(1))], profile)
    assert [root.id for root in roots] == [*SEVEN, "overall"]
    seven = values(roots, SEVEN)
    overall = roots[-1].score
    assert (overall.value, overall.denominator, overall.note) == (sum_in_order(seven) / 7, 7, "")


@pytest.mark.parametrize("rows", [(), (ROWS,)])
def test_both_profiles_have_the_same_tree(rows: tuple[Rows, ...]) -> None:
    shapes = [
        [path for root in score(rows, [findings(drawn(2))], profile) for path, _ in root.walk()]
        for profile in PROFILES
    ]
    assert shapes[0] == shapes[1] and len(shapes[0]) > 150


def test_recency_is_shown_by_the_paper_and_not_counted() -> None:
    low, high = everywhere(6), everywhere(6)
    for item in ("C1-1", "C1-2", "C1-3"):
        low[II, "recency", "1", item], high[II, "recency", "1", item] = 1, 10
    first, second = (score([ROWS], [findings(answers)], "paper") for answers in (low, high))
    quality = by_id(first)[II].find("reference_quality")
    assert [child.id for child in quality.children] == ["reproducibility", "reliability", "recency"]
    assert quality.find("recency").score.value == 1
    assert quality.find("recency").score.note == "not counted: no sub-dimension of the paper"
    # 3 of 3 pages retrieved, 2 of 3 reliable: (10 + 20/3) / 2
    assert quality.score.value == pytest.approx(25 / 3)
    assert [root.score for root in first] == [root.score for root in second]


@pytest.mark.parametrize("seed", range(6))
def test_upstream_is_the_integration_to_the_last_bit(seed: int) -> None:
    answers = drawn(seed)
    fact = by_rule.averages(by_rule.normalised(by_rule.tally(ROWS)))[1]
    runs = [
        upstream.integrate(fact, upstream.items_of(findings(run)))
        for run in (answers, settled(answers, 1), settled(answers, 10))
    ]
    roots = by_id(score([ROWS], [findings(answers)], "upstream"))
    for dimension in SEVEN:
        found = roots[dimension].score
        value, low, high = (run.scores[dimension] for run in runs)
        assert found.value == value
        # Where all that failed is recency, its merging may take the value beyond both: see the next test.
        ends = [end for end in (value, low, high) if end is not None]
        assert (found.low, found.high) == (min(ends), max(ends))
    quality = roots[II].find("reference_quality")
    assert quality.score.value == runs[0].criteria[II]["reference_quality"]
    assert [part.score.value for part in roots[II].children] == list(runs[0].criteria[II].values())


def test_recency_that_failed_is_not_merged_and_opens_the_bounds() -> None:
    answers = everywhere(6)
    for item in ("C1-1", "C1-2", "C1-3"):
        answers[II, "recency", "1", item] = "failed"
    quality = by_id(score([ROWS], [findings(answers)], "upstream"))[II].find("reference_quality").score
    # 8.34 = round((10 + 6.67) / 2, 2) as a float; (2 * 8.34 + 1) / 3 and (2 * 8.34 + 10) / 3
    assert quality.value == 8.34
    assert (quality.low, quality.high, quality.n_failed) == (5.89, 8.89, 1)


def test_merged_recency_shows_what_it_is_made_of() -> None:
    quality = by_id(score([ROWS], [findings(everywhere(6))], "upstream"))[II].find("reference_quality").score
    assert (quality.numerator, quality.denominator, quality.n_expected) == (2 * 8.34 + 6, 3, 3)
    assert quality.value == round((2 * 8.34 + 6) / 3, 2) == 7.56


@pytest.mark.parametrize("profile", PROFILES)
def test_verification_alone_has_two_dimensions(profile: Profile) -> None:
    assert [root.id for root in score([ROWS], [], profile)] == SEVEN[4:6]
    assert score([], [], profile) == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_a_rubric_alone_has_five_and_says_so(profile: Profile) -> None:
    roots = score([], [findings(everywhere(6))], profile)
    assert [root.id for root in roots] == [*SEVEN[:4], SEVEN[6], "recency", "overall"]
    assert roots[-2].label == "Recency (not counted)"
    assert roots[-1].score.value == 6
    assert roots[-1].score.note == "evaluated: 5 of the 7 dimensions"


def test_a_dimension_without_value_is_left_out_of_the_overall_score_and_counted() -> None:
    answers = everywhere(6)
    answers.update({path: "N/A" for path in answers if path[0] == "ethics_compliance"})
    overall = score([], [findings(answers)], "paper")[-1].score
    assert (overall.value, overall.denominator, overall.n_undefined) == (6, 4, 1)
    assert overall.note == "of 5 parts 1 undefined; evaluated: 5 of the 7 dimensions"


def test_whole_dimensions_beside_verification() -> None:
    rubric = findings({(RF,): 8, (FS,): 6}, mode="dimensions")
    roots = by_id(score([ROWS], [rubric], "paper"))
    assert list(roots) == [RF, FS, II, "information_sufficiency", "overall"]
    # Of whole dimensions information integrity is none that is asked about: what was verified stands.
    assert roots[II] == by_id(score([ROWS], [], "paper"))[II]
    upstream = by_id(score([ROWS], [rubric], "upstream"))
    assert upstream[II] == by_id(score([ROWS], [], "upstream"))[II]


def test_a_report_judged_as_a_whole_has_that_score_as_its_overall_one() -> None:
    roots = score([ROWS], [findings({(): 4}, mode="vanilla")], "paper")
    assert [root.id for root in roots] == [*SEVEN[4:6], "overall"]
    assert (roots[-1].score.value, roots[-1].score.note) == (4, "one score for the whole report")


def test_a_report_without_claims_keeps_the_codes_verdict_on_it() -> None:
    roots = by_id(score([Rows(claims=())], [findings(everywhere(6))], "upstream"))
    assert roots[II].score.value is None
    assert roots[II].score.note.endswith(" without claims")
    assert roots["overall"].score.denominator == 5


def test_sentences_that_nobody_read_are_named_beside_recency() -> None:
    lost = tuple(UnreadSentence(label=f"L9.S{number}", most=8, cited=True) for number in (1, 2))
    rows = ROWS.model_copy(update={"unread": Unread(sentences=lost, known_sentences=0.9)})
    for profile in PROFILES:
        note = by_id(score([rows], [findings(everywhere(6))], profile))[II].score.note
        assert "the claims of 2 sentences are unknown" in note
