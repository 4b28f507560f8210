"""What is shown of FACT's findings about one report."""

from __future__ import annotations

from local_judge.claims.model import Quote
from local_judge.protocols.fact.findings import Judged, Pair
from local_judge.protocols.fact.protocol import Fact, fact_line

from ..protocols.fact.fact_cases import findings


def test_outcomes_are_counted_in_one_line() -> None:
    assert fact_line(findings("sud")) == (
        "fact: 3 pairs from the claim set (1 supported, 1 unknown, 1 unsupported)"
    )
    more = findings("s").model_copy(update={"n_unresolved": 2})
    assert fact_line(more) == "fact: 1 pair from the claim set (1 supported); 2 citations without an address"


def test_each_pair_is_an_item_with_its_page_its_outcome_and_the_reason() -> None:
    quoted = Pair(
        statement="It cost [b]3[/b] million.",
        url="https://heat.example/",
        outcome="supported",
        sentence="L2.S1",
        judged=Judged(
            label="supported",
            quote=Quote(text="3 million", start=5, end=14),
            rationale="The page says so.",
        ),
    )
    shared = Pair(statement="It rose.", url="https://h.example/", outcome="unsupported", claim="L2.S2.1")
    found = findings("df").model_copy(update={"pairs": (quoted, *findings("df").pairs, shared)})
    # A pair of the claim set is named by its claim, and one of FACT's own flow by its sentence.
    assert [(row.item, row.url, row.value, row.rationale) for row in Fact().items(found)] == [
        ("L2.S1", "https://heat.example/", "supported", "The page says so."),
        ("", "https://1.example/", "unknown: dead", ""),
        ("", "https://2.example/", "unknown: judge_failed", ""),
        ("L2.S2.1", "https://h.example/", "unsupported", ""),
    ]
