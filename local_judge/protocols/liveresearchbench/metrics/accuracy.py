"""Citation accuracy: errors of one report, fewer is better (section 4.1, appendix with the rubric tree).

    E1 = dead addresses          E1 rate = E1 / addresses of which it is known
    E2 = pages off topic         E2 rate = E2 / addresses of which it is known
    E3 = claims and addresses on live pages on topic where the page does not support the claim;  E3 rate = E3 / judged
    errors = E1 + E2 + E3        the paper's number is its mean over reports

A claim that a page supports in part is not supported by it; how many of E3 are such is given beside it. What we could
not read (`not_in_snapshot`, `blocked`, `empty`, `unsupported_type`) is no error and no dead page: it opens the upper
bound, as failures do. Of several judges, each number is the mean of theirs.

Invariants: only citations written on a claim's own sentence count; a page is looked at once, whatever cites it. `low`
is what is known, so that it equals the value; a page that is unknown opens `high` by one, or by one for each claim on
it where those are more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from pydantic import Field
from rich.table import Table

from indexes.model import Page, SourceStatus
from indexes.snapshot import Snapshot
from local_judge.claims.model import ClaimSet, Label, Quote
from local_judge.claims.yes_no import NEUTRAL, OPTIONS
from local_judge.documents.model import Document
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import task_of
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.metric import Metric, MetricFindings, mean_over_judges_of
from local_judge.scoring.algebra import count as counted
from local_judge.scoring.algebra import share, undefined
from local_judge.scoring.node import COUNT, Profile, Scale, Score, ScoreNode, node, noted
from local_judge.tasks.model import Task
from local_judge.terminal import NONE, count, item_table, safe
from serving.types import Frozen

NOT_CODED = "the published code has no citation accuracy"
NOTHING_CITED = "the report cites no page"
NO_CLAIM = "no claim cites a page that is live and on topic"
NOTHING_KNOWN = "nothing is known of any of them"

_LABELS = {
    "e1": "E1 unreachable",
    "e2": "E2 off topic",
    "e3": "E3 unsupported",
    "e1_rate": "E1 of addresses",
    "e2_rate": "E2 of addresses",
    "e3_rate": "E3 of claims on pages",
    "partial": "of E3: supported in part",
    "unavailable": "Unavailable to us",
}
_ERRORS, _RATE = Scale(high=None, better="lower"), Scale(high=1, better="lower")


class AccuracySettings(Frozen):
    """Settings of citation accuracy."""

    opening_tokens: int = Field(default=300, ge=50, le=2000)
    """How much of a page, beside its title, says whether it is on topic; in estimated tokens (see
    `claims.evidence.estimate_tokens`), so that every judge sees the same."""


class CitedPage(Frozen):
    """One address."""

    url: str
    """Normalised."""
    status: SourceStatus
    reason: str = ""
    on_topic: bool | None = None
    """Whether its opening fits the task; None where there is no text, or no answer."""
    probability: float | None = None
    """P(on topic)."""
    failure: Failure | None = None
    """Why there is no answer."""
    reply: str = ""
    """Ledger key."""


class CitedClaim(Frozen):
    """One claim against one address that it cites."""

    claim: str
    """Its id; that of the sentence where the claims of that are not known."""
    text: str
    url: str
    label: Label | None = None
    """None where it was not judged: the page has no text, or see `failure`."""
    quote: Quote | None = None
    rationale: str = ""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class AccuracyFindings(MetricFindings):
    """All cited pages of one report."""

    pages: tuple[CitedPage, ...]
    """In the order of their first citation."""
    claims: tuple[CitedClaim, ...]
    """In reading order."""
    n_unresolved: int = 0
    """Citations that lead to no address: they are no error here (see presentation, p4)."""

    @property
    def n_failed(self) -> int:
        """Pages of which it is not known whether they are on topic; verdicts are counted with the claim set."""
        return sum(page.failure is not None for page in self.pages)


class CitationAccuracy(Metric[AccuracySettings, AccuracyFindings]):
    """The errors of a report's citations, with their kinds, rates, and what could not be read."""

    id = "accuracy"
    label = "Citation errors"
    scale = _ERRORS
    vertical = "sources"
    settings_type = AccuracySettings
    findings_type = AccuracyFindings

    @property
    def needs_claims(self) -> bool:
        """Its third kind of error is a claim's."""
        return True

    async def examine(self, case: Case, context: EvalContext) -> AccuracyFindings:
        """All cited pages and claims of one report; openings are judged while the claim set is being made.

        Raises:
            ConfigError: there is no snapshot.
        """
        task, snapshot = task_of(case), context.pages("liveresearchbench")
        tokens = self.settings.opening_tokens
        async with asyncio.TaskGroup() as group:  # without claims, nobody waits for the pages
            looks = [
                group.create_task(_look(url, task, snapshot, context.judge, tokens))
                for url in _urls(case.report)
            ]
            claims = await context.claims()
        return AccuracyFindings(
            pages=tuple(look.result() for look in looks),
            claims=tuple(cited_claims(case.report, claims)),
            n_unresolved=sum(citation.url is None for citation in case.report.citations),
        )

    def score(self, judges: Sequence[AccuracyFindings], profile: Profile) -> ScoreNode:
        """All errors, with their kinds, rates, and what could not be read."""
        return mean_over_judges_of(lambda one: self._of_one(one, profile), judges)

    def _of_one(self, findings: AccuracyFindings, profile: Profile) -> ScoreNode:
        errors, parts = _scores(findings)
        if profile == "upstream":
            errors = undefined(NOT_CODED)
            parts = dict.fromkeys(parts, errors)
        return self.node(
            errors,
            tuple(
                node(
                    name,
                    _LABELS[name],
                    score,
                    aside=COUNT if name == "unavailable" else "",
                    scale=_RATE if name.endswith("_rate") else _ERRORS,
                )
                for name, score in parts.items()
            ),
        )

    def decisions(self, findings: AccuracyFindings) -> Iterator[Decision]:
        """Decisions on each page (on topic) and each claim (supported): all judges verify the same claims."""
        read = {page.url for page in findings.pages if page.status == "ok"}
        for page in findings.pages:
            if page.url in read:
                yield Decision(
                    metric="on_topic", item=page.url, value=_yes_no(page.on_topic), scale="nominal"
                )
        for claim in findings.claims:
            if claim.url in read:
                supported = None if claim.label is None else claim.label == "supported"
                item = f"{claim.claim} {claim.url}"
                yield Decision(metric="claim_support", item=item, value=_yes_no(supported), scale="nominal")

    def lines(self, findings: AccuracyFindings) -> Iterator[str]:
        """Numbers of pages by status, and of those off topic."""
        found = [page.status for page in findings.pages]
        listed = ", ".join(f"{found.count(status)} {status}" for status in dict.fromkeys(found))
        off = sum(page.on_topic is False for page in findings.pages)
        yield f"accuracy: {count(len(found), 'cited page')} ({listed or 'none'}), {off} off topic"

    def tables(self, findings: AccuracyFindings) -> Iterator[Table]:
        """Each page with the labels of the claims that cite it."""
        if not findings.pages:
            return
        table = item_table("cited page", "status", "on topic", "claims")
        for page in findings.pages:
            own = [claim.label or "no verdict" for claim in findings.claims if claim.url == page.url]
            topic = f"failed: {page.failure.kind}" if page.failure is not None else _yes_no(page.on_topic)
            claims = ", ".join(f"{own.count(label)} {label}" for label in dict.fromkeys(own))
            table.add_row(safe(page.url), page.status, topic or NONE, claims or NONE)
        yield table


def _yes_no(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _urls(document: Document) -> dict[str, None]:
    """The addresses that citations on sentences lead to, in reading order."""
    citations = (document.citation(one) for sentence in document.sentences for one in sentence.citations)
    return {citation.url: None for citation in citations if citation.url is not None}


async def _look(url: str, task: Task, snapshot: Snapshot, judge: Judge, tokens: int) -> CitedPage:
    page = snapshot.page(url)
    found = CitedPage(url=url, status=page.status, reason=page.reason)
    if page.status != "ok":
        return found
    answer = await judge.choose(topic_prompt(task, page, tokens), OPTIONS)
    if isinstance(answer, Failure):
        return found.model_copy(update={"failure": answer})
    probability = answer.probabilities["Yes"]
    return found.model_copy(
        update={
            "on_topic": probability >= NEUTRAL,
            "probability": round(probability, 6),
            "reply": answer.reply,
        }
    )


def topic_prompt(task: Task, page: Page, tokens: int) -> Prompt:
    """The question whether a page's opening fits the task. The request comes first: all its pages share that prefix."""
    shown = [f"Address: {page.url}", page.title, opening(page.text, tokens)]
    text = fence("\n\n".join(part for part in shown if part), "Opening of a page:")
    return Prompt(
        shared=fence(task.prompt, "Request:"),
        own=fill(load_prompt("local_judge.protocols.liveresearchbench", "topic"), {"page": text}),
        prefix_key=f"request:{task.id}",
    )


def opening(text: str, tokens: int) -> str:
    """The longest beginning of `text` of at most `tokens` estimated tokens, cut at white space where there is some."""
    spent = 0  # in sevenths of a token: 2 for a character, 7 for a wide one, as `estimate_tokens` counts
    for end, character in enumerate(text):
        spent += 7 if character >= "\u2e80" else 2
        if spent > 7 * tokens:
            cut = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end))
            return text[: cut if cut > end // 2 else end].rstrip() + " […]"
    return text


def cited_claims(document: Document, claims: ClaimSet) -> Iterator[CitedClaim]:
    """Each claim and address that it cites, then the addresses of sentences whose claims are not known."""
    verdicts = {(verdict.claim, verdict.url): verdict for verdict in claims.verdicts}
    for claim in claims.claims:
        for url in _of(claim.citations, document):
            found = CitedClaim(claim=claim.id, text=claim.text, url=url)
            verdict = verdicts.get((claim.id, url))
            if verdict is not None:
                told = ("label", "quote", "rationale", "failure", "replies")
                found = found.model_copy(update={name: getattr(verdict, name) for name in told})
            yield found
    sentences = {sentence.label: sentence for sentence in document.sentences}
    for lost in claims.extraction_failures:
        for label in lost.sentences:
            for url in _of(sentences[label].citations, document):
                yield CitedClaim(claim=label, text=sentences[label].text, url=url, failure=lost.failure)


def _of(citations: tuple[str, ...], document: Document) -> dict[str, None]:
    urls = (document.citation(one).url for one in citations)
    return {url: None for url in urls if url is not None}


def _scores(findings: AccuracyFindings) -> tuple[Score, dict[str, Score]]:
    """Return the score of all errors, and the scores that it is made of by id."""
    on_page: dict[str, list[CitedClaim]] = {page.url: [] for page in findings.pages}
    for claim in findings.claims:
        on_page[claim.url].append(claim)
    n_pages = len(findings.pages)
    live = [page for page in findings.pages if page.status == "ok"]
    unavailable = [page for page in findings.pages if page.status not in ("ok", "dead")]
    unsure = [*unavailable, *(page for page in live if page.on_topic is None)]
    read = [claim for page in live if page.on_topic for claim in on_page[page.url]]
    labels = [claim.label for claim in read if claim.label is not None]
    without = [claim.url for claim in read if claim.label is None]
    n_dead = n_pages - len(live) - len(unavailable)
    n_off_topic = sum(page.on_topic is False for page in live)
    n_unsupported = sum(label != "supported" for label in labels)
    n_open = len(without) + sum(len(on_page[page.url]) for page in unsure)
    n_pairs = len(labels) + n_open
    kinds = {
        "e1": (n_dead, n_pages, len(unavailable), NOTHING_CITED),
        "e2": (n_off_topic, n_pages, len(unsure), NOTHING_CITED),
        "e3": (n_unsupported, n_pairs, n_open, NO_CLAIM),
    }
    parts = {
        id: _count(n, n_failed, n_units, n_failed, empty)
        for id, (n, n_units, n_failed, empty) in kinds.items()
    }
    parts |= {f"{id}_rate": _rate(*kind) for id, kind in kinds.items()}
    parts["partial"] = _count(labels.count("partial"), n_open, n_pairs, n_open, NO_CLAIM)
    parts["unavailable"] = _count(len(unavailable), 0, n_pages, 0, NOTHING_CITED)
    most = len(without) + sum(_most(page, on_page[page.url]) for page in unsure)
    errors = _count(n_dead + n_off_topic + n_unsupported, most, n_pages, len(unsure), NOTHING_CITED)
    return errors.model_copy(update={"n_failed": len(unsure) + len(set(without))}), parts


def _most(page: CitedPage, claims: Sequence[CitedClaim]) -> int:
    """Return the most errors of an unknown page: it is dead or off topic, or each claim is not supported."""
    open_claims = len(claims) if page.status != "ok" else sum(claim.label != "supported" for claim in claims)
    return max(1, open_claims)


def _count(known: int, more: int, n: int, n_failed: int, without: str) -> Score:
    """A number of errors: what is known, and what may come to it; `without`: what it says where there are no units."""
    found = counted(known, more, n_expected=n, n_failed=n_failed, note="" if n else without)
    if not n or n_failed < n:
        return found
    return noted(found.model_copy(update={"value": None, "numerator": None}), NOTHING_KNOWN)


def _rate(found: int, n: int, n_failed: int, without: str) -> Score:
    score = share(found, n - n_failed, n_failed, empty=f"0/0: {without}")
    return score if score.value is not None or not n else noted(score, NOTHING_KNOWN)
