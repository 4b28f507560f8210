"""FACT's pairs from a claim set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from local_judge.base.failures import Failure
from local_judge.claims.model import Claim, ClaimSet, ExtractionFailure, Label, Source, Verdict
from local_judge.documents import parse_report
from local_judge.protocols.base import load_protocol
from local_judge.protocols.fact.findings import Outcome
from local_judge.protocols.fact.pairs import Pairs, count_unresolved, distinct, pairs_of

from .fact_cases import findings

A, B = "https://a.example/1", "https://b.example/2"
DOCUMENT = parse_report(
    "# Mill\n\nIt opened in 1974 [1]. It ground rye [1][2]. It closed in 1990 [1]. It is dear [2][9].\n\n"
    f"## References\n\n[1] {A}\n[2] {B}\n"
)
LATE = Failure(kind="timeout", detail="no answer")


def claim(sentence: int, text: str, number: int = 1, **fields: Any) -> Claim:
    found = DOCUMENT.sentences[sentence - 1]
    given: dict[str, Any] = {"type": "A", "citations": found.citations, **fields}
    return Claim(id=f"{found.label}.{number}", text=text, sentence=found.label, span=found.span, **given)


def verdict(one: Claim, url: str, label: Label | None) -> Verdict:
    failure = None if label else LATE
    return Verdict(claim=one.id, url=url, label=label, failure=failure, method="grouped", replies=("k",))


def claim_set(
    claims: Sequence[Claim],
    verdicts: Sequence[Verdict],
    sources: Sequence[Source] = (),
    lost: Sequence[str] = (),
) -> ClaimSet:
    return ClaimSet(
        document=DOCUMENT.id,
        n_sentences=4,
        claims=tuple(claims),
        sources=tuple(sources),
        verdicts=tuple(verdicts),
        extraction_failures=(ExtractionFailure(sentences=tuple(lost), failure=LATE, most=8),) if lost else (),
    )


def pairs_in(claims: ClaimSet, recovered: bool = False) -> Pairs:
    """The pairs of a claim set without a judge to say what repeats what."""
    return distinct(pairs_of(claims, DOCUMENT, recovered))


@pytest.mark.parametrize(
    ("label", "outcome"),
    [
        ("supported", "supported"),
        ("partial", "supported"),  # "entirely or partially", as FACT's judge is told
        ("contradicted", "unsupported"),
        ("not_found", "unsupported"),
        ("off_topic", "unsupported"),
    ],
)
def test_labels(label: Label, outcome: Outcome) -> None:
    one = claim(1, "It opened in 1974.")
    judged = verdict(one, A, label).model_copy(update={"confidence": 0.4, "threshold": 0.3})
    [pair] = pairs_in(claim_set([one], [judged])).pairs
    assert (pair.outcome, pair.reason, pair.sentence, pair.key) == (outcome, None, "L2.S1", "1")
    # The verdict itself stands in the claim set; what judges vote with is here.
    assert (pair.claim, pair.url, pair.judged) == (one.id, judged.url, None)
    assert (pair.confidence, pair.threshold) == (0.4, 0.3)


def test_an_unusable_page_is_unknown() -> None:
    one = claim(1, "It opened in 1974.")
    [pair] = pairs_in(claim_set([one], [verdict(one, A, "unusable")])).pairs
    assert (pair.outcome, pair.reason, pair.failed) == ("unknown", "judged_unknown", True)


def test_reasons_of_the_unknown() -> None:
    both, gone = claim(2, "It ground rye."), claim(4, "It is dear.")
    sources = [
        Source(url=A, status="ok", claims=(both.id,)),
        Source(url=B, status="blocked", claims=(both.id, gone.id)),
    ]
    found = pairs_in(claim_set([both, gone], [verdict(both, A, None)], sources)).pairs
    assert [(pair.url, pair.reason, pair.failure) for pair in found] == [
        (A, "judge_failed", LATE),
        (B, "blocked", None),
        (B, "blocked", None),
    ]
    # [9] leads nowhere: no pair, but counted.
    assert count_unresolved(DOCUMENT) == 1


def test_a_verdict_that_is_missing_is_a_failure() -> None:
    [pair] = pairs_in(claim_set([claim(1, "It opened.")], [])).pairs
    assert (pair.outcome, pair.reason) == ("unknown", "judge_failed")


def test_sentences_that_were_not_read_keep_their_citations() -> None:
    last = claim(4, "It is dear.")
    found = pairs_in(claim_set([last], [verdict(last, B, "supported")], lost=["L2.S2", "L2.S3"])).pairs
    assert [(pair.sentence, pair.url, pair.reason) for pair in found] == [
        ("L2.S2", A, "not_extracted"),
        ("L2.S2", B, "not_extracted"),
        ("L2.S3", A, "not_extracted"),
        ("L2.S4", B, None),
    ]
    assert found[0].statement == DOCUMENT.sentences[1].text
    assert found[0].failure == LATE


def test_a_statement_counts_once_for_a_url() -> None:
    first, other = claim(1, "It opened in 1974."), claim(3, "It closed.")
    again = claim(3, "it  opened in 1974.", number=2)
    verdicts = [verdict(first, A, "supported"), verdict(other, A, "not_found"), verdict(again, A, None)]
    found = pairs_in(claim_set([first, other, again], verdicts))
    # The first stays, whatever the others' verdicts are.
    assert [(pair.statement, pair.sentence, pair.outcome, pair.claim) for pair in found.pairs] == [
        ("It opened in 1974.", "L2.S1", "supported", first.id),
        ("It closed.", "L2.S3", "unsupported", other.id),
    ]
    assert [(repeat.statement, repeat.of, repeat.replies) for repeat in found.repeats] == [
        ("it  opened in 1974.", "It opened in 1974.", ())
    ]


def test_recovered_citations_only_where_asked_for() -> None:
    one = claim(1, "So it was old.", type="B", citations=(), recovered=(DOCUMENT.sentences[0].citations))
    found = claim_set([one], [verdict(one, A, "supported")])
    assert pairs_in(found).pairs == ()
    assert [pair.url for pair in pairs_in(found, recovered=True).pairs] == [A]


def test_verdicts_are_outcomes_and_a_page_without_content_has_none() -> None:
    said = [one.supported for one in load_protocol("fact").page_verdicts(findings("suxdnf"))]
    assert said == [True, False, None, None, None, None]
