"""Back-tracking: citations for claims without their own.

Invariant: by the `paper` rule a claim receives only citations of a sentence to which a chain of the judge's own
statements leads: an earlier one, or a later one of the claim's block. A statement that cannot hold is named, and
nothing is put in its place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from local_judge.base.model import Frozen
from local_judge.claims.model import VERIFIABLE, Claim, ClaimType, Traced, Violation, ViolationKind
from local_judge.documents.model import Document

Rule = Literal["paper", "upstream"]

_LABEL = re.compile(r"L(\d+)\.S(\d+)")


class Recovery(Frozen):
    """Claims after back-tracking, in the order given, and what was wrong with the judge's statements."""

    claims: tuple[Claim, ...]
    violations: tuple[Violation, ...] = ()


class _Lead(NamedTuple):
    citation: str
    sentence: str


def citations_by_sentence(document: Document) -> dict[str, tuple[str, ...]]:
    """Label -> ids of the citations on that sentence, for every sentence, in reading order."""
    return {sentence.label: sentence.citations for sentence in document.sentences}


def sections_by_sentence(document: Document) -> dict[str, tuple[int, ...]]:
    """Label -> headings above that sentence, outermost first."""
    return {sentence.label: document.blocks[sentence.block].section for sentence in document.sentences}


def trace(
    claims: Sequence[Claim],
    citations_of_sentence: Mapping[str, Sequence[str]],
    sections: Mapping[str, tuple[int, ...]] | None = None,
    unread: Collection[str] = (),
    implicit: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Recovery:
    """Return the claims with the citations that both rules recover, and what was wrong with the judge's statements.

    `citations_of_sentence` has a key for every sentence of the report, with or without citations. `implicit` has the
    citations that the judge itself names for claims of class A to C, by the claim's id. A claim whose support leads to
    a sentence with unknown claims (`unread`) is `untraced`; by the rule `upstream`, which takes over citations of
    neighbours, nothing more is recovered for it.

    `paper` (DEER, Equation 1, appendices E.1 and F.2), in `recovered`: a claim j of class B or C receives R_j, the
    union over its evidence positions i < j of the citations written on sentence i or, if it has none, of R over the
    claims of class B and C at i. DEER, Equation 1 names preceding sentences; by DEER, appendix E.1 the sentences of a
    paragraph may share the citation at its end. So a position i > j counts if i is in the block of j and has a citation
    itself. A claim of class A on a sentence without a citation is treated alike: DEER, Equation 1 holds for any
    sentence. With `sections`, a position in a section that does not fit the class is named and still followed: the
    class may be wrong where the place is right.

    `upstream`, in `upstream`: see `upstream_rows`. It has no violations: a position that names no claim finds nothing.
    """
    recovery = _paper(claims, citations_of_sentence, sections or {}, unread, implicit)
    published = _upstream(claims, unread, implicit)
    both = (
        claim.model_copy(update={"upstream": found})
        for claim, found in zip(recovery.claims, published, strict=True)
    )
    return recovery.model_copy(update={"claims": tuple(both)})


def _order(label: str) -> tuple[int, int]:
    match = _LABEL.fullmatch(label)
    if match is None:
        raise ValueError(f"not a sentence label: {label!r}; labels look like L3.S1")
    return int(match[1]), int(match[2])


def _paper(
    claims: Sequence[Claim],
    citations_of_sentence: Mapping[str, Sequence[str]],
    sections: Mapping[str, tuple[int, ...]],
    unread: Collection[str],
    implicit: Mapping[str, Sequence[str]],
) -> Recovery:
    # A chain goes on from earlier sentences only, so one pass in reading order reaches the fixpoint, and no
    # statement of the judge can make a cycle.
    recovered: dict[int, list[_Lead]] = {}
    at_sentence: dict[str, list[int]] = {}
    violations: dict[int, list[Violation]] = {}
    untraced: set[int] = set()
    unknown = {label for label in unread if not citations_of_sentence[label]}
    for index in sorted(range(len(claims)), key=lambda i: (_order(claims[i].sentence), i)):
        claim = claims[index]
        if claim.type not in VERIFIABLE:
            continue
        leads = {citation: _Lead(citation, claim.sentence) for citation in implicit.get(claim.id, ())}
        follows = claim.type != "A" or not claim.citations
        for position in dict.fromkeys(claim.evidence_positions if follows else ()):
            kinds = _check(claim, position, citations_of_sentence, sections)
            if not {"unknown_position", "not_earlier"} & set(kinds):
                written = [_Lead(citation, position) for citation in citations_of_sentence[position]]
                found = written or [lead for i in at_sentence.get(position, []) for lead in recovered[i]]
                if position in unknown and _order(position) < _order(claim.sentence):
                    untraced.add(index)
                for lead in found:
                    leads.setdefault(lead.citation, lead)
                if not found:
                    kinds.append("dead_end")
            violations.setdefault(index, []).extend(
                Violation(claim=claim.id, position=position, kind=kind) for kind in kinds
            )
        recovered[index] = [lead for lead in leads.values() if lead.citation not in claim.citations]
        at_sentence.setdefault(claim.sentence, []).append(index)
        if index in untraced and not citations_of_sentence[claim.sentence]:
            unknown.add(claim.sentence)
    return Recovery(
        claims=tuple(
            _with(claim, recovered.get(index, []), index in untraced) for index, claim in enumerate(claims)
        ),
        violations=tuple(violation for index in sorted(violations) for violation in violations[index]),
    )


def _with(claim: Claim, leads: Sequence[_Lead], untraced: bool) -> Claim:
    return claim.model_copy(
        update={
            "untraced": untraced,
            "recovered": tuple(lead.citation for lead in leads),
            "recovered_from": tuple(dict.fromkeys(lead.sentence for lead in leads)),
        }
    )


def _check(
    claim: Claim,
    position: str,
    known: Mapping[str, Sequence[str]],
    sections: Mapping[str, tuple[int, ...]],
) -> list[ViolationKind]:
    if position not in known:
        return ["unknown_position"]
    here_at, there_at = _order(claim.sentence), _order(position)
    if there_at == here_at or (there_at > here_at and there_at[0] != here_at[0]):
        return ["not_earlier"]
    here, there = sections.get(claim.sentence), sections.get(position)
    if here is None or there is None:
        return []
    if claim.type == "C":
        return ["same_section"] if here == there else []
    # Where one section contains the other, either class can be right.
    nested = here[: len(there)] == there or there[: len(here)] == here
    return [] if nested else ["other_section"]


@dataclass
class UpstreamRow:
    """A claim as the published code's back-tracking sees it; changed in place, as it does."""

    position: str
    type: ClaimType
    citations: list[str]
    implicit: list[str]
    references: list[str]
    """Positions that the judge named."""


def upstream_rows(rows: Sequence[UpstreamRow]) -> None:
    """Apply the published code's rule to claims of every class, in three steps.

    1. Within a block, from its last sentence to its first: a claim with neither explicit nor implicit citations takes
       over the explicit ones of the nearest claim after it that has some.
    2. For each claim in the order given, for each position named: the explicit, then the implicit citations of all
       claims there are appended, repetitions included. One pass: what is recovered later is not seen.
    3. B and C with no citation become D.
    """
    blocks: dict[str, list[UpstreamRow]] = {}
    for row in rows:
        blocks.setdefault(row.position.partition(".")[0], []).append(row)
    for block in blocks.values():
        active: list[str] = []
        for row in reversed(sorted(block, key=lambda row: _order(row.position))):
            if row.citations:
                active = row.citations
            elif not row.implicit:
                row.implicit = list(active)
    at: dict[str, list[UpstreamRow]] = {}
    for row in rows:
        at.setdefault(row.position, []).append(row)
    for row in rows:
        for position in row.references:
            for other in at.get(position, []):
                row.implicit.extend(other.citations)
                # A claim that names its own place doubles what it has just received.
                row.implicit.extend(other.implicit)
    for row in rows:
        if row.type in ("B", "C") and not row.citations and not row.implicit:
            row.type = "D"


def untraced_rows(rows: Sequence[UpstreamRow], unread: Collection[str]) -> list[bool]:
    """Return which rows might receive other citations, were the claims of all positions known.

    Those in the block of an unread position that take over the citations of a neighbour, and those that name an unread
    position, or a claim that is one of them.
    """
    blocks = {position.partition(".")[0] for position in unread}
    found = [
        not row.citations and not row.implicit and row.position.partition(".")[0] in blocks for row in rows
    ]
    before = -1
    unknown = set(unread)
    while sum(found) > before:
        before = sum(found)
        unknown |= {row.position for row, untraced in zip(rows, found, strict=True) if untraced}
        found = [
            untraced or not unknown.isdisjoint(row.references)
            for row, untraced in zip(rows, found, strict=True)
        ]
    return found


def _upstream(
    claims: Sequence[Claim], unread: Collection[str], implicit: Mapping[str, Sequence[str]]
) -> list[Traced]:
    """Apply the published rule. The code drops the citations written on claims of class D, E and F."""
    rows = [
        UpstreamRow(
            position=claim.sentence,
            type=claim.type,
            citations=list(claim.citations) if claim.type in VERIFIABLE else [],
            implicit=list(implicit.get(claim.id, ())) if claim.type in VERIFIABLE else [],
            references=list(claim.evidence_positions),
        )
        for claim in claims
    ]
    untraced = untraced_rows(rows, unread)
    certain = [tuple(row.implicit) for row in rows]
    upstream_rows(rows)
    return [
        Traced(
            citations=tuple(dict.fromkeys((*row.citations, *(known if unknown else row.implicit)))),
            untraced=unknown,
        )
        for row, known, unknown in zip(rows, certain, untraced, strict=True)
    ]
