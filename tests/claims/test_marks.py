"""Citations of each claim: of a sentence with several marks, those that end its part (DEER, Figure 9)."""

from collections.abc import Sequence

import pytest

from local_judge.claims.extract import claim_on
from local_judge.claims.marks import cite_claims, most_uncited
from local_judge.claims.model import ClaimType
from local_judge.documents import parse_report

LIST = "".join(f"[{number}] https://s{number}.example/\n" for number in (1, 2, 3))


def cited(text: str, *claims: tuple[str, ClaimType]) -> list[tuple[str, bool]]:
    """Return the numbers that each claim of the sentence with marks cites, and if it shares all of them."""
    document = parse_report(f"# Acme\n\n{text}\n\n## References\n\n{LIST}")
    sentence = max(document.sentences, key=lambda one: len(one.citations))
    found = [claim_on(sentence, number, claim, type) for number, (claim, type) in enumerate(claims, 1)]
    return [
        (" ".join(document.citation(one).key for one in claim.citations), claim.shares_citations)
        for claim in cite_claims(document, sentence, found)
    ]


FOUNDED: tuple[tuple[str, ClaimType], ...] = (
    ("Acme was founded in 1990.", "A"),
    ("Acme has a staff of 3,000.", "A"),
)
HAN: tuple[tuple[str, ClaimType], ...] = (("Acme建于1990年。", "A"), ("Acme有3,000人。", "A"))
UNSTABLE = "Most perovskites are unstable[1], but our new material is stable."
MOST: tuple[str, ClaimType] = ("Most perovskites are unstable.", "A")
NEW = "Our new material is stable."
PRICES: tuple[tuple[str, ClaimType], ...] = (("Rye fell.", "A"), ("Oats rose.", "A"), ("They moved.", "A"))
LINKS = "A [list](https://a.example/) says 1990, a [note](https://b.example/) 3,000."


@pytest.mark.parametrize(
    ("text", "claims", "expected"),
    [
        ("Founded in 1990 [1] and has 3,000 staff [2].", FOUNDED, [("1", False), ("2", False)]),
        ("Founded in 1990 [1], it has 3,000 staff [2][3].", FOUNDED, [("1", False), ("2 3", False)]),
        ("Acme建于1990年[1],有3,000人[2]。", HAN, [("1", False), ("2", False)]),
        # One mark ends the whole sentence.
        ("Founded in 1990, it has 3,000 staff [1][2].", FOUNDED, [("1 2", False)] * 2),
        # The paper's example: the second claim has no citation. If the judge calls it cited, it has that one.
        (UNSTABLE, (MOST, (NEW, "E")), [("1", False), ("", False)]),
        (UNSTABLE, (MOST, (NEW, "A")), [("1", False), ("1", True)]),
        # A claim of no part, next to one of each.
        ("Rye fell 5% [1] and oats rose 9% [2].", PRICES, [("1", False), ("2", False), ("1 2", True)]),
        # No claim states what the first mark ends, so the marks may come first.
        ("In [1], Acme was founded in 1990; in [2], it has 3,000 staff.", FOUNDED, [("1 2", True)] * 2),
        ("Acme grew [1][2] and has 3,000 staff [3].", FOUNDED, [("1 2 3", True)] * 2),
        # The cells of a row, and marks that are words of the sentence.
        ("| a | b |\n|---|---|\n| founded 1990 [1] | staff 3,000 [2] |", FOUNDED, [("1 2", True)] * 2),
        (LINKS, FOUNDED, [("https://a.example/ https://b.example/", True)] * 2),
        # The only claim has all, so that every citation is verified.
        ("Founded in 1990 [1] and has 3,000 staff [2].", FOUNDED[:1], [("1 2", False)]),
    ],
)
def test_a_claim_has_the_marks_that_end_its_part_of_the_sentence(
    text: str, claims: Sequence[tuple[str, ClaimType]], expected: list[tuple[str, bool]]
) -> None:
    assert cited(text, *claims) == expected


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("No mark.", 8),
        ("Before [1] and after.", 7),
        ("All before [1].", 0),
        ("A [b](https://b.example/).", 0),
    ],
)
def test_claims_without_a_citation_in_a_sentence_that_was_not_read(text: str, most: int) -> None:
    document = parse_report(f"# Acme\n\n{text}\n\n## References\n\n{LIST}")
    assert most_uncited(document, document.sentences[0], 8) == most
