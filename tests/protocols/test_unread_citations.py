"""Bounds of citations that were not read: known values in each protocol."""

from __future__ import annotations

import pytest

from local_judge.base.failures import Failure
from local_judge.claims.extract import claim_on
from local_judge.claims.model import Claim, ClaimSet, ExtractionFailure, Source, Verdict
from local_judge.claims.unread import UnreadCitations, unread_of
from local_judge.documents import parse_report
from local_judge.protocols.deer.verification.rows import rows_of
from local_judge.protocols.deer.verification.scores import score as score_deer
from local_judge.protocols.dream.citation import Citation
from local_judge.protocols.dream.claims import CitationSettings, cited_claims
from local_judge.protocols.fact import Fact, FactFindings
from local_judge.protocols.fact.pairs import pairs_of
from local_judge.protocols.liveresearchbench.metrics.accuracy import (
    AccuracyFindings,
    CitationAccuracy,
    CitedPage,
)
from local_judge.protocols.liveresearchbench.metrics.accuracy import cited_claims as claims_on_pages
from local_judge.scoring.node import Profile, Score, Tree

URL = "https://a.example/x"
DANGLING = parse_report(f"# T\n\nA is so [1]. B is so [7].\n\n## References\n\n[1] A. {URL}\n")
UNLISTED = parse_report(
    f"# T\n\nA turns [1]. B turns ⟦K1⟧. C turns ⟦K2⟧. D turns ⟦K3⟧.\n\n## References\n\n[1] A. {URL}\n"
)


def claims_of() -> ClaimSet:
    """Return one claim of the first sentence, which its page supports, and two of the second, whose mark dangles."""
    first, second = DANGLING.sentences
    claims = [
        claim_on(first, 1, "A is so.", "A"),
        claim_on(second, 1, "B is so.", "A"),
        claim_on(second, 2, "B is.", "A"),
    ]
    return claim_set(claims)


def claim_set(claims: list[Claim]) -> ClaimSet:
    checked = [claim.model_copy(update={"checkable": True}) for claim in claims]
    return ClaimSet(
        document=DANGLING.id,
        n_sentences=2,
        claims=tuple(checked),
        sources=(Source(url=URL, status="ok", claims=(claims[0].id,)),),
        verdicts=(Verdict(claim=claims[0].id, url=URL, label="supported", reliable=True, method="grouped"),),
    )


def ends(score: Score) -> tuple[float | None, float | None, float | None]:
    return score.low, score.value, score.high


def metrics(tree: Tree) -> dict[str, Score]:
    return {path[-1]: node.score for root in tree for path, node in root.walk()}


def test_a_mark_without_an_entry_is_on_each_claim_that_has_it() -> None:
    found = unread_of(claims_of(), DANGLING)
    assert found.citations == UnreadCitations(n=1, written=2)
    assert (found.known_places, found.known_sentences, bool(found)) == (0.5, 1.0, True)
    # One claim of the first sentence leans on the second one: its citation is recovered for it.
    first, *others = claims_of().claims
    leaning = first.model_copy(update={"recovered": others[0].citations})
    assert unread_of(claim_set([leaning, *others]), DANGLING).citations.pairs(traced=True) == 2 + 1
    # The claims of the second sentence are unknown, and at most five.
    lost = ExtractionFailure(sentences=("L2.S2",), failure=Failure(kind="timeout", detail=""), most=5)
    part = claim_set([first]).model_copy(update={"extraction_failures": (lost,)})
    assert unread_of(part, DANGLING).citations.written == 5


def test_a_mark_of_an_unknown_style_is_on_as_many_claims_as_a_sentence_has() -> None:
    sentences = UNLISTED.sentences
    claims = [claim_on(one, n, f"{one.text} {n}", "E") for one in sentences for n in (1, 2)]
    found = unread_of(claim_set(claims), UNLISTED)
    # Three marks of two claims each are fewer than the eight claims, of which each may have one. By back-tracking, each
    # claim may have all of them.
    assert found.citations == UnreadCitations(n=3, written=8, recovered=3 * 8)
    assert found.known_places == 1 / 4


def test_fact() -> None:
    pairs = tuple(pairs_of(claims_of(), DANGLING))
    unread = unread_of(claims_of(), DANGLING)
    found = FactFindings(case="r", document="d", source="shared", pairs=pairs, n_citations=1, unread=unread)
    scores = metrics(Fact().score([found], "paper"))
    # One supported pair, and up to two more, each supported or not.
    assert ends(scores["citation_accuracy"]) == (pytest.approx(1 / 3), 1, 1)
    assert ends(scores["effective_citations"]) == (1, 1, 3)
    assert scores["citation_accuracy"].known == 0.5
    nothing = found.model_copy(update={"pairs": (), "n_citations": 0})
    assert ends(metrics(Fact().score([nothing], "paper"))["citation_accuracy"]) == (0, None, 1)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (
            "paper",
            {
                # One claim of three is supported; the two others may be, and so may two more claims of class A.
                "claim_factuality": (2, 10 / 3, 10),
                "citation_support": (10 / 3, 10, 10),
                "reference_support": (5, 10, 10),
                "reproducibility": (5, 10, 10),
                "reliability": (5, 10, 10),
            },
        ),
        (
            "upstream",
            {
                "claim_factuality": (2, 3.33, 10),
                "citation_support": (3.33, 10, 10),
                "reference_support": (5, 10, 10),
                "reproducibility": (0, 10, 10),  # the page that was read may be an error of another claim
                "reliability": (5, 10, 10),
            },
        ),
    ],
)
def test_deer(profile: Profile, expected: dict[str, tuple[float, float, float]]) -> None:
    roots = score_deer([rows_of(claims_of(), DANGLING)], profile)
    found = metrics(roots)
    assert {name: ends(found[name]) for name in expected} == {
        name: pytest.approx(value) for name, value in expected.items()
    }
    assert {found[name].known for name in expected} == {0.5}
    assert all("1 citation not read" in root.score.note for root in roots)


def test_dream() -> None:
    root = Citation().score([cited_claims(DANGLING, claims_of(), CitationSettings())], "paper")
    # All three claims are cited. One source supports its claim; two more units may be anything.
    assert ends(root.find("attribution").score) == (100, 100, 100)
    assert ends(root.find("faithfulness").score) == (0, 100, 100)
    assert root.score.known == 0.5


def test_liveresearchbench() -> None:
    found = AccuracyFindings(
        pages=(CitedPage(url=URL, status="ok", on_topic=True),),
        claims=tuple(claims_on_pages(DANGLING, claims_of())),
        unread=unread_of(claims_of(), DANGLING),
    )
    root = CitationAccuracy().score([found], "paper")
    # No error is known. The source of the mark may be dead, or off topic, or support neither claim.
    assert ends(root.score) == (0, 0, 3)
    assert {id: ends(root.find(id).score)[2] for id in ("e1", "e2", "e3")} == {"e1": 1, "e2": 1, "e3": 2}
    assert {root.find(id).score.known for id in ("e1", "e2", "e3")} == {0.5}
