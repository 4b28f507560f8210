"""Both rules of back-tracking."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pytest

from local_judge.claims.backtrack import (
    UpstreamRow,
    citations_by_sentence,
    sections_by_sentence,
    trace,
    upstream_rows,
)
from local_judge.claims.model import Claim, ClaimType
from local_judge.documents.model import Block, Document, Sentence, Span

SPAN = Span(start=0, end=1)


def recovered(claims: Sequence[Claim], sentences: Mapping[str, Sequence[str]]) -> tuple[Claim, ...]:
    return trace(claims, sentences).claims


def claim(
    sentence: str, type: ClaimType, *positions: str, citations: tuple[str, ...] = (), n: int = 1
) -> Claim:
    return Claim(
        id=f"{sentence}.{n}",
        text="t",
        sentence=sentence,
        span=SPAN,
        type=type,
        citations=citations,
        evidence_positions=positions,
    )


SENTENCES: Mapping[str, tuple[str, ...]] = {
    "L2.S1": ("c1",),
    "L2.S2": (),
    "L2.S10": (),
    "L4.S1": ("c2", "c3"),
    "L4.S2": (),
    "L10.S1": (),
}


def test_chain_ends_at_the_sentence_that_carries_the_citation() -> None:
    claims = [
        claim("L2.S1", "A", citations=("c1",)),
        claim("L2.S2", "B", "L2.S1"),
        claim("L2.S10", "B", "L2.S2"),
        claim("L10.S1", "C", "L2.S10", "L4.S1"),
    ]
    found = [(c.recovered, c.recovered_from) for c in recovered(claims, SENTENCES)]
    assert found == [
        ((), ()),
        (("c1",), ("L2.S1",)),
        (("c1",), ("L2.S1",)),
        (("c1", "c2", "c3"), ("L2.S1", "L4.S1")),
    ]


def test_order_of_claims_does_not_matter() -> None:
    claims = [
        claim("L2.S2", "B", "L2.S1"),
        claim("L2.S10", "B", "L2.S2"),
        claim("L4.S2", "C", "L2.S10"),
        claim("L10.S1", "C", "L4.S2"),
    ]
    for shuffled in itertools.permutations(claims):
        assert {c.id: c.recovered for c in recovered(shuffled, SENTENCES)} == dict.fromkeys(
            (c.id for c in claims), ("c1",)
        )
        assert [c.id for c in recovered(shuffled, SENTENCES)] == [c.id for c in shuffled]


def test_a_sentence_with_citations_ends_the_chain() -> None:
    """The cited sentence's own evidence is not taken over in addition."""
    claims = [claim("L4.S1", "B", "L2.S1", citations=("c2", "c3")), claim("L4.S2", "B", "L4.S1")]
    assert recovered(claims, SENTENCES)[1].recovered == ("c2", "c3")


def test_d_to_f_and_what_is_cited_itself_recover_nothing() -> None:
    claims = [claim("L2.S2", type, "L2.S1") for type in ("D", "E", "F")]
    claims += [claim("L4.S1", "A", "L2.S1", citations=("c2", "c3"))]
    assert [c.recovered for c in recovered(claims, SENTENCES)] == [()] * 4


def test_what_the_judge_calls_cited_on_a_sentence_without_a_citation_is_followed() -> None:
    """Equation 1 holds for any sentence."""
    [found] = recovered([claim("L2.S2", "A", "L2.S1")], SENTENCES)
    assert (found.type, found.recovered, found.recovered_from) == ("A", ("c1",), ("L2.S1",))


def test_b_on_a_cited_sentence_has_both_kinds_of_citations() -> None:
    """F.2: R'_i = R_i with f(c_i)."""
    [found] = recovered([claim("L4.S1", "B", "L2.S1", citations=("c2", "c3"))], SENTENCES)
    assert (found.citations, found.recovered) == (("c2", "c3"), ("c1",))


def test_nothing_is_inherited_without_a_named_position() -> None:
    assert recovered([claim("L2.S2", "B")], SENTENCES)[0].recovered == ()


def test_statements_that_cannot_hold_are_named() -> None:
    claims = [
        claim("L2.S2", "B", "L2.S10", "L2.S2", "L99.S1", "line 3", "L2.S1"),
        claim("L10.S1", "C", "L4.S2"),
    ]
    recovery = trace(claims, SENTENCES)
    assert recovery.claims[0].recovered == ("c1",)
    assert [(v.claim, v.position, v.kind) for v in recovery.violations] == [
        ("L2.S2.1", "L2.S10", "dead_end"),
        ("L2.S2.1", "L2.S2", "not_earlier"),
        ("L2.S2.1", "L99.S1", "unknown_position"),
        ("L2.S2.1", "line 3", "unknown_position"),
        ("L10.S1.1", "L4.S2", "dead_end"),
    ]


def test_a_later_sentence_of_the_block_gives_its_own_citations_only() -> None:
    """The citation at the end of a paragraph covers the sentences before it; no chain goes on from a later sentence."""
    cited = {"L2.S1": (), "L2.S2": (), "L2.S3": ("c1",), "L3.S1": ("c2",), "L4.S1": ()}
    claims = [
        claim("L2.S1", "B", "L2.S3"),
        claim("L2.S2", "B", "L2.S1", "L2.S3"),
        claim("L4.S1", "C", "L2.S2"),
        claim("L2.S1", "B", "L2.S2", n=2),
        claim("L2.S1", "B", "L3.S1", n=3),
    ]
    recovery = trace(claims, cited)
    found = [(c.recovered, c.recovered_from) for c in recovery.claims]
    assert found == [
        (("c1",), ("L2.S3",)),
        (("c1",), ("L2.S3",)),
        (("c1",), ("L2.S3",)),
        ((), ()),
        ((), ()),
    ]
    assert [(v.claim, v.position, v.kind) for v in recovery.violations] == [
        ("L2.S1.2", "L2.S2", "dead_end"),
        ("L2.S1.3", "L3.S1", "not_earlier"),
    ]


def test_claims_that_name_each_other_end() -> None:
    claims = [claim("L2.S2", "B", "L4.S2"), claim("L4.S2", "C", "L2.S2")]
    recovery = trace(claims, SENTENCES)
    assert [c.recovered for c in recovery.claims] == [(), ()]
    assert [v.kind for v in recovery.violations] == ["not_earlier", "dead_end"]


def test_section_that_does_not_fit_the_class_is_named_and_followed() -> None:
    # headings 0 > 3 > 4 and 0 > 9: L2 stands under 3, L4 under 4 (within 3), L10 under 9
    sections = {"L2.S1": (0, 3), "L2.S2": (0, 3), "L4.S1": (0, 3, 4), "L4.S2": (0, 3, 4), "L10.S1": (0, 9)}
    claims = [
        claim("L2.S2", "C", "L2.S1"),
        claim("L4.S2", "B", "L2.S1", n=1),
        claim("L4.S2", "C", "L2.S1", n=2),
        claim("L10.S1", "B", "L4.S1"),
    ]
    recovery = trace(claims, SENTENCES, sections=sections)
    assert [c.recovered for c in recovery.claims] == [("c1",), ("c1",), ("c1",), ("c2", "c3")]
    assert [(v.claim, v.kind) for v in recovery.violations] == [
        ("L2.S2.1", "same_section"),
        ("L10.S1.1", "other_section"),
    ]


def test_recovered_again_is_the_same() -> None:
    claims = [claim("L2.S2", "B", "L2.S1"), claim("L2.S10", "B", "L2.S2")]
    once = recovered(claims, SENTENCES)
    assert recovered(once, SENTENCES) == once


def test_bad_label_of_a_claim() -> None:
    with pytest.raises(ValueError, match="not a sentence label: 'x'"):
        recovered([claim("x", "B", "L2.S1")], SENTENCES)


def test_maps_of_a_document() -> None:
    block = Block(index=0, kind="paragraph", role="body", span=SPAN, text="t", section=(5,))
    document = Document(
        id="d",
        text="t",
        language="en",
        blocks=(block,),
        sentences=(
            Sentence(label="L1.S1", block=0, text="t", span=SPAN, citations=("c1",)),
            Sentence(label="L1.S2", block=0, text="t", span=SPAN),
        ),
        citations=(),
        references=(),
    )
    assert citations_by_sentence(document) == {"L1.S1": ("c1",), "L1.S2": ()}
    assert sections_by_sentence(document) == {"L1.S1": (5,), "L1.S2": (5,)}


def row(position: str, type: ClaimType, *citations: str, to: tuple[str, ...] = ()) -> UpstreamRow:
    return UpstreamRow(position, type, list(citations), [], list(to))


def test_upstream_takes_over_from_the_next_cited_claim_of_the_block() -> None:
    rows = [row("L1.S1", "E"), row("L1.S2", "A", "7"), row("L1.S3", "B"), row("L2.S1", "A", "8")]
    upstream_rows(rows)
    assert [r.implicit for r in rows] == [["7"], [], [], []]
    assert [r.type for r in rows] == ["E", "A", "D", "A"]


def test_upstream_reads_sentence_numbers_as_numbers() -> None:
    rows = [row("L1.S10", "A", "7"), row("L1.S9", "B")]
    upstream_rows(rows)
    assert rows[1].implicit == ["7"]


def test_upstream_misses_chains_that_run_forward() -> None:
    # the first is done before the second has received anything
    rows = [row("L1.S1", "C", to=("L2.S1",)), row("L2.S1", "C", to=("L3.S1",)), row("L3.S1", "A", "7")]
    upstream_rows(rows)
    assert [(r.type, r.implicit) for r in rows] == [("D", []), ("C", ["7"]), ("A", [])]


def test_upstream_doubles_what_a_claim_takes_from_itself() -> None:
    rows = [row("L1.S1", "A", "7", to=("L1.S1",))]
    upstream_rows(rows)
    assert rows[0].implicit == ["7", "7"]


def test_one_trace_gives_both_rules() -> None:
    claims = [
        claim("L2.S1", "B"),
        claim("L2.S2", "A", citations=("c1",)),
        claim("L2.S2", "E", citations=("c1",), n=2),
        claim("L4.S2", "C", "L2.S2"),
        claim("L10.S1", "B", "L99.S1"),
        claim("L11.S1", "F", citations=("c9",)),
        claim("L12.S1", "E"),
        claim("L12.S2", "A", citations=("c2",)),
    ]
    cited = {one.sentence: one.citations for one in claims}
    found = recovered(claims, cited)
    assert [c.type for c in found] == [c.type for c in claims]
    assert [(c.recovered, c.upstream and c.upstream.citations) for c in found] == [
        ((), ("c1",)),  # takes over from the next cited claim of its block
        ((), ("c1",)),
        ((), ()),  # the code drops citations of class D, E and F, and looks at later claims only
        (("c1",), ("c1",)),
        ((), ()),
        ((), ()),
        ((), ("c2",)),  # of any class
        ((), ("c2",)),
    ]


def test_citations_that_the_judge_names_are_recovered_by_both_rules() -> None:
    """The published prompt asks for them, of class A to C."""
    claims = [claim("L2.S2", "B"), claim("L2.S10", "D")]
    named = {one.id: ("c3", "c3") for one in claims}
    found = trace(claims, SENTENCES, implicit=named).claims
    assert [(c.recovered, c.upstream and c.upstream.citations) for c in found] == [
        (("c3",), ("c3",)),
        ((), ()),
    ]
