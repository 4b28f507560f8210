"""What holds of every operation on scores, whatever it is given."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from local_judge.scoring.aggregate import mean_over_reports, share_of_reports
from local_judge.scoring.algebra import (
    Answer,
    answers,
    answers_between,
    count,
    difference,
    exactly,
    mean_of,
    share,
    undefined,
    unknown,
    weighted,
)
from local_judge.scoring.coverage import known_enough, known_share
from local_judge.scoring.ensemble import at_extremes, mean_over_judges, mean_trees
from local_judge.scoring.node import Score, ScoreNode

LEAST, MOST = -25.0, 100.0
"""The ends of the scale on which all scores here lie."""

repeatable = settings(derandomize=True, database=None, deadline=None)

numbers = st.floats(LEAST, MOST, allow_subnormal=False)
weights = st.floats(0.0, 1e6, allow_subnormal=False)
small = st.integers(0, 30)


@st.composite
def scores(draw: st.DrawFn) -> Score:
    """Known, in part, failed, undefined, or without a bound."""
    kind = draw(st.sampled_from(("known", "part", "failed", "undefined", "plain", "open")))
    low, value, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
    n = draw(st.integers(1, 9))
    if kind == "known":
        return exactly(value)
    if kind == "part":
        return Score(value=value, low=low, high=high, n_expected=n, n_failed=draw(st.integers(1, n)))
    if kind == "failed":
        return unknown(low, high, n=n)
    if kind == "undefined":
        return undefined("0/0", n)
    return Score(value=value) if kind == "plain" else unknown(None, None, n=n)


lists = st.lists(scores(), min_size=1, max_size=6)


def check(score: Score) -> None:
    """Bounds hold to the last bit, counts are counts, and a value that is not known has no ratio."""
    low, value, high = score.low, score.value, score.high
    if value is not None:
        assert low is None or low <= value
        assert high is None or value <= high
    if low is not None and high is not None:
        assert low <= high
    assert min(score.n_expected, score.n_failed, score.n_undefined) >= 0
    share = known_share(score)
    assert share is None or 0 <= share <= 1
    if value is None:
        assert score.numerator is None and score.denominator is None
    assert Score.model_validate_json(score.model_dump_json()) == score


@repeatable
@given(st.lists(st.none() | numbers, min_size=1, max_size=6))
def test_answers_lie_on_the_scale(values: Sequence[float | None]) -> None:
    score = answers(values, LEAST, MOST)
    check(score)
    assert score.n_failed == values.count(None)
    # The mean of numbers on a scale may leave it by its last bit.
    assert score.value is None or LEAST - 1e-9 <= score.value <= MOST + 1e-9


@repeatable
@given(st.lists(st.tuples(numbers, numbers, numbers, st.booleans()), min_size=1, max_size=6))
def test_answers_with_bounds(rows: Sequence[tuple[float, float, float, bool]]) -> None:
    ordered = [(sorted(row[:3]), row[3]) for row in rows]
    check(
        answers_between(
            [Answer(value if known else None, low, high) for (low, value, high), known in ordered]
        )
    )


@repeatable
@given(small, small, small, st.sampled_from((1.0, 10.0, 100.0)))
def test_shares(hits: int, misses: int, n_failed: int, top: float) -> None:
    score = share(hits, hits + misses, n_failed, top=top)
    check(score)
    assert (score.value is None) == (hits + misses == 0)
    # What failed resolved either way gives the bounds.
    if n_failed:
        assert score.low == share(hits, hits + misses + n_failed, 0, top=top).value
        assert score.high == share(hits + n_failed, hits + misses + n_failed, 0, top=top).value


@repeatable
@given(small, small, small)
def test_counts(n: int, more: int, n_failed: int) -> None:
    check(count(n, more, n_expected=n + n_failed, n_failed=n_failed))


@repeatable
@given(st.lists(st.tuples(weights, scores()), min_size=1, max_size=6))
def test_weighted_means(parts: Sequence[tuple[float, Score]]) -> None:
    check(weighted(parts))


@repeatable
@given(lists, st.booleans())
def test_means(parts: Sequence[Score], partly: bool) -> None:
    check(mean_of(parts, partly=partly))


@repeatable
@given(lists)
def test_means_over_judges(parts: Sequence[Score]) -> None:
    check(mean_over_judges(parts))
    (root,) = mean_trees([[ScoreNode(id="a", label="A", score=part)] for part in parts])
    assert root.score == mean_over_judges(parts)


@repeatable
@given(scores(), scores())
def test_differences(one: Score, other: Score) -> None:
    check(difference(one, other))


@repeatable
@given(lists, st.integers(0, 3), st.booleans(), st.sampled_from((MOST, None)))
def test_means_over_reports(parts: Sequence[Score], n_missing: int, partly: bool, most: float | None) -> None:
    check(mean_over_reports(parts, n_missing, LEAST, most, partly=partly))


@repeatable
@given(st.lists(st.booleans(), max_size=6), st.integers(0, 3))
def test_shares_of_reports(hits: Sequence[bool], n_missing: int) -> None:
    check(share_of_reports(hits, n_missing))


@repeatable
@given(scores(), scores(), scores(), lists)
def test_formulas_at_their_extremes(
    value: Score, against: Score, favour: Score, judges: Sequence[Score]
) -> None:
    def tree(score: Score) -> list[ScoreNode]:
        return [ScoreNode(id="a", label="A", score=score)]

    by_favour = {None: tree(value), False: tree(against), True: tree(favour)}
    (root,) = at_extremes(by_favour.__getitem__, [tree(score) for score in judges])
    check(root.score)


@repeatable
@given(scores())
def test_what_is_known_to_less_than_half_has_bounds_only(score: Score) -> None:
    found = known_enough(score)
    check(found)
    share = known_share(score)
    assert (found.low, found.high) == (score.low, score.high)
    assert (found.value is None) == (score.value is None or (share is not None and share < 0.5))


@repeatable
@given(lists, st.booleans())
def test_a_mean_with_its_failures_resolved_lies_within_its_bounds(
    parts: Sequence[Score], favour: bool
) -> None:
    whole = mean_of(parts)
    found = mean_of([_resolved(part, favour) for part in parts])
    if found.value is not None and len(parts) > 1:
        assert whole.low is None or whole.low <= found.value + 1e-9
        assert whole.high is None or found.value <= whole.high + 1e-9


def _resolved(score: Score, favour: bool) -> Score:
    end = score.high if favour else score.low
    return score if end is None else exactly(end)
