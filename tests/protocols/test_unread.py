"""Bounds of what was not read: whatever the unread sentences contain, the complete scores lie within them.

Complete claim sets are drawn at random, with repeated claims, support that leads to other sentences, and dead pages.
Then some sentences are taken for unread, some pages for not fetched, and some verdicts for failed. Each score of the
complete set has to lie within the bounds of the incomplete one, in each protocol and profile. Three judges are never
divided evenly on a claim and a page, unless one of them failed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, get_args

import pytest

from indexes.model import SourceStatus
from local_judge.base.failures import Failure
from local_judge.claims.backtrack import citations_by_sentence, sections_by_sentence, trace
from local_judge.claims.build import cited_urls, urls_of
from local_judge.claims.extract import MOST_CLAIMS, claim_on
from local_judge.claims.marks import cite_claims
from local_judge.claims.model import Claim, ClaimSet, ClaimType, ExtractionFailure, Label, Source, Verdict
from local_judge.claims.unread import unread_of
from local_judge.documents import parse_report
from local_judge.documents.model import Document
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings, FactsSettings, Ruling
from local_judge.protocols.deepresearcheval.facts.scores import aggregate_facts, score_facts
from local_judge.protocols.deepresearcheval.facts.statements import choose, shared_statements
from local_judge.protocols.deer.overall import Report, over_reports
from local_judge.protocols.deer.overall import score as score_deer
from local_judge.protocols.deer.verification.rows import rows_of
from local_judge.protocols.dream.citation import Citation
from local_judge.protocols.dream.claims import CitationSettings, cited_claims, most_salient, verifiable
from local_judge.protocols.dream.factuality.findings import CheckedFact, FactLabel, FactualityFindings
from local_judge.protocols.dream.factuality.metric import Factuality
from local_judge.protocols.fact import Fact, FactFindings
from local_judge.protocols.fact.findings import Pair
from local_judge.protocols.fact.pairs import distinct, pairs_of
from local_judge.protocols.fact.repeats import Key, Same, key_of
from local_judge.protocols.liveresearchbench.metrics.accuracy import (
    AccuracyFindings,
    CitationAccuracy,
    CitedPage,
)
from local_judge.protocols.liveresearchbench.metrics.accuracy import cited_claims as claims_on_pages
from local_judge.scoring.node import Profile, Score, Tree

PROFILES: tuple[Profile, ...] = get_args(Profile)
LOST = Failure(kind="timeout", detail="")
ANSWERS = [label for label in get_args(Label) if label != "unusable"]


class Case(NamedTuple):
    """A report with the claims of some of its sentences, as one judge verified them."""

    document: Document
    claims: ClaimSet
    complete: bool
    draw: Callable[..., random.Random]
    """Returns a generator whose numbers depend on the arguments alone, so that both sets have the same answers."""


WOOD = ("ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "yew")
"""Words of three parts of a sentence, and of the claims that stand in them."""


@cache
def drawn(seed: int, judge: str) -> tuple[Case, Case]:
    """Return a complete claim set, and an incomplete one of the same report."""

    def draw(*key: object) -> random.Random:
        return random.Random(repr((seed, *key)))

    some = draw("report")
    n_urls = some.randint(1, 5)
    lines = ["# Report"]
    for _ in range(some.randint(1, 3)):
        lines.append(f"\n## Part {some.randint(1, 9)}\n")
        for _ in range(some.randint(1, 3)):
            marks = ["", "", *(f" [{number}]" for number in range(1, n_urls + 2))]
            sentences = (
                f"Mill {some.randint(1, 6)} saws {' '.join(WOOD[:4])}{some.choice(marks)}{some.choice(marks)}"
                f"{some.choice(['', ', then ' + ' '.join(WOOD[4:8]) + some.choice(marks)])}"
                f"{some.choice(['', ', and ' + ' '.join(WOOD[8:])])}."
                for _ in range(some.randint(1, 4))
            )
            lines.append(" ".join(sentences) + "\n")
    lines.append("## References\n")
    lines += [f"[{number}] Title https://site.example/{number}\n" for number in range(1, n_urls + 1)]
    document = parse_report("\n".join(lines))
    body = [one for one in document.sentences if document.blocks[one.block].role == "body"]
    labels = [one.label for one in body]
    claims: list[Claim] = []
    for sentence in body:
        here = draw("claims", sentence.label)
        least = 1 if sentence.citations else 0
        number = max(here.choice((0, 1, 1, 2, 3, MOST_CLAIMS)), least)
        found: list[Claim] = []
        for n, word in enumerate(here.sample(WOOD, number), 1):
            support = tuple(here.sample(labels, min(here.randint(0, 3), len(labels))))
            judged: ClaimType = here.choice(get_args(ClaimType))
            found.append(
                claim_on(sentence, n, f"The wood was {word}.", judged).model_copy(
                    update={
                        "evidence_positions": support,
                        "checkable": here.choice((True, True, False, None)),
                        "salient": here.choice((True, False, None)),
                    }
                )
            )
        claims += cite_claims(document, sentence, found)
    lost = [label for label in labels if some.random() < 0.25] or [some.choice(labels)]
    return (
        Case(document, _verified(document, claims, (), draw, judge), True, draw),
        Case(document, _verified(document, claims, lost, draw, judge), False, draw),
    )


def _verified(
    document: Document,
    claims: Sequence[Claim],
    lost: Sequence[str],
    draw: Callable[..., random.Random],
    judge: str,
) -> ClaimSet:
    known = [claim for claim in claims if claim.sentence not in lost]
    traced = trace(known, citations_by_sentence(document), sections_by_sentence(document), lost).claims
    by_url: dict[str, list[str]] = {}
    published: dict[str, list[str]] = {}
    for claim in traced:
        for url in urls_of(claim, document):
            by_url.setdefault(url, []).append(claim.id)
        assert claim.upstream is not None
        for url in cited_urls(claim.upstream.citations, document):
            published.setdefault(url, []).append(claim.id)
    complete = not lost
    sources = [
        Source(
            url=url,
            status=status(url, complete, draw),
            claims=tuple(by_url.get(url, ())),
            upstream=tuple(published.get(url, ())),
        )
        for url in dict.fromkeys((*by_url, *published))
    ]
    return ClaimSet(
        document=document.id,
        n_sentences=len(document.sentences),
        claims=traced,
        sources=tuple(sources),
        verdicts=tuple(
            verdict(claim, source.url, complete, judge, draw)
            for source in sources
            if source.status == "ok"
            for claim in dict.fromkeys((*source.claims, *(source.upstream or ())))
        ),
        extraction_failures=tuple(
            ExtractionFailure(sentences=(label,), failure=LOST, most=MOST_CLAIMS) for label in lost
        ),
    )


def status(url: str, complete: bool, draw: Callable[..., random.Random]) -> SourceStatus:
    if not complete and draw("missing", url).random() < 0.2:
        return draw("why", url).choice(("not_in_snapshot", "unavailable"))
    return draw("status", url).choice(("ok", "ok", "ok", "dead"))


def verdict(claim: str, url: str, complete: bool, judge: str, draw: Callable[..., random.Random]) -> Verdict:
    failed = not complete and draw("failed", judge, claim, url).random() < 0.1
    return Verdict(
        claim=claim,
        url=url,
        label=None if failed else draw("verdict", judge, claim, url).choice(ANSWERS),
        failure=LOST if failed else None,
        reliable=draw("reliable", judge, url).choice((True, False)),
        method="grouped",
    )


def same_facts(pairs: Sequence[Pair], case: Case) -> dict[Key, Same]:
    """Return the answers about repeats: each statement states one of eight facts, and some answers are missing."""
    found: dict[Key, Same] = {}
    firsts: dict[tuple[int, str], Key] = {}
    for pair in pairs:
        if pair.reason == "not_extracted":
            continue
        key = key_of(pair)
        first = firsts.setdefault((case.draw("states", key[0]).randrange(8), pair.url), key)
        failed = not case.complete and first != key and case.draw("asked", *key).random() < 0.1
        found.setdefault(key, Same(key, LOST) if failed else Same(first))
    return found


def fact(case: Case, recovered: bool, judged: bool = True) -> FactFindings:
    found = pairs_of(case.claims, case.document, recovered)
    pairs, repeats = distinct(found, same_facts(found, case) if judged else None)
    return FactFindings(
        case="r",
        document=case.document.id,
        source="shared",
        pairs=pairs,
        repeats=repeats,
        n_citations=len(pairs) + len(repeats),
        unread=unread_of(case.claims, case.document),
        recovered=recovered,
    )


def accuracy(case: Case) -> AccuracyFindings:
    urls = dict.fromkeys(one.url for one in case.document.citations if one.url is not None)
    return AccuracyFindings(
        pages=tuple(
            CitedPage(
                url=url,
                status=(found := status(url, case.complete, case.draw)),
                on_topic=case.draw("topic", url).choice((True, True, False)) if found == "ok" else None,
            )
            for url in urls
        ),
        claims=tuple(claims_on_pages(case.document, case.claims)),
        unread=unread_of(case.claims, case.document),
    )


def factuality(case: Case, n_wanted: int) -> FactualityFindings:
    known = verifiable(case.claims.claims)
    unread = unread_of(case.claims, case.document)
    labels = get_args(FactLabel)
    return FactualityFindings(
        method="batched",
        n_wanted=n_wanted,
        n_verifiable=len(known),
        n_lost=len(unread.sentences),
        most_lost=unread.claims,
        known=unread.known_sentences,
        facts=tuple(
            CheckedFact(
                id=claim.id,
                text=claim.text,
                salient=claim.salient,
                label=case.draw("fact", claim.text).choice(labels),
            )
            for claim in most_salient(known, n_wanted)
        ),
    )


def facts(case: Case, settings: FactsSettings) -> FactsFindings:
    found = shared_statements(case.claims)
    chosen = choose(found.statements, case.document.id, settings)
    return FactsFindings(
        source="shared",
        statements=found.statements,
        unread=found.unread,
        limit=settings.max_statements,
        choose=settings.choose,
        rulings=tuple(
            Ruling(
                statement=one.id,
                label=case.draw("ruling", one.id).choice(("Right", "Wrong", "Unknown")),
                given=case.draw("given", one.id).choice(("Right", "Wrong", "Unknown", "Other")),
            )
            for one in chosen
        ),
    )


Scores = Callable[[Sequence[Case], Profile], Tree]
"""Scores of several judges' claim sets of one report."""


def _citation(settings: CitationSettings) -> Scores:
    return lambda cases, profile: [
        Citation(settings).score([cited_claims(one.document, one.claims, settings) for one in cases], profile)
    ]


def _facts(settings: FactsSettings) -> Scores:
    return lambda cases, profile: [score_facts([facts(one, settings) for one in cases], profile)]


SCORES: dict[str, Scores] = {
    "deer": lambda cases, profile: score_deer(
        [rows_of(one.claims, one.document) for one in cases], [], profile
    ),
    "deer of all": lambda cases, _: over_reports(
        [Report([rows_of(one.claims, one.document) for one in cases], [])], 0
    ),
    "fact": lambda cases, profile: Fact().score([fact(one, False) for one in cases], profile),
    "fact by words": lambda cases, profile: Fact().score([fact(one, False, False) for one in cases], profile),
    "fact recovered": lambda cases, profile: Fact().score([fact(one, True) for one in cases], profile),
    "accuracy": lambda cases, profile: [CitationAccuracy().score([accuracy(one) for one in cases], profile)],
    "citation": _citation(CitationSettings()),
    "citation pairs": _citation(CitationSettings(unit="pair", unsettled="unverifiable")),
    "citation recovered": _citation(CitationSettings(recovered=True, unsettled="unverifiable")),
    "factuality": lambda cases, profile: [
        Factuality().score([factuality(one, 30) for one in cases], profile)
    ],
    "factuality of 5": lambda cases, profile: [
        Factuality().score([factuality(one, 5) for one in cases], profile)
    ],
    "facts": _facts(FactsSettings()),
    "facts of 5": _facts(FactsSettings(max_statements=5)),
    "salient facts of 5": _facts(FactsSettings(max_statements=5, choose="salience")),
    "fact of all": lambda cases, profile: Fact().aggregate([[fact(one, False) for one in cases]], profile, 0),
    "facts of all": lambda cases, profile: [
        aggregate_facts([[facts(one, FactsSettings()) for one in cases]], profile, 0)
    ],
    "citation of all": lambda cases, profile: [
        Citation().aggregate(
            [[cited_claims(one.document, one.claims, CitationSettings()) for one in cases]], profile, 0
        )
    ],
}


def scores(tree: Tree) -> Iterator[tuple[str, Score]]:
    """Yield each score but those that say what is unknown."""
    for root in tree:
        yield from (
            ("/".join(path), node.score)
            for path, node in root.walk()
            if path[0] != "unknown" and node.id not in ("unavailable", "failed")
        )


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("judges", [("a",), ("a", "b", "c")], ids=["one", "three"])
def test_complete_scores_lie_within_the_bounds_of_incomplete_ones(name: str, judges: tuple[str, ...]) -> None:
    n_compared = n_narrower = 0
    for seed in range(24):
        whole, part = zip(*(drawn(seed, judge) for judge in judges), strict=True)
        for profile in PROFILES:
            complete = dict(scores(SCORES[name](whole, profile)))
            incomplete = dict(scores(SCORES[name](part, profile)))
            for path, found in complete.items():
                if found.value is None or path not in incomplete:
                    continue
                n_compared += 1
                opened = incomplete[path]
                place = f"{name}, seed {seed}, {profile}, {path}: {found!r} within {opened!r}"
                assert opened.low is None or opened.low <= found.value + 1e-9, place
                assert opened.high is None or opened.high >= found.value - 1e-9, place
                n_narrower += opened.low is not None and opened.high is not None
    assert n_compared > 40
    assert n_narrower > 20
