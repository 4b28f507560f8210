"""Domain authority, 0 to 100 (DREAM, section 3).

    DA = 100 * (1 / |D|) * sum over D of S_d / 10          D: distinct domains cited; S_d: 1 to 10

    authority       0 for a report that cites no domain, as in the paper's tables
    when_cited      undefined for such a report
    over reports    the means of both, and `share_uncited`: reports that cite no domain, of all reports

S_d is the mean over the judges that gave one. A domain without a score is left out and opens the bounds with 1 and 10.

Invariants: a report with citations has at least 10. A prompt contains a domain and nothing of the report, the task or
the day, so that one judgement of a domain is replayed from the ledger for all reports, systems and runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, load_prompt
from local_judge.protocols.asking import no_boolean
from local_judge.protocols.base import Case, Decision, EvalContext, PathSetting
from local_judge.protocols.dream.domains import domain_of, ratings_digest, read_ratings, shown
from local_judge.protocols.metric import Metric, MetricFindings
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.aggregate import mean_over_reports, share_of_reports
from local_judge.scoring.algebra import answers, exactly, failures_of, weighted
from local_judge.scoring.node import Profile, Score, ScoreNode, node, noted

SCALE = 10.0
"""Factor from a domain's score to the metric's scale."""
LEAST, MOST = 10.0, 100.0
UNCITED = "it cites no domain"
REPLY_TOKENS = 160
"""Limit of a reply: 300 characters and a number."""


class AuthoritySettings(Frozen):
    """Settings of domain authority."""

    ratings_file: Annotated[str | None, PathSetting()] = None
    """JSONL file of ratings by people; the judge is not asked about these domains."""


class CitedDomain(Frozen):
    """One cited domain."""

    domain: str
    """Registrable domain, or the host if it has none."""
    urls: tuple[str, ...]
    """Cited URLs on the domain, in reading order."""
    score: int | None = Field(default=None, ge=1, le=10)
    """None without an answer: see `failure`."""
    by: Literal["judge", "file"] = "judge"
    """`file`: rating by a person."""
    rationale: str = ""
    """Reason for the score."""
    failure: Failure | None = None
    """Reason why there is no score."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class AuthorityFindings(MetricFindings):
    """Domains that one report cites, each once, in the order of first citation."""

    domains: tuple[CitedDomain, ...]
    n_unresolved: int = 0
    """Citations without a URL."""

    @property
    def n_failed(self) -> int:
        """Number of domains without a score."""
        return sum(domain.score is None for domain in self.domains)


class Rating(Frozen):
    """Answer of a judge about one domain."""

    rationale: Annotated[str, Field(max_length=300)]
    score: Annotated[int, Field(ge=1, le=10), BeforeValidator(no_boolean)]


class Authority(Metric[AuthoritySettings, AuthorityFindings]):
    """Authority of the cited domains, 0 to 100."""

    id = "authority"
    label = "Domain authority"
    vertical = "sources"
    needs_task = False

    def __init__(self, settings: AuthoritySettings | None = None) -> None:
        super().__init__(settings)
        # Read here, so that an invalid file stops a run before it starts.
        file = self.settings.ratings_file
        self._ratings = read_ratings(Path(file)) if file is not None else {}

    def data_digest(self) -> str | None:
        """Return the SHA-256 of the ratings in the file."""
        return ratings_digest(self._ratings) if self._ratings else None

    async def examine(self, case: Case, context: EvalContext) -> AuthorityFindings:
        """Rate the domains of one report's citations."""
        cited = cited_domains(case.report)
        domains = await asyncio.gather(
            *(self._domain(domain, urls, context.judge) for domain, urls in cited.items())
        )
        return AuthorityFindings(
            domains=tuple(domains),
            n_unresolved=sum(citation.url is None for citation in case.report.citations),
        )

    async def _domain(self, domain: str, urls: tuple[str, ...], judge: Judge) -> CitedDomain:
        found = CitedDomain(domain=domain, urls=urls)
        given = self._ratings.get(domain)
        if given is not None:
            return found.model_copy(update={"score": given.score, "by": "file", "rationale": given.note})
        answer = await judge.ask(authority_prompt(domain), Rating, max_tokens=REPLY_TOKENS)
        if isinstance(answer, Failure):
            return found.model_copy(update={"failure": answer})
        return found.model_copy(
            update={
                "score": answer.value.score,
                "rationale": answer.value.rationale,
                "replies": answer.replies,
            }
        )

    def score(self, judges: Sequence[AuthorityFindings], profile: Profile) -> ScoreNode:
        """Score DA of one report, with the score of each domain."""
        domains = tuple(
            node(same[0].domain, shown(same[0].domain), _merge_scores(same))
            for same in zip(*(found.domains for found in judges), strict=True)
        )
        n_unresolved = judges[0].n_unresolved
        cited = weighted([(1.0, node.score) for node in domains], unit=MOST, empty=UNCITED)
        when_cited = noted(
            cited, f"{n_unresolved} citations lead to no address" if n_unresolved else "", failures_of(cited)
        )
        return self.node(
            when_cited if domains else exactly(0.0, f"0: {when_cited.note}"),
            (node("when_cited", "of reports that cite", when_cited, domains),),
        )

    def aggregate(
        self, reports: Sequence[Sequence[AuthorityFindings]], profile: Profile, n_missing: int
    ) -> ScoreNode:
        """Score the means with and without reports that cite nothing, and their share."""
        nodes = [self.score(judges, profile) for judges in reports]
        cited = [node.find("when_cited").score for node in nodes]
        uncited = [not judges[0].domains for judges in reports]
        children = (
            node(
                "when_cited",
                "mean over reports that cite",
                mean_over_reports(cited, n_missing, LEAST, MOST),
                mean=True,
            ),
            node("share_uncited", "reports that cite no domain", share_of_reports(uncited, n_missing)),
        )
        mean = mean_over_reports([node.score for node in nodes], n_missing, 0.0, MOST)
        return node(self.id, self.label, mean, children, mean=True)

    def decisions(self, findings: AuthorityFindings) -> Iterator[Decision]:
        """Yield the judge's score of each domain."""
        for one in findings.domains:
            if one.by == "judge":
                yield Decision(metric="authority", item=one.domain, value=one.score, scale="interval")

    def items(self, findings: AuthorityFindings) -> Iterator[ItemRow]:
        """Yield each cited domain with its score, 1 to 10."""
        for one in findings.domains:
            yield ItemRow(
                "authority",
                one.domain,
                shown(one.domain),
                one.score,
                one.rationale if one.by == "judge" else "rated by a person",
                url=one.urls[0] if one.urls else None,
                failure=one.failure,
                replies=one.replies,
                details=(count(len(one.urls), "address", "addresses"),),
            )

    def lines(self, findings: AuthorityFindings) -> Iterator[str]:
        """Yield the numbers of cited domains, and of those rated by people."""
        given = sum(domain.by == "file" for domain in findings.domains)
        failed = f", {findings.n_failed} failed" if findings.n_failed else ""
        yield f"authority: {count(len(findings.domains), 'domain')}, {given} rated by people{failed}"


def cited_domains(document: Document) -> dict[str, tuple[str, ...]]:
    """Return the cited URLs by domain, both in the order of first citation."""
    found: dict[str, dict[str, None]] = {}
    for citation in document.citations:
        if citation.url is not None:
            found.setdefault(domain_of(citation.url), {})[citation.url] = None
    return {domain: tuple(urls) for domain, urls in found.items()}


def authority_prompt(domain: str) -> Prompt:
    """Return the prompt for one domain; the description of the scale is the shared prefix."""
    return Prompt(
        shared=load_prompt("local_judge.protocols.dream", "authority"),
        own=fence(shown(domain), "Domain:"),
        prefix_key="dream:authority",
    )


def _merge_scores(same: Sequence[CitedDomain]) -> Score:
    """Merge all judges' scores of one domain."""
    scores = [None if one.score is None else SCALE * one.score for one in same]
    by_people = all(one.by == "file" for one in same)
    return answers(scores, LEAST, MOST, "rated by a person" if by_people else "")
