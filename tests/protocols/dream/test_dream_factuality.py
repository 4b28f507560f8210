"""Factuality: queries, searches, labels, and known values of the formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from indexes.snapshot import Snapshot
from local_judge.agents.observations import PagePassage
from local_judge.agents.toolbox import ToolSettings
from local_judge.base.errors import ConfigError
from local_judge.claims.model import Claim, ClaimSet, ExtractionFailure, Quote
from local_judge.documents.model import Span
from local_judge.protocols.dream import Dream, DreamFindings
from local_judge.protocols.dream.factuality.findings import (
    CheckedFact,
    Evidence,
    FactLabel,
    FactualityFindings,
    FactualitySettings,
    RefusedQuery,
    SearchQuery,
)
from local_judge.protocols.dream.factuality.metric import Factuality
from local_judge.protocols.dream.factuality.salience import choose
from local_judge.protocols.dream.factuality.searching import grouped
from local_judge.scoring.node import ScoreNode
from local_judge.tasks.model import Task
from serving.engines.scripted import Call, Reply

from ...scripted_judge import MakeJudge
from .dream_cases import FAILURE, TASK, TODAY, case, context

BUDGET = "The council set the budget of the retrofit at 23.6 million crowns."
PUMP = "A heat pump with a capacity of 6.2 kilowatts supplies most of the heat."
WORDS: dict[str, FactLabel] = {
    "s": "supported",
    "p": "partially",
    "c": "contradicted",
    "u": "unverifiable",
}
QUERIES = """Task: for each of the claims at the end write 2 search queries that lead to pages by which one can tell \
whether the claim is right. Whoever reads a query must not see from it what the claim says: it asks, and does not \
answer.

A query names the subject and what is asked of it, in two to eight words, in the language of the claim. It holds no \
number, amount, date or year, no result and no direction (such as more, fell, first, never), and no stretch of the \
claim's own wording. The queries of a claim differ: in their words, or in whom they would reach.

For the claim "The Aldo bridge cost 12 million and opened two years late" good queries are "Aldo bridge construction \
cost" and "Aldo bridge opening delay"; "Aldo bridge 12 million" and "Aldo bridge opened late" give the answer away.

Under a claim there may stand queries that were refused, with the words that they gave away: write others, without \
them.

Answer with one JSON object. Its keys are the numbers of the claims, each exactly once, in order; under each key \
stands an object with the one key "queries", a list of strings.

Today is 2025-09-30.

Claims:
```
1. The council set the budget of the retrofit at 23.6 million crowns.
2. A heat pump with a capacity of 6.2 kilowatts supplies most of the heat.
```

Write the queries for these 2 claims."""
SALIENCE = """Task: choose the claims that matter most for the request. The claims at the end are those of a report, \
in its order. Today is 2025-09-30.

A claim matters if the answer to the request would change were the claim wrong. Background, claims that repeat a \
chosen one, and claims about something that was not asked matter least. Resolve words such as "current" or "this year" \
by today's date, unless the claim names another day.

Answer with one JSON object with the key "claims": the numbers of the chosen claims, each once, the most important \
first.

Request:
```
What did the mill cost, and who paid?
```

Claims:
```
1. One.
2. Two.
3. Three.
4. Four.
```

Choose 3 of these 4 claims."""
VERDICT = """Task: decide for each of the claims at the end whether it is right, by the passages above alone and not \
by what you know. Today is 2025-09-30. The passages were found by searching; many may have nothing to do with a claim. \
Newer and more official pages weigh more where two disagree.

Look first for what speaks for a claim, then, as hard, for what speaks against it. For each claim give:
"supporting": the words of the passages that speak for it, copied exactly, at most two quotations of at most two \
sentences; an empty list if there are none.
"opposing": the words of the passages that speak against it, in the same way.
"rationale": one or two sentences: what is borne out and what is not; compare every number, date, name, unit and \
direction.
"label": one of
  supported: the passages bear out all of it;
  partially: they bear out a part, or all but a detail; the rest is open or slightly wrong;
  contradicted: they say what cannot be true together with the main point of the claim;
  unverifiable: they do not settle it.

Answer with one JSON object. Its keys are the numbers of the claims, each exactly once, in order.

Claims:
```
1. The council set the budget of the retrofit at 23.6 million crowns.
```

Decide these 1 claims."""


def score_factuality(judges: Sequence[FactualityFindings]) -> ScoreNode:
    return Factuality().score(judges, "paper")


LABELS = tuple(sentence.label for sentence in case().report.sentences)


def claims(*texts: str, lost: int = 0) -> ClaimSet:
    made = tuple(
        Claim(
            id=f"L{number}.S1.1",
            text=text,
            sentence=f"L{number}.S1",
            span=Span(start=0, end=1),
            type="F",
            checkable=True,
            salient=True,
        )
        for number, text in enumerate(texts, 1)
    )
    failures = (ExtractionFailure(sentences=LABELS[len(LABELS) - lost :], failure=FAILURE, most=8),)
    return ClaimSet(
        document="d",
        n_sentences=len(texts) + lost,
        claims=made,
        sources=(),
        verdicts=(),
        extraction_failures=failures if lost else (),
    )


class Script:
    """A judge with queries and findings by words of the claims."""

    def __init__(
        self, queries: dict[str, Sequence[Sequence[str]]], findings: dict[str, dict[str, Any]]
    ) -> None:
        self.queries = {word: list(rounds) for word, rounds in queries.items()}
        self.findings = findings

    def __call__(self, call: Call) -> Reply:
        listed = dict(re.findall(r"^(\d+)\. (.+)$", call.prompt.rpartition("Claims:")[2], re.MULTILINE))
        if "search queries" in call.prompt:
            return {number: {"queries": list(self._next(text))} for number, text in listed.items()}
        return {number: self._finding(text) for number, text in listed.items()}

    def _next(self, text: str) -> Sequence[str]:
        rounds = next(rounds for word, rounds in self.queries.items() if word in text)
        return rounds.pop(0) if len(rounds) > 1 else rounds[0]

    def _finding(self, text: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "supporting": [],
            "opposing": [],
            "rationale": "So.",
            "label": "unverifiable",
        }
        for word, finding in self.findings.items():
            if word in text:
                found |= finding
        return found


def script(**more: dict[str, Any]) -> Script:
    """The budget is contradicted, the pump partly borne out."""
    findings: dict[str, dict[str, Any]] = {
        "budget": {
            "opposing": ["The council set the budget of the retrofit at 32.6 million crowns."],
            "label": "contradicted",
        },
        "pump": {"supporting": ["supplies most of the heat that the network carries"], "label": "partially"},
    }
    return Script(
        {"budget": [["Fernholt retrofit budget"]], "pump": [["Fernholt heat pump capacity"]]},
        {word: finding | more.get(word, {}) for word, finding in findings.items()},
    )


def findings(letters: str, n_wanted: int = 30, n_lost: int = 0) -> FactualityFindings:
    """Claims by their labels; f failed."""
    return FactualityFindings(
        method="batched",
        n_wanted=n_wanted,
        n_verifiable=len(letters),
        n_lost=n_lost,
        facts=tuple(
            CheckedFact(
                id=f"L{n}.S1.1",
                text=f"Claim {n}.",
                salient=True,
                label=WORDS.get(letter),
                failure=FAILURE if letter == "f" else None,
            )
            for n, letter in enumerate(letters, 1)
        ),
    )


async def test_from_claims_to_labels(make_judge: MakeJudge, snapshot: Snapshot) -> None:
    judge, engine = make_judge(script())
    found = await Factuality(FactualitySettings(claims_per_call=1)).examine(
        case(), context(judge, claims(BUDGET, PUMP), snapshot)
    )
    asked, *judged = engine.calls
    assert asked.messages[1].content == QUERIES
    assert len(judged) == 2
    of_budget = next(call.messages[1].content for call in judged if "23.6" in call.messages[1].content)
    passages, _, own = of_budget.partition("\n\nTask:")
    assert "Task:" + own == VERDICT
    assert passages.startswith(
        "Passage 1:\n```\naddress: https://council.example/minutes/2021-03-18\ntitle: "
    )
    budget, pump = found.facts
    assert (budget.label, pump.label) == ("contradicted", "partially")
    assert [query.text for query in budget.queries] == ["Fernholt retrofit budget"]
    [evidence] = budget.opposing
    page = snapshot.page(evidence.url)
    assert page.text[evidence.quote.start : evidence.quote.end] == evidence.quote.text
    assert "32.6 million" in evidence.quote.text and evidence.text_digest == page.text_digest
    assert budget.supporting == () and len(budget.replies) == 2
    assert all(page.url in {one.url for one in budget.passages} for page in [page])
    # F = (0 + .5) / 2; both were decided.
    root = score_factuality([found])
    assert (root.score.value, root.find("decided").score.value) == (25, 100)
    assert FactualityFindings.model_validate_json(found.model_dump_json()) == found


FOUR = claims("One.", "Two.", "Three.", "Four.").claims


async def test_the_claims_are_chosen_by_the_request_and_the_day(make_judge: MakeJudge) -> None:
    # The third is named twice: one more is asked for, of those that are left.
    replies = [{"claims": [3, 1, 3]}, {"claims": [2]}]

    def answer(_: Call) -> Reply:
        return replies.pop(0)

    judge, engine = make_judge(answer)
    found = await choose(FOUR, 3, case().task, judge, TODAY)
    assert [claim.text for claim in found.claims] == ["One.", "Three.", "Four."]
    assert (found.missing, found.failure, len(found.replies)) == ((), None, 2)
    first, second = (call.messages[1].content for call in engine.calls)
    assert first == SALIENCE
    assert second.endswith("1. Two.\n2. Four.\n```\n\nChoose 1 of these 2 claims.")


@pytest.mark.parametrize(("n", "task"), [(4, TASK), (30, TASK), (3, None)])
async def test_nothing_is_asked_where_there_is_no_choice_or_no_request(
    make_judge: MakeJudge, n: int, task: Task | None
) -> None:
    judge, engine = make_judge()
    found = await choose(FOUR, n, task, judge, TODAY)
    assert (len(found.claims), engine.calls) == (min(n, 4), [])


def wanted(call: Call) -> int:
    return int(call.prompt.rpartition("Choose ")[2].split()[0])


@pytest.mark.parametrize(
    ("numbers", "n_missing", "kind"),
    [
        # Three rounds with one more claim each, of four that are wanted.
        ([1] * 9, 1, "incomplete"),
        ([6] * 9, 4, "invalid_reply"),  # there are five
        ([1], 4, "invalid_reply"),
    ],
)
async def test_claims_that_a_judge_does_not_choose_are_failures(
    make_judge: MakeJudge, snapshot: Snapshot, numbers: list[int], n_missing: int, kind: str
) -> None:
    def answer(call: Call) -> Reply:
        if "Choose" in call.prompt:
            return {"claims": numbers[: wanted(call)]}
        listed = re.findall(r"^(\d+)\. ", call.prompt.rpartition("Claims:")[2], re.MULTILINE)
        return {number: {"queries": ["Grimsel dam"]} for number in listed}

    judge, _ = make_judge(answer)
    told = claims("One.", "Two.", "Three.", "Four.", "Five.")
    metric = Factuality(FactualitySettings(n_claims=4))
    found = await metric.examine(case(), context(judge, told, snapshot))
    assert [fact.id for fact in found.facts] == sorted(fact.id for fact in found.facts)
    missing = [fact for fact in found.facts if fact.failure is not None]
    assert (len(found.facts), len(missing)) == (4, n_missing)
    assert {fact.failure.kind for fact in missing if fact.failure} == {kind}
    assert (found.n_failed, score_factuality([found]).score.n_failed) == (n_missing, n_missing)


async def test_a_list_of_claims_without_room_is_divided(make_judge: MakeJudge) -> None:
    many = claims(*(f"Claim {number} is {'long ' * 20}." for number in range(40))).claims

    def answer(call: Call) -> Reply:
        return {"claims": list(range(1, 1 + wanted(call)))}

    judge, engine = make_judge(answer, context_tokens=900)
    found = await choose(many, 10, TASK, judge, TODAY)
    assert len(engine.calls) > 1 and (len(found.claims), found.missing) == (10, ())


async def test_claims_that_share_pages_are_judged_in_one_call(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    judge, engine = make_judge(script())
    found = await Factuality().examine(case(), context(judge, claims(BUDGET, PUMP), snapshot))
    assert [fact.label for fact in found.facts] == ["contradicted", "partially"]
    assert len(engine.calls) == 2  # queries, and one for both
    again, idle = make_judge(script(), ledger="ledger0.sqlite")
    assert await Factuality().examine(case(), context(again, claims(BUDGET, PUMP), snapshot)) == found
    assert not idle.calls


async def test_a_call_without_room_for_its_reply_is_halved(make_judge: MakeJudge, snapshot: Snapshot) -> None:
    # The prompt has 1,542 tokens with both claims, whose replies need 400; with one 1,523, and 200.
    told = claims(BUDGET, PUMP)
    sizes: list[int] = []
    for window in (32_768, 1_800):
        judge, engine = make_judge(script(), context_tokens=window)
        found = await Factuality().examine(case(), context(judge, told, snapshot))
        sizes.append(len(engine.calls))
        assert [fact.label for fact in found.facts] == ["contradicted", "partially"]
    assert sizes == [2, 3]


async def test_a_query_that_gives_the_claim_away_is_asked_for_again(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    told = script()
    told.queries["budget"] = [
        ["retrofit 23.6 million crowns", "council set the budget of the retrofit"],
        ["council retrofit budget", "budget 32.6"],
    ]
    judge, engine = make_judge(told)
    found = await Factuality().examine(case(), context(judge, claims(BUDGET, PUMP), snapshot))
    first, second, *_ = engine.calls
    assert "search queries" in second.prompt and PUMP not in second.prompt
    assert (
        "1. The council set the budget of the retrofit at 23.6 million crowns.\n"
        "   refused: retrofit 23.6 million crowns (holds: 23.6, million)\n"
        "   refused: council set the budget of the retrofit (holds: council set the budget of the, "
        "set the budget of the retrofit)\n"
    ) in second.prompt
    assert "refused" not in first.prompt.rpartition("Claims:")[2]
    budget = found.facts[0]
    assert [(query.text, query.by) for query in budget.queries] == [("council retrofit budget", "judge")]
    assert [query.text for query in budget.refused] == [
        "retrofit 23.6 million crowns",
        "council set the budget of the retrofit",
        "budget 32.6",
    ]
    assert len(budget.replies) == 3


async def test_where_each_query_gives_something_away_code_makes_one(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    told = script()
    told.queries["budget"] = [["budget of 23.6 million"]]
    judge, engine = make_judge(told)
    settings = FactualitySettings(rounds=1)
    found = await Factuality(settings).examine(case(), context(judge, claims(BUDGET), snapshot))
    assert sum("search queries" in call.prompt for call in engine.calls) == 2
    [query] = found.facts[0].queries
    assert (query.by, query.text) == ("code", "council set budget retrofit crowns")
    assert "queries made by code: 1" in score_factuality([found]).score.note
    # Of a claim of which nothing is left, there is no query, and so no label.
    none = "Sales fell in March 2023."
    told.queries["Sales"] = [["Sales fell"]]
    found = await Factuality(settings).examine(case(), context(judge, claims(none), snapshot))
    assert found.facts[0].failure is not None and found.facts[0].failure.kind == "incomplete"
    assert found.n_failed == 1


async def test_a_label_without_quotation_is_asked_for_again_and_then_a_failure(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    told = script(budget={"opposing": ["The budget was ninety crowns."]}, pump={"label": "supported"})
    judge, engine = make_judge(told)
    found = await Factuality().examine(case(), context(judge, claims(BUDGET, PUMP), snapshot))
    budget, pump = found.facts
    assert (budget.label, pump.label) == (None, "supported")
    assert budget.failure is not None and budget.failure.kind == "invalid_reply"
    assert budget.rejected == ("The budget was ninety crowns.",) and budget.opposing == ()
    assert len(engine.calls) == 3 and PUMP not in engine.calls[2].prompt
    assert len(budget.replies) == 3
    score = score_factuality([found]).score
    assert (score.value, score.low, score.high, score.n_failed) == (100, 50, 100, 1)
    assert score.note == "1 of 2 decided; claims without a label: 1; quotations that occur in no passage: 1"
    optional = FactualitySettings(quotations="optional")
    found = await Factuality(optional).examine(case(), context(judge, claims(BUDGET, PUMP), snapshot))
    assert [fact.label for fact in found.facts] == ["contradicted", "supported"]


async def test_a_quotation_that_was_rejected_stays_so_when_the_claim_is_asked_for_again(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    told = script(budget={"opposing": ["The budget was ninety crowns."]})

    def answer(call: Call) -> Reply:
        if call.prompt.count("Decide these 1 claims") and len(engine.calls) > 2:
            return script()(call)
        return told(call)

    judge, engine = make_judge(answer)
    found = await Factuality().examine(case(), context(judge, claims(BUDGET), snapshot))
    [budget] = found.facts
    assert (budget.label, len(budget.opposing), len(engine.calls)) == ("contradicted", 1, 3)
    assert budget.rejected == ("The budget was ninety crowns.",)
    assert "in no passage: 1" in score_factuality([found]).score.note


async def test_a_quotation_on_the_wrong_side_is_none_for_the_label(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    words = ["The council set the budget of the retrofit at 32.6 million crowns."]
    judge, _ = make_judge(script(budget={"opposing": [], "supporting": words}))
    found = await Factuality().examine(case(), context(judge, claims(BUDGET), snapshot))
    assert found.facts[0].label is None


async def test_what_the_search_does_not_find_is_unverifiable_and_a_gap(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    told = script()
    told.queries["zeppelin"] = [["zeppelin hangar insurance"]]
    judge, engine = make_judge(told)
    lonely = "The zeppelin was insured for 3 crowns."
    found = await Factuality().examine(case(), context(judge, claims(lonely), snapshot))
    [fact] = found.facts
    assert (fact.label, fact.by, fact.passages) == ("unverifiable", "code", ())
    assert len(engine.calls) == 1
    [gap] = Dream().evidence_gaps(DreamFindings(case="a", document="d", factuality=found))
    assert (gap.query, gap.why, gap.tool) == ("zeppelin hangar insurance", "nothing_found", "search")
    score = score_factuality([found])
    assert (score.score.value, score.score.n_undefined, score.find("decided").score.value) == (None, 1, 0)


async def test_it_needs_a_snapshot(make_judge: MakeJudge) -> None:
    judge, _ = make_judge()
    with pytest.raises(ConfigError, match="needs a snapshot; give --snapshot"):
        await Factuality().examine(case(), context(judge, claims(BUDGET)))
    assert Dream().needs_snapshot and Dream().needs_claims


async def test_by_an_agent_whose_searches_give_nothing_away(
    make_judge: MakeJudge, snapshot: Snapshot
) -> None:
    url = "https://council.example/minutes/2021-03-18"
    quote = "The council set the budget of the retrofit at 32.6 million crowns."
    answer = {
        "supporting": [],
        "opposing": [{"url": url, "quote": quote}, {"url": url, "quote": "It was free."}],
        "rationale": "Another sum.",
        "label": "contradicted",
    }
    actions = [
        {"tool": "search", "queries": ["retrofit budget 23.6 million"], "k": 3},
        {"tool": "search", "queries": ["retrofit council budget"], "k": 3},
        {"tool": "finish", "answer": answer},
    ]
    judge, engine = make_judge([{"thought": "So.", "action": action} for action in actions])
    settings = FactualitySettings(method="agent", tools=ToolSettings(tools=("search", "open")))
    found = await Factuality(settings).examine(case(), context(judge, claims(BUDGET), snapshot))
    [fact] = found.facts
    assert fact.run is not None and (fact.run.spent.turns, fact.run.spent.errors) == (3, 1)
    assert "gives away a number" in engine.calls[1].prompt
    assert (fact.label, [one.quote.text for one in fact.opposing], fact.rejected) == (
        "contradicted",
        [quote.rstrip(".")],
        ("It was free.",),
    )
    assert len(fact.replies) == 3 and url in {one.url for one in fact.passages}
    assert FactualityFindings.model_validate_json(found.model_dump_json()) == found


async def test_an_agent_without_answer_is_a_failure(make_judge: MakeJudge, snapshot: Snapshot) -> None:
    def nonsense(call: Call) -> Reply:
        return "no JSON"

    judge, _ = make_judge(nonsense)
    found = await Factuality(FactualitySettings(method="agent")).examine(
        case(), context(judge, claims(BUDGET), snapshot)
    )
    assert found.facts[0].label is None and found.facts[0].failure is not None and found.n_failed == 1


def test_items_list_queries_and_evidence_on_both_sides() -> None:
    def located(words: str, **place: Any) -> Evidence:
        quote = Quote(text=words, start=3, end=9, **place)
        return Evidence(url="https://a.example/", text_digest="d", quote=quote)

    whole = CheckedFact(
        id="L1.S1.1",
        text=BUDGET,
        salient=True,
        queries=(SearchQuery(text="retrofit budget"), SearchQuery(text="council", by="code")),
        refused=(
            RefusedQuery(text="23.6 million", why=("23.6", "million")),
            RefusedQuery(text="b", why=(*"abcde",)),
        ),
        label="contradicted",
        supporting=(located("The budget", in_title=True),),
        opposing=(located("32.6 million"),),
        rejected=("It was free.",),
        rationale="Another sum.",
    )
    bare = CheckedFact(id="L1.S2.1", text=PUMP, salient=False, failure=FAILURE)
    found = findings("").model_copy(update={"facts": (whole, bare)})
    rows = list(Factuality().items(found))
    assert [(row.item, row.text, row.value, row.failure) for row in rows] == [
        ("L1.S1.1", BUDGET, "contradicted", None),
        ("L1.S2.1", PUMP, None, FAILURE),
    ]
    assert rows[0].details == (
        "retrofit budget",
        "council (code)",
        "refused: 23.6 million (23.6, million)",
        "refused: b (a, b, c, and 2 more)",
        'for: "The budget" (https://a.example/, title 3-9)',
        'against: "32.6 million" (https://a.example/, 3-9)',
    )
    assert (rows[0].quote_rejected, rows[0].rationale) == ("It was free.", "Another sum.")


def shown(page: str, start: int, characters: int = 350) -> PagePassage:
    return PagePassage(
        url=f"https://{page}.example/",
        title="",
        published=None,
        text_digest=page,
        start=start,
        end=start + characters,
        chunks=(),
        text="x" * characters,
    )


def test_claims_join_where_they_share_pages_and_there_is_room() -> None:
    """A passage of 350 characters has 100 tokens, its address 5 or 6, and what is around it 20: 126."""
    a, b, c = shown("a", 0), shown("b", 0), shown("c", 0)
    found = [[a, b], [], [b, c], [c], [a, b]]
    wide = grouped(found, FactualitySettings(evidence_tokens=400, claims_per_call=2))
    # The third has one of its two pages in the first group; the fourth finds that full, the fifth the fourth's foreign.
    assert [group.claims for group in wide] == [(0, 2), (3,), (4,)]
    assert wide[0].passages == (a, b, c)
    narrow = grouped(found, FactualitySettings(evidence_tokens=300, claims_per_call=4))
    assert [group.claims for group in narrow] == [(0, 4), (2, 3)]


def test_known_values() -> None:
    """12 s, 4 p, 4 c, 10 u: F = (12 + 2) / 20 = .7, decided 20 of 30."""
    root = score_factuality([findings("s" * 12 + "p" * 4 + "c" * 4 + "u" * 10)])
    assert (root.score.value, root.score.numerator, root.score.denominator) == (70, 14, 20)
    assert root.find("decided").score.value == pytest.approx(200 / 3)
    assert (root.score.low, root.score.high, root.score.n_failed) == (70, 70, 0)
    counts = {name: root.find(name).score.value for name in WORDS.values()}
    assert counts == {"supported": 12, "partially": 4, "contradicted": 4, "unverifiable": 10}


def test_one_truth_and_nothing_else_is_a_hundred_and_the_share_says_so() -> None:
    root = score_factuality([findings("s" + "u" * 29)])
    assert (root.score.value, root.find("decided").score.value) == (100, pytest.approx(100 / 30))


@pytest.mark.parametrize(
    ("letters", "note"), [("uuu", "0/0: no claim was decided"), ("", "no claim that can be")]
)
def test_what_is_undefined_is_null_and_counted(letters: str, note: str) -> None:
    score = score_factuality([findings(letters)]).score
    assert (score.value, score.n_undefined, score.n_failed, score.low) == (None, 1, 0, None)
    assert note in score.note


def test_what_failed_opens_the_bounds() -> None:
    """s and c: .5; with two more .25 to .75. Decided 2 of 3 labels, between 2/5 and 4/5."""
    root = score_factuality([findings("scuff")])
    assert (root.score.value, root.score.low, root.score.high, root.score.n_failed) == (50, 25, 75, 2)
    share = root.find("decided").score
    assert (share.value, share.low, share.high) == (pytest.approx(200 / 3), 40, 80)
    score = score_factuality([findings("ff")]).score
    assert (score.value, score.low, score.high) == (None, 0, 100)


@pytest.mark.parametrize(
    ("letters", "n_wanted", "n_verifiable", "most", "low", "high"),
    [
        # Two claims more than s and c may be checked: 1/4 to 3/4.
        ("sc", 30, 2, 2, 25, 75),
        # One may be checked too, and another may replace s: 0/3, or c: 3/3.
        ("sc", 3, 2, 2, 0, 100),
        # As many as are wanted: two others may replace both s of three, or the c.
        ("ssc", 3, 3, 2, 0, 100),
        ("sssc", 4, 4, 1, 50, 100),
        # More claims than are wanted: others of them might be chosen in place of any.
        ("ssss", 4, 9, 1, 0, 100),
        ("ssss", 4, 9, 0, 100, 100),
    ],
)
def test_claims_that_were_not_read_might_be_checked(
    letters: str, n_wanted: int, n_verifiable: int, most: int, low: float, high: float
) -> None:
    found = findings(letters, n_wanted=n_wanted, n_lost=1).model_copy(
        update={"n_verifiable": n_verifiable, "most_lost": most, "known": 0.75 if most else 1.0}
    )
    score = score_factuality([found]).score
    assert (score.low, score.high, score.known) == (low, high, 0.75 if most else None)
    assert "so that others might have been chosen: 1" in score.note


def test_two_judges_labels_are_counted_together() -> None:
    """s p u and s c c: (2 + .5) / 5, which is no mean of 75 and 100/3."""
    root = score_factuality([findings("spu"), findings("scc")])
    assert root.score.value == pytest.approx(50)
    assert root.find("contradicted").score.value == 1
    assert [row.value for row in Factuality().decisions(findings("sf"))] == ["supported", None]


@pytest.mark.parametrize("false", [0, 5, 15])
def test_false_claims_lower_it_by_their_share(false: int) -> None:
    """The paper's self-test: of 15 claims a share r is replaced by false ones: 1 - r."""
    score = score_factuality([findings("c" * false + "s" * (15 - false))]).score
    assert score.value == pytest.approx(100 * (1 - false / 15))
