"""Test-retest of judges of which it is known how they waver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from local_judge.lab.qualification.parts.retest import Retest, RetestSettings
from serving.engines.scripted import Call, Reply
from tests.stub_replies import instance

from .conftest import AskPart
from .planted import two_pages
from .readers import fenced, mute

CLAIMS = Retest(RetestSettings(claims=10, reports=0))
SCORES = Retest(RetestSettings(claims=0))


def labels(call: Call, of: Callable[[int, str], str]) -> Reply:
    """A label for each claim of a call, by its number and words."""
    listed = fenced(call.prompt, "Claims:").splitlines()
    return {
        number: {"quote": "", "label": of(int(number), words)}
        for number, _, words in (line.partition(". ") for line in listed)
    }


def test_a_judge_that_reads_the_claims_says_the_same_in_any_order(ask_part: AskPart) -> None:
    def script(call: Call) -> Reply:
        return labels(call, lambda n, text: "supported" if "June" in text else "not_found")

    asked = ask_part(CLAIMS, script, claims=two_pages())
    assert asked.value("retest/agreement/grouped") == 1
    assert asked.value("retest/kappa/grouped") == 1
    assert len(asked.engine.calls) == 2 * 2  # two pages, forwards and backwards


def test_a_judge_that_goes_by_the_number_contradicts_itself(ask_part: AskPart) -> None:
    def script(call: Call) -> Reply:
        return labels(call, lambda n, text: "supported" if n == 1 else "contradicted")

    asked = ask_part(CLAIMS, script, claims=two_pages())
    assert asked.value("retest/agreement/grouped") == 0
    # Each label has half of the answers both times, so that half would agree by chance: (0 - 0.5) / (1 - 0.5).
    assert asked.value("retest/kappa/grouped") == -1


def test_two_draws_of_a_score_are_compared(ask_part: AskPart) -> None:
    def wavers(call: Call) -> Reply:
        assert call.sampling is not None and call.sampling.temperature == 0.7
        base = 4 if "Fernholt" in call.prompt or "Kestrel" in call.prompt else 8
        reply: dict[str, Any] = instance(call.schema or {})
        return {key: {**one, "score": base + call.sampling.seed} for key, one in reply.items()}

    asked = ask_part(SCORES, wavers)
    assert asked.found.notes == ("score: the preset has temperature 0; drawn at temperature 0.7",)
    assert [item.said for item in asked.found.items] == [0.1] * 4
    assert asked.value("retest/difference/score") == 0.1
    # Means 4.5, 4.5, 8.5, 8.5 about 6.5: MSB = 2 * 4 * 2^2 / 3 = 32 / 3; MSW = 4 * 2 * 0.5^2 / 4 = 0.5.
    # ICC(1,1) = (32/3 - 1/2) / (32/3 + 1/2) = 61 / 67.
    icc = asked.value("retest/icc/score")
    assert icc is not None and round(icc, 9) == round(61 / 67, 9)


def test_a_judge_that_answers_nothing_leaves_failures(ask_part: AskPart) -> None:
    asked = ask_part(Retest(RetestSettings(claims=10, reports=2)), mute, claims=two_pages())
    assert [(item.said, item.failure) for item in asked.found.items] == [(None, "refused")] * (4 + 2)
    assert {figure.value for figure in asked.figures.values()} == {None}
    assert set(asked.figures) == {
        "retest/agreement/grouped",
        "retest/kappa/grouped",
        "retest/difference/score",
        "retest/icc/score",
    }
