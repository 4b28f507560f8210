"""Ways to ask that `scripts/bench_people --ways` compares."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from indexes.model import Page
from local_judge.claims.evidence import PageEvidence
from local_judge.runs.execution.verify import ClaimRow, claim_of
from scripts.benchmarking.ways import LABELS, WAYS, Case, first_of, parts_of

pytestmark = pytest.mark.slow

PAGE = Page(
    url="https://mill.example/",
    original_url="https://mill.example/",
    status="ok",
    title="",
    text="The mill was built in 1904. It ground rye.",
)
TEXT = "The mill was built in 1904, and it ground oats until 1950."


@pytest.fixture
def case() -> Case:
    claim = claim_of(ClaimRow(id="1", claim=TEXT, url=PAGE.url))
    return Case(claim, PageEvidence(PAGE, (), whole=True))


def asked(case: Case, way: str) -> list[str]:
    return [prompt.messages()[-1].content for prompt in WAYS[way].prompts(case)]


SHOWN = "Page:\n```\nAddress: https://mill.example/\n\nThe mill was built in 1904. It ground rye.\n```"
CLAIM = f"Claim:\n```\n{TEXT}\n```"


def test_prompts_are_exact(case: Case) -> None:
    support = f"{SHOWN}\n\n{CLAIM}\n\nDoes the text above support this claim? Answer Yes or No."
    assert asked(case, "does the text support the claim") == [support]
    [unchanged] = asked(case, "as scored, without the nearest sentences")
    assert unchanged.startswith(
        f"{SHOWN}\n\n{CLAIM}\n\nIs everything that this claim states in the text above"
    )
    assert asked(case, "mean of these two") == [unchanged, support]
    assert asked(case, "least supported part of the claim") == [
        support.replace(TEXT, part) for part in ("The mill was built in 1904", "it ground oats until 1950.")
    ]
    assert asked(case, "supported, unsupported or unknown") == [f"{SHOWN}\n\n{CLAIM}\n\n{LABELS}"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The mill ground rye.", ["The mill ground rye."]),
        # "and oats" and "in 1904" are shorter than four words, and stay with what is before them.
        ("The mill ground rye and oats, in 1904.", ["The mill ground rye and oats, in 1904."]),
        (
            "Ada built the mill; her son, who sold it in 1950, left.",
            ["Ada built the mill; her son", "sold it in 1950, left."],
        ),
    ],
)
def test_parts_of_a_claim_have_four_words(text: str, parts: Sequence[str]) -> None:
    assert parts_of(text) == parts


def test_log_odds_of_several_answers() -> None:
    # p = 0.5, 0.3, 0.2: ln(0.5 / (0.3 + 0.2)) = 0.
    logs = {name: math.log(p) for name, p in (("Supported", 0.5), ("Unsupported", 0.3), ("Unknown", 0.2))}
    assert first_of(logs) == pytest.approx(0.0)
    # p = 0.9, 0.1: ln 9.
    assert first_of({"Yes": math.log(0.9), "No": math.log(0.1)}) == pytest.approx(math.log(9))


def test_several_answers_are_combined_as_the_way_says() -> None:
    odds = [2.0, -1.0]
    assert WAYS["mean of these two"].combined(odds) == 0.5
    assert WAYS["least supported part of the claim"].combined(odds) == -1.0
