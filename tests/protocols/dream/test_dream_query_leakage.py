"""Which queries give a claim away, what code makes of a claim, and which claims are chosen."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.claims.model import Claim
from local_judge.documents.model import Span
from local_judge.protocols.dream.claims import most_salient, verifiable
from local_judge.protocols.dream.factuality.query_leakage import given_away, query_without_answer

PUMP = "The lake-water heat pump has a capacity of 6.2 kilowatts and opened in October 2023."


def claim(number: int, text: str = "", kind: str = "F", **more: Any) -> Claim:
    return Claim.model_validate(
        {
            "id": f"L1.S{number}.1",
            "text": text or f"Claim {number}.",
            "sentence": f"L1.S{number}",
            "span": Span(start=0, end=1),
            "type": kind,
            **more,
        }
    )


@pytest.mark.parametrize(
    ("query", "claim", "why"),
    [
        ("lake-water heat pump capacity", PUMP, ()),
        ("heat pump opening date", PUMP, ()),
        ("heat pump 6.2 capacity", PUMP, ("6.2",)),
        ("heat pump 7 kW", PUMP, ("7",)),  # another number is an answer too
        ("heat pump ６.２", PUMP, ("6.2",)),
        ("heat pump opened October", PUMP, ("October",)),
        ("pump has a capacity of", PUMP, ("pump has a", "has a capacity")),
        ("Fernholt bills fell", "The bill fell after the works.", ("fell",)),
        ("Fernholt bills fell", "The bill rose after the works.", ()),
        ("network half loss", "It loses half of the heat.", ("half",)),
        ("may committee decision", "The committee may approve it.", ()),
        ("committee may approve", "The committee may approve it.", ("committee may approve",)),
        ("opening in may", "It opened in May.", ("may",)),
        ("COVID-19 vaccine GPT-4 PM2.5", "COVID-19 spread.", ()),
        ("EUR5 grant Q3", "The grant was 5.", ("5", "3")),
        ("NZD500 bridge", "The bridge cost NZD500 million.", ("500",)),
        ("bridge Year-2020", "The bridge opened in 2020.", ("Year-2020",)),
        ("bridge opening Nov-2020", "The bridge opened in 2020.", ("2020",)),
        ("COVID-19 deaths", "COVID-19 killed 19 people.", ()),  # the claim's own name
        ("council twelve members", "The council has 12 members.", ("twelve",)),
        ("two towers council", "The council met.", ()),  # no figure that it could spell
        ("市议会十二人", "市议会有12人。", ("十二",)),
        ("bridge opening Nov", "The bridge opened in November.", ("Nov",)),
        ("Fernholt bills declined", "The bill fell after the works.", ("declined",)),
        ("जलवायु परिवर्तन समझौता", "जलवायु परिवर्तन समझौता पेरिस में हुआ।", ()),  # vowel signs end no word
        (
            "World Health Organization of the United Nations",
            "The World Health Organization of the United Nations met.",
            (),
        ),
        (
            "council set the budget of the retrofit",
            "The council set the budget of the retrofit late.",
            ("council set the budget of the", "set the budget of the retrofit"),
        ),
        ("heat pump kilowatts", PUMP, ("kilowatts",)),
        ("capital of France Paris", "Paris is the capital of France.", ("capital of France Paris",)),
        ("capital France", "Paris is the capital of France.", ()),
        ("公司 营业收入", "公司营业收入增长了百分之十二。", ()),
        ("营业收入增长", "公司营业收入增长了百分之十二。", ("增长",)),
        (
            "该公司的营业收入合计情况说明",
            "该公司的营业收入合计情况不明。",
            ("该公司的营业收入",),
        ),
    ],
)
def test_what_a_query_gives_away(query: str, claim: str, why: tuple[str, ...]) -> None:
    found = given_away(query, claim)
    assert found[: len(why)] == why and bool(found) == bool(why)


@pytest.mark.parametrize(
    ("claim", "query"),
    [
        (PUMP, "lake water heat pump capacity opened"),
        ("COVID-19 vaccines reduced deaths by 90% in 2021.", "COVID-19 vaccines reduced deaths"),
        ("Paris is the capital of France.", "Paris capital"),
        ("Sales fell in March 2023.", None),  # one word is no query
        ("The bridge cost NZD500 million.", "bridge cost"),
        ("जलवायु परिवर्तन समझौता 2015 में हुआ।", "जलवायु परिवर्तन समझौता में हुआ"),
        ("该公司2023年营业收入增长了百分之十二。", "该公司 年营业收入"),
    ],
)
def test_a_query_made_by_code_gives_nothing_away(claim: str, query: str | None) -> None:
    assert query_without_answer(claim) == query
    assert query is None or given_away(query, claim) == ()


def test_equal_claims_and_those_that_nobody_can_verify_are_left_out() -> None:
    claims = [
        claim(1, "It opened.", salient=False),
        claim(2, "To sum up.", "D"),
        claim(3, "It is good.", "E"),
        claim(4, "It will be loved.", checkable=False),
        claim(5, " it opened", salient=True),
        claim(6, "It grew.", "A", salient=None),
    ]
    found = verifiable(claims)
    assert [(one.id, one.salient) for one in found] == [("L1.S1.1", True), ("L1.S6.1", None)]


def test_the_salient_come_first_and_equals_are_spread_over_the_report() -> None:
    claims = [claim(number, salient=number in (9, 10)) for number in range(1, 11)]

    def chosen(n: int) -> list[int]:
        return [int(one.id[4:].partition(".")[0]) for one in most_salient(claims, n)]

    assert chosen(2) == [9, 10]
    # Of the eight others at even distances: 8 * 1/4 = place 2 and 8 * 3/4 = place 6, the third and the seventh.
    assert chosen(4) == [3, 7, 9, 10]
    assert chosen(1) == [10]
    assert chosen(30) == list(range(1, 11))
    unasked = [claim(number, salient=None) for number in range(1, 7)]
    assert [one.id for one in most_salient(unasked, 3)] == ["L1.S2.1", "L1.S4.1", "L1.S6.1"]


@pytest.mark.parametrize("query", ["No", "the first of all", "?!", ""])
def test_a_query_that_could_find_no_page_is_refused(query: str) -> None:
    assert given_away(query, "The mill ground barley.") == (query,)
