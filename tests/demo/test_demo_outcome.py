"""What counts as caught, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.base.failures import Failure
from local_judge.claims.model import Claim, ClaimSet, Label, Source, Verdict
from local_judge.demo.outcome import Outcome, Planted, assess
from local_judge.demo.planted import planted_lines
from local_judge.demo.run import JUDGE
from local_judge.documents import parse_report
from local_judge.documents.model import Span

PAGES = ("https://a.example/1", "https://a.example/2")
DOCUMENT = parse_report(
    "# Mill\n\nIt opened in 1975 [1]. It ground rye [1][2]. It closed in 1990 [1]. It is dear [2].\n\n"
    f"## References\n\n[1] {PAGES[0]}\n[2] {PAGES[1]}\n"
)
PLANTED = [
    Planted(
        sentence="It opened in 1975 [1].",
        kind="date",
        altered="1975",
        actual="1974",
        url="https://a.example/1",
    )
]


Judged = tuple[str, str, Sequence[Label | None]]
"""A claim: id, text, and what was found on each page."""


def claims_of(*judged: Judged) -> ClaimSet:
    """Claims by id and text with their verdicts on the two pages, from the first; None is a failure."""
    claims = tuple(
        Claim(
            id=identity,
            text=text,
            sentence=identity.rpartition(".")[0],
            span=Span(start=0, end=1),
            type="A",
        )
        for identity, text, _ in judged
    )
    verdicts = tuple(
        Verdict(
            claim=identity,
            url=url,
            label=label,
            failure=None if label else Failure(kind="timeout", detail="no answer"),
            method="grouped",
        )
        for identity, _, labels in judged
        for url, label in zip(PAGES, labels, strict=False)
    )
    sources = tuple(
        Source(url=url, status="ok", claims=tuple(v.claim for v in verdicts if v.url == url)) for url in PAGES
    )
    return ClaimSet(document="d", n_sentences=4, claims=claims, sources=sources, verdicts=verdicts)


def outcome(*judged: Judged) -> tuple[int, int, int, int, int]:
    found = assess(DOCUMENT, claims_of(*judged), PLANTED)
    return found.caught, len(found.missed), found.true_claims, len(found.called_wrong), found.unjudged


def test_an_alteration_is_caught_by_the_claim_that_holds_it() -> None:
    opened: Judged = ("L2.S1.1", "There is a mill.", ["supported"])
    assert outcome(opened, ("L2.S1.2", "The mill opened in 1975.", ["contradicted"])) == (1, 0, 0, 0, 0)
    # The other claim of the sentence is called wrong, and the altered one is believed.
    wrong: Judged = ("L2.S1.1", "There is a mill.", ["not_found"])
    assert outcome(wrong, ("L2.S1.2", "The mill opened in 1975.", ["supported"])) == (0, 1, 0, 0, 0)


def test_a_missing_answer_neither_catches_nor_calls_wrong() -> None:
    assert outcome(("L2.S1.1", "The mill opened in 1975.", [None])) == (0, 0, 0, 0, 1)
    # A page that does not support a claim says nothing while the other could not be asked about it.
    opened: Judged = ("L2.S1.1", "The mill opened in 1975.", ["not_found", None])
    rye: Judged = ("L2.S2.1", "The mill ground rye.", ["not_found", None])
    assert outcome(opened, rye) == (0, 0, 0, 0, 2)
    # One page that supports it is enough.
    assert outcome(opened, ("L2.S2.1", "The mill ground rye.", [None, "supported"])) == (0, 0, 1, 0, 1)


def test_a_true_claim_that_no_page_supports_is_called_wrong() -> None:
    rye: Judged = ("L2.S2.1", "The mill ground rye.", ["not_found", "partial"])
    closed: Judged = ("L2.S3.1", "The mill closed in 1990.", ["supported"])
    # The alteration has no claim at all: it was not judged.
    assert outcome(rye, closed) == (0, 0, 2, 1, 1)


def test_only_the_demos_own_judge_is_called_small() -> None:
    found = Outcome(planted=1, caught=1, missed=(), true_claims=1, called_wrong=(), unjudged=0)
    assert any(f"{JUDGE} is a small judge" in line for line in planted_lines(found, JUDGE))
    assert not any("small" in line for line in planted_lines(found, "qwen3-235b-a22b"))
