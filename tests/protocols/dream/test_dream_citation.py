"""Citation integrity: which claims count, what of their sources, and known values of every formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from indexes.model import SourceStatus
from local_judge.claims.model import Claim, ClaimSet, ExtractionFailure, Quote, Source, Verdict
from local_judge.claims.unread import Unread, UnreadCitations, UnreadSentence
from local_judge.documents.model import Span
from local_judge.protocols.dream.citation import Citation, best_of, harmonic
from local_judge.protocols.dream.claims import (
    CheckedClaim,
    CheckedSource,
    CitationFindings,
    CitationSettings,
    Outcome,
    Unit,
    Unsettled,
    cited_claims,
)
from local_judge.scoring.coverage import known_enough_trees
from local_judge.scoring.node import ScoreNode

from .dream_cases import FAILURE, case

WORDS: dict[str, Outcome] = {
    "s": "supported",
    "p": "partial",
    "n": "neutral",
    "c": "contradicted",
    "d": "dead",
    "u": "unverifiable",
    "f": "failed",
}


def score_citation(judges: Sequence[CitationFindings]) -> ScoreNode:
    return Citation().score(judges, "paper")


def over_citation(reports: Sequence[Sequence[CitationFindings]], n_missing: int) -> ScoreNode:
    return Citation().aggregate(reports, "paper", n_missing)


def source(letter: str, url: str = "https://a.example/") -> CheckedSource:
    """A source by what it says."""
    quote = Quote(text="It is so.", start=0, end=9) if letter in "spc" else None
    statuses: dict[str, SourceStatus | None] = {"d": "dead", "u": None}
    return CheckedSource(url=url, status=statuses.get(letter, "ok"), outcome=WORDS[letter], quote=quote)


def findings(
    *claims: str, unit: Unit = "claim", unsettled: Unsettled = "neutral", **counts: Any
) -> CitationFindings:
    """Claims by the letters of their sources; an empty one is not cited."""
    return CitationFindings(
        unit=unit,
        unsettled=unsettled,
        recovered=False,
        claims=tuple(
            CheckedClaim(
                id=f"L{number}.S1.1",
                text=f"Claim {number}.",
                sources=tuple(
                    source(letter, f"https://{place}.example/") for place, letter in enumerate(letters)
                ),
            )
            for number, letters in enumerate(claims, 1)
        ),
        **counts,
    )


def unread(n: int, cited: int = 0, uncited: int = 0, most: int = 8) -> Unread:
    """Unread sentences of `n`, some with a citation; four of a report's sentences have one."""
    return Unread(
        sentences=tuple(
            UnreadSentence(
                label=f"L9.S{number}", most=most, cited=number < cited, uncited=0 if number < cited else most
            )
            for number in range(cited + uncited)
        ),
        urls=("https://a.example/",),
        known_sentences=1 - (cited + uncited) / n,
        known_places=1 - cited / max(min(n, 4), 1),
    )


def claim(id: str, text: str, kind: str = "A", **more: Any) -> Claim:
    return Claim.model_validate(
        {
            "id": id,
            "text": text,
            "sentence": id.rpartition(".")[0],
            "span": Span(start=0, end=1),
            "type": kind,
            **more,
        }
    )


def test_which_claims_count_and_what_they_cite() -> None:
    """The report's citations: c1 [1] a, c2 [2] b, c3 [1] a."""
    document = case().report
    a, b = "https://a.example/mill", "https://b.example/town"
    claims = ClaimSet(
        document=document.id,
        n_sentences=4,
        claims=(
            claim("L3.S1.1", "The mill cost 9 million.", checkable=True, citations=("c1",)),
            claim("L3.S2.1", "The town paid half.", checkable=None, citations=("c2",)),
            claim("L5.S1.1", "It opened in 2019.", "F", checkable=True),
            claim("L5.S1.2", "the mill  cost 9 million", "B", checkable=True, recovered=("c2",)),
            claim("L5.S1.3", "To sum up.", "D", checkable=True),
            claim("L5.S1.4", "Mills are good.", "E", checkable=True),
            claim("L5.S1.5", "It will surely grow.", checkable=False, citations=("c3",)),
        ),
        sources=(Source(url=a, status="ok"), Source(url=b, status="dead")),
        verdicts=(Verdict(claim="L3.S1.1", url=a, label="off_topic", method="grouped", replies=("k",)),),
        extraction_failures=(ExtractionFailure(sentences=("L5.S1", "L5.S2"), failure=FAILURE, most=8),),
    )
    found = cited_claims(document, claims, CitationSettings())
    assert [one.id for one in found.claims] == ["L3.S1.1", "L3.S2.1", "L5.S1.1"]
    first, second, third = found.claims
    assert first.repeats == ("L5.S1.2",)
    assert [(one.url, one.outcome, one.label, one.replies) for one in first.sources] == [
        (a, "neutral", "off_topic", ("k",))
    ]
    assert [(one.url, one.outcome, one.status) for one in second.sources] == [(b, "dead", "dead")]
    assert third.sources == ()
    assert (found.n_recaps, found.n_own, found.n_uncheckable) == (1, 1, 1)
    # Of the two sentences whose claims are not known one has a citation.
    assert (found.most_cited, found.most_uncited) == (8, 8)
    assert found.unsettled == CitationSettings().unsettled == "neutral"
    lenient = cited_claims(document, claims, CitationSettings(unsettled="unverifiable"))
    assert (lenient.unsettled, lenient.claims) == ("unverifiable", found.claims)
    # Claims of type E count only where all of them do, whether a page could settle them or not.
    whole = cited_claims(document, claims, CitationSettings(own="counted"))
    assert ([one.id for one in whole.claims][3:], whole.n_own) == (["L5.S1.4"], 0)
    wider = cited_claims(document, claims, CitationSettings(recovered=True))
    assert [one.url for one in wider.claims[0].sources] == [a, b]
    # The claims of the other may have citations by back-tracking.
    assert (wider.most_cited, wider.most_uncited) == (16, 8)


def test_a_page_with_text_and_no_verdict_is_a_failure_and_no_address_cannot_be_verified() -> None:
    document = case("It is so [1]. And so [7].\n\n## References\n\n[1] A. https://a.example/x\n").report
    first, second = document.citations
    claims = ClaimSet(
        document=document.id,
        n_sentences=2,
        claims=(
            claim("L1.S1.1", "It is so.", citations=(first.id,)),
            claim("L1.S2.1", "And so.", citations=(second.id,)),
        ),
        sources=(Source(url="https://a.example/x", status="ok"),),
        verdicts=(),
    )
    found = cited_claims(document, claims, CitationSettings())
    assert [[(one.url, one.outcome) for one in each.sources] for each in found.claims] == [
        [("https://a.example/x", "failed")],
        [(None, "unverifiable")],
    ]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("not_in_snapshot", "failed"),
        ("unsupported_type", "failed"),
        ("dead", "dead"),
        ("blocked", "failed"),
        ("unavailable", "failed"),
        ("empty", "failed"),
    ],
)
def test_a_page_that_nobody_fetched_is_unknown_and_a_dead_one_is_the_reports(
    status: SourceStatus, outcome: Outcome
) -> None:
    """Three claims on three pages, of which one is read and supports its claim."""
    text = "One [1]. Two [2]. Three [3].\n\n## References\n\n" + "".join(
        f"[{n}] A. https://a.example/{n}\n" for n in (1, 2, 3)
    )
    document = case(text).report
    ids = [f"L1.S{n}.1" for n in (1, 2, 3)]
    urls = [f"https://a.example/{n}" for n in (1, 2, 3)]
    claims = ClaimSet(
        document=document.id,
        n_sentences=3,
        claims=tuple(
            claim(id, f"It is {id}.", citations=(citation.id,))
            for id, citation in zip(ids, document.citations, strict=True)
        ),
        sources=tuple(Source(url=url, status="ok" if url == urls[0] else status) for url in urls),
        verdicts=(Verdict(claim=ids[0], url=urls[0], label="supported", method="grouped", replies=("k",)),),
    )
    found = cited_claims(document, claims, CitationSettings())
    assert [source.outcome for one in found.claims for source in one.sources] == [
        "supported",
        outcome,
        outcome,
    ]
    # In the distribution of labels a dead page is unverifiable, and an unread one has no label; the judge saw neither.
    label = "unverifiable" if outcome == "dead" else None
    assert [(row.value, row.by) for row in Citation().decisions(found)] == [
        ("supported", "judge"),
        (label, "code"),
        (label, "code"),
    ]
    [root] = known_enough_trees([score_citation([found])])
    score = root.find("faithfulness").score
    if outcome == "failed":
        # One of three is known: from 1/3 to 3/3, and no value. CI: 2 * 100 * 33.3 / 133.3 = 50 at least.
        assert (score.value, score.low, score.high) == (None, pytest.approx(100 / 3), 100)
        assert (root.score.value, root.score.low, root.score.high) == (None, pytest.approx(50), 100)
    else:
        # One of three is supported.
        assert (score.value, score.low, score.high) == (pytest.approx(100 / 3),) * 3


def test_known_values() -> None:
    """3 s, 2 p, n, c, u of 10: CA = 8/10, CF = (3 + 1) / 7, CI = 2 * .8 * 4/7 / (.8 + 4/7) = 2/3."""
    root = score_citation([findings("s", "s", "s", "p", "p", "n", "c", "u", "", "")])
    attribution, faithfulness = root.find("attribution").score, root.find("faithfulness").score
    assert (attribution.value, attribution.numerator, attribution.denominator) == (80, 8, 10)
    assert faithfulness.value == pytest.approx(400 / 7)
    assert (faithfulness.numerator, faithfulness.denominator) == (4, 7)
    assert faithfulness.note == "1 unverifiable, left out"
    assert root.score.value == pytest.approx(200 / 3)
    assert (root.score.low, root.score.high) == (pytest.approx(200 / 3), pytest.approx(200 / 3))
    counts = {node.id: node.score.value for node in root.find("faithfulness").children}
    assert counts == {
        "supported": 3,
        "partial": 2,
        "neutral": 1,
        "contradicted": 1,
        "dead": 0,
        "unverifiable": 1,
        "failed": 0,
    }


@pytest.mark.parametrize(
    ("claims", "ca", "cf", "ci", "undefined"),
    [
        ((), None, None, None, 1),  # no verifiable claim
        (("", ""), 0, None, 0, 0),  # none of them cited: CF is 0/0, CI printed as 0.00
        (("n", "c"), 100, 0, 0, 0),  # cited, and nothing supported
        (("u", ""), 50, None, None, 1),  # no citation has a URL: nothing is known of faithfulness
        (("d", ""), 50, 0, 0, 0),  # all cited pages dead: none supports its claim
        (("s", "d", "dn", "sd"), 100, 50, 200 / 3, 0),  # (1 + 0 + 0 + 1) / 4; 2 * 100 * 50 / 150
        (("s",), 100, 100, 100, 0),
    ],
)
def test_edges(
    claims: tuple[str, ...], ca: float | None, cf: float | None, ci: float | None, undefined: int
) -> None:
    root = score_citation([findings(*claims)])
    assert (root.find("attribution").score.value, root.find("faithfulness").score.value) == (ca, cf)
    assert (root.score.value, root.score.n_undefined, root.score.n_failed) == (ci, undefined, 0)


def test_invented_sources_lower_both_means() -> None:
    """An honest report with CA = CF = 50, and one whose sources are all invented: CA 100, CF 0, CI 0.

    Mean CA 75, mean CF 25: 2 * 75 * 25 / 100 = 37.5. Mean of 50 and 0: 25. If dead sources are left out, the invented
    report has neither CF nor CI, and raises the first: 2 * 75 * 50 / 125 = 60, and 50.
    """
    honest = ("s", "n", "", "")
    for dead, of_means, mean in (("dead", 37.5, 25), ("unverifiable", 60, 50)):
        reports = [[findings(*claims, dead=dead)] for claims in (honest, ("d", "d"))]
        root = over_citation(reports, 0)
        assert (root.score.value, root.find("ci_task_mean").score.value) == (of_means, mean)


def test_the_harmonic_mean_of_nothing_is_zero() -> None:
    assert (harmonic(0, 0), harmonic(0, 100), harmonic(50, 50)) == (0, 0, 50)


@pytest.mark.parametrize(
    ("letters", "outcome", "known"),
    [
        ("ns", "supported", 0),
        ("cp", "partial", 0),
        ("un", "neutral", 0),
        ("ud", "dead", 0),
        ("dn", "neutral", 0),
        ("df", "failed", 0),
        ("nc", "contradicted", 0),
        ("uu", "unverifiable", 0),
        ("fs", "supported", 0),
        ("fp", "failed", 0.5),
        ("fn", "failed", 0),
        ("uf", "failed", 0),
    ],
)
def test_what_several_sources_say_together(letters: str, outcome: Outcome, known: float) -> None:
    assert best_of([source(letter) for letter in letters]) == (outcome, known)


def test_claims_and_sources_as_pairs() -> None:
    """Claims: s, p and 0: 1.5 / 3. Pairs: s n, p, n c: 1.5 / 5, one unverifiable left out."""
    claims = ("sn", "pu", "nc")
    by_claim, by_pair = findings(*claims), findings(*claims, unit="pair")
    assert score_citation([by_claim]).find("faithfulness").score.value == 50
    assert score_citation([by_pair]).find("faithfulness").score.value == pytest.approx(30)


@pytest.mark.parametrize(
    ("unsettled", "unit", "cf", "denominator", "neutral", "left_out"),
    [
        # Claims: s, p, n, c, u. (1 + .5) / 4, or without the neutral one (1 + .5) / 3.
        ("neutral", "claim", 37.5, 4, 1, 1),
        ("unverifiable", "claim", 50, 3, 0, 2),
        # Sources: s n, p, n u, c n, u. (1 + .5) / 6, or without three neutral ones (1 + .5) / 3.
        ("neutral", "pair", 25, 6, 3, 2),
        ("unverifiable", "pair", 50, 3, 0, 5),
    ],
)
def test_a_page_that_settles_nothing(
    unsettled: Unsettled, unit: Unit, cf: float, denominator: int, neutral: int, left_out: int
) -> None:
    root = score_citation([findings("sn", "p", "nu", "cn", "u", unsettled=unsettled, unit=unit)])
    score = root.find("faithfulness").score
    assert (score.value, score.low, score.high, score.denominator) == (cf, cf, cf, denominator)
    assert score.note.startswith(f"{left_out} unverifiable")
    assert root.find("faithfulness", "neutral").score.value == neutral
    assert root.find("faithfulness", "unverifiable").score.value == left_out
    assert root.find("attribution").score.value == 100, "the claim is cited either way"


def test_pages_that_settle_nothing_may_leave_nothing_to_decide() -> None:
    strict, lenient = (score_citation([findings("n", unsettled=how)]) for how in ("neutral", "unverifiable"))
    assert (strict.score.value, lenient.score.value) == (0, None)
    assert (lenient.score.n_undefined, lenient.score.n_failed) == (1, 0)
    note = lenient.find("faithfulness").score.note
    assert note.startswith("0/0: every cited source is unverifiable; 1 unverifiable")


def test_judges_may_differ_on_whether_a_page_settles_a_claim() -> None:
    """Claims: s and n, n and n, n and f. Left out: the second judge's n, both, the first's n. 1 of what is known."""
    first, second = (
        findings(*claims, unsettled="unverifiable") for claims in (("s", "n", "n"), ("n", "n", "f"))
    )
    root = score_citation([first, second])
    score = root.find("faithfulness").score
    # The third claim may be anything from 0 to 1: (1 + 0) / 2 at least.
    assert (score.value, score.low, score.high) == (100, 50, 100)
    assert (score.n_expected, score.n_failed) == (2, 1)
    assert score.note.startswith("1 unverifiable") and score.note.endswith("; 1 of 2 without a verdict")
    unverifiable = root.find("faithfulness", "unverifiable").score
    # 2 and 2 of the judges; the failed one may be another.
    assert (unverifiable.value, unverifiable.low, unverifiable.high) == (2, 2, 2.5)


def test_what_failed_opens_the_bounds() -> None:
    """CA = 4/4; CF = (1 + 0) / 2 of what is known; the others: p f at least .5, f at least 0, both at most 1."""
    root = score_citation([findings("s", "n", "pf", "f")])
    faithfulness = root.find("faithfulness").score
    assert (faithfulness.value, faithfulness.low, faithfulness.high) == (50, 37.5, 75)
    assert (faithfulness.n_expected, faithfulness.n_failed) == (4, 2)
    assert root.score.value == pytest.approx(harmonic(100, 50))
    assert (root.score.low, root.score.high) == (
        pytest.approx(harmonic(100, 37.5)),
        pytest.approx(harmonic(100, 75)),
    )
    root = score_citation([findings("f")])
    assert (root.score.value, root.score.low, root.score.high) == (None, 0, 100)


def test_sentences_that_were_not_read_open_the_bounds_by_all_claims_that_they_may_have() -> None:
    """Claims s, s, n, and one uncited. Unread: a sentence with a citation, two without, of three claims each."""
    some = findings("s", "s", "n", "", unread=unread(6, cited=1, uncited=2, most=3))
    root = score_citation([some])
    attribution, faithfulness = root.find("attribution").score, root.find("faithfulness").score
    # CA: six claims without citation, 3 / 10; three with one, of which the first is the claim without: (3 + 3) / 6.
    # Conservatively, all three and the known one: (4 + 3) / (4 + 3).
    assert (attribution.value, attribution.low, attribution.high) == (75, 30, 100)
    assert attribution.known == 0.5  # of six sentences
    # CF: the three repeat known claims and more: 0 to (1 + 1 + 1 + 3) / (3 + 3).
    assert (faithfulness.value, faithfulness.low, faithfulness.high) == (pytest.approx(200 / 3), 0, 100)
    assert faithfulness.known == 0.75  # of four sentences that cite
    assert root.score.known == 0.5
    # All is lost: no value, and no zero.
    root = score_citation([findings(unread=unread(1, cited=1))])
    assert (root.score.value, root.score.low, root.score.high, root.score.known) == (None, 0, 100, 0)
    # Two marks name no entry, and no sentence has a claim.
    root = score_citation([findings(unread=Unread(citations=UnreadCitations(n=2), known_places=0))])
    assert (root.score.value, root.score.n_expected) == (None, 0)
    # No sentence has a citation: whatever the claims are, nothing is cited.
    root = score_citation([findings(unread=unread(1, uncited=1))])
    assert (root.score.value, root.score.high, root.score.known) == (None, 0, 0)


def test_two_judges_are_put_together_by_claim() -> None:
    """(1 + .5) / 2, (0 + 0) / 2, and 1 by the first alone: between (1 + 0) / 2 and 1."""
    root = score_citation([findings("s", "n", "s"), findings("p", "c", "f")])
    score = root.find("faithfulness").score
    assert score.value == pytest.approx(100 * 1.75 / 3)
    assert (score.low, score.high) == (pytest.approx(100 * 1.25 / 3), pytest.approx(100 * 1.75 / 3))
    assert (score.n_expected, score.n_failed) == (6, 1)
    assert root.find("faithfulness", "supported").score.value == 1  # 2 and 0
    same = findings("s", "n", "pf")
    assert score_citation([same, same]).find("faithfulness").score.value == pytest.approx(
        score_citation([same]).find("faithfulness").score.value or 0
    )


def test_over_reports_the_harmonic_mean_of_means_and_the_mean_of_harmonic_means() -> None:
    """CA 1, .5, 0; CF 0, 1, undefined; CI 0, 2/3, 0. Means: CA .5, CF .5: ci_dataset .5; ci_task_mean 2/9."""
    reports = [(findings("n"),), (findings("s", ""),), (findings(""),)]
    root = over_citation(reports, 0)
    assert root.score.value == root.find("ci_dataset").score.value == pytest.approx(50)
    assert root.find("ci_task_mean").score.value == pytest.approx(200 / 9)
    faithfulness = root.find("faithfulness").score
    assert (faithfulness.value, faithfulness.denominator, faithfulness.n_undefined) == (50, 2, 1)
    # A fourth report is missing: its CA, CF and CI may be anything.
    root = over_citation(reports, 1)
    assert (root.find("attribution").score.low, root.find("attribution").score.high) == (37.5, 62.5)
    assert root.find("faithfulness").score.high == pytest.approx(200 / 3)
    assert (root.score.n_expected, root.score.n_failed) == (4, 1)
    assert root.score.low == pytest.approx(harmonic(37.5, 100 / 3))
    assert root.score.high == pytest.approx(harmonic(62.5, 200 / 3))


def test_over_reports_that_cite_nothing() -> None:
    root = over_citation([(findings(""),), (findings("", ""),)], 0)
    assert (root.score.value, root.score.low, root.score.high) == (0, 0, 0)
    assert root.find("faithfulness").score.value is None
    root = over_citation([(findings(),)], 0)
    assert (root.score.value, root.score.n_undefined) == (None, 1)
    root = over_citation([(findings(""),)], 1)
    assert (root.score.value, root.score.high) == (0, pytest.approx(harmonic(50, 100)))


@pytest.mark.parametrize(
    ("ca", "cf", "printed"), [(75, 10, 17.6), (80, 20, 32.0), (5, 35, 8.8), (15, 55, 23.6)]
)
def test_ranges_of_the_published_figure(ca: float, cf: float, printed: float) -> None:
    """Fig. 9 gives ranges of CA and CF; the harmonic means of their ends, to a decimal: 2 ca cf / (ca + cf)."""
    assert harmonic(ca, cf) == pytest.approx(printed, abs=0.06)


def test_labels_without_a_quotation_are_counted() -> None:
    found = findings("s", "s")
    bare = found.claims[0].model_copy(
        update={"sources": (found.claims[0].sources[0].model_copy(update={"quote": None}),)}
    )
    found = found.model_copy(update={"claims": (bare, found.claims[1]), "n_recaps": 2})
    note = "claims left out: 2 recaps; 1 of 2 verdicts without a quotation that occurs in the page"
    assert score_citation([found]).score.note == note


def test_judges_can_be_compared() -> None:
    rows = Citation().decisions(findings("sd", "f", "", "n"))
    assert [(row.item, row.value) for row in rows if row.by == "judge"] == [
        ("L1.S1.1 https://0.example/", "supported"),
        ("L2.S1.1 https://0.example/", None),
        ("L4.S1.1 https://0.example/", "neutral"),
    ]


def test_what_nothing_decides_is_undefined_and_no_failure_of_ours() -> None:
    # No cited page has a text. A sentence without citations whose claims are lost leaves CA open, and CI undefined.
    undecided = findings("u", unread=unread(2, uncited=1))
    score = score_citation([undecided]).score
    assert (score.value, score.n_failed, score.n_undefined) == (None, 0, 1)
    # So it does not open the mean of CI over reports, where the other has 2 * 100 * 100 / 200.
    mean = over_citation([[undecided], [findings("s")]], 0).find("ci_task_mean").score
    assert (mean.value, mean.low, mean.high, mean.n_failed, mean.n_undefined) == (100.0, 100.0, 100.0, 0, 1)
