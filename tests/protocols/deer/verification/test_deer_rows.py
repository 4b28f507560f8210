"""From a verified claim set to the rows of the arithmetic."""

from __future__ import annotations

from indexes.model import SourceStatus
from local_judge.base.failures import Failure
from local_judge.claims.model import Claim, ClaimSet, ClaimType, Label, Source, Verdict
from local_judge.documents.model import Document, Reference, Span
from local_judge.protocols.deer.verification.rows import PairRow, rows_of
from local_judge.protocols.deer.verification.scores import score

SPAN = Span(start=0, end=1)
FAILURE = Failure(kind="timeout", detail="no reply")


def claim(id: str, type: ClaimType, citations: tuple[str, ...] = ("c1",)) -> Claim:
    return Claim(id=id, text="t", sentence="L1.S1", span=SPAN, type=type, citations=citations)


def source(url: str, status: SourceStatus, *claims: str) -> Source:
    return Source(url=url, status=status, claims=claims)


def verdict(
    claim: str, label: Label | None, failure: Failure | None = None, reliable: bool | None = True
) -> Verdict:
    return Verdict(claim=claim, url="u", label=label, failure=failure, reliable=reliable, method="grouped")


def document(*urls: str | None) -> Document:
    return Document(
        id="d",
        text="t",
        language="en",
        blocks=(),
        sentences=(),
        citations=(),
        references=tuple(
            Reference(id=f"r{n}", key=str(n), text="x", span=SPAN, section=0, url=url, state="cited")
            for n, url in enumerate(urls, start=1)
        ),
    )


def claim_set(claims: tuple[Claim, ...], sources: tuple[Source, ...], *verdicts: Verdict) -> ClaimSet:
    return ClaimSet(
        document="d",
        n_sentences=9,
        claims=claims,
        sources=sources,
        verdicts=verdicts,
        extraction_failures=(),
    )


def test_labels_failures_and_gaps() -> None:
    ids = ("a", "b", "c", "d", "e", "f", "g", "h")
    rows = rows_of(
        claim_set(
            tuple(claim(id, "A") for id in ids),
            (source("u", "ok", *ids), source("gone", "dead", "a", "g")),
            verdict("a", "supported"),
            verdict("b", "partial"),
            verdict("c", "contradicted"),
            verdict("d", "not_found", reliable=None),
            verdict("e", "off_topic", reliable=False),
            verdict("f", None, FAILURE, reliable=None),
            verdict("h", "unusable", reliable=False),
        ),
        document("u", None),
    )
    dead = PairRow(url="gone", outcome="source_unavailable", status="dead")
    assert [row.pairs for row in rows.claims] == [
        (PairRow(url="u", outcome="supported", reliable=True), dead),
        (PairRow(url="u", outcome="not_supported", reliable=True),),
        (PairRow(url="u", outcome="not_supported", reliable=True),),
        (PairRow(url="u", outcome="not_supported"),),
        (PairRow(url="u", outcome="not_supported", reliable=False),),
        (PairRow(url="u", outcome="judge_failed"),),
        # no verdict where there should be one
        (PairRow(url="u", outcome="judge_failed"), dead),
        (PairRow(url="u", outcome="unusable", reliable=False),),
    ]
    assert rows.references == ("u", None)
    assert not rows.unread


def test_classes_that_need_no_verification_have_only_the_pairs_that_were_judged() -> None:
    rows = rows_of(
        claim_set(
            (claim("a", "E"), claim("b", "D"), claim("c", "B", citations=())),
            (source("u", "ok", "a", "b"),),
            verdict("a", "supported"),
        ),
        document(),
    )
    assert [len(row.pairs) for row in rows.claims] == [1, 0, 0]
    assert [row.cited for row in rows.claims] == [True, True, False]


def test_claim_set_to_score() -> None:
    rows = rows_of(
        claim_set(
            (claim("a", "A"), claim("b", "A"), claim("c", "A")),
            (source("u", "ok", "a", "b"), source("v", "not_in_snapshot", "c")),
            verdict("a", "supported"),
            verdict("b", "not_found"),
        ),
        document("u", "v"),
    )
    factuality = score([rows], "paper")[0].find("claim_factuality").score
    # known: one of two; with c resolved 1/3 and 2/3
    assert (factuality.value, factuality.n_expected, factuality.n_failed) == (5, 3, 1)
    assert (factuality.low, factuality.high) == (10 / 3, 20 / 3)
