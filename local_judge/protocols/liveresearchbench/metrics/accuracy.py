"""Citation accuracy: errors of one report, lower is better (LiveResearchBench, section 4.2 and appendix E).

    E1 = dead URLs, and cited entries without a URL       E1 rate = E1 / URLs with a known status and such entries
    E2 = pages off topic         E2 rate = E2 / URLs with a known topic
    E3 = claims and URLs on live pages on topic that do not support the claim;  E3 rate = E3 / judged pairs
    errors = E1 + E2 + E3        the paper's number is its mean over reports

A claim that a page supports in part counts as not supported; `partial` counts these. An entry without a URL
(LiveResearchBench, Figure 15) is one dead page, whatever cites it; a mark without an entry is unread. A page that was
not read, or that the judge calls unusable, is neither an error nor a dead page: it opens the upper bound, as failures
do. Each number is the mean over judges.

Invariants: only citations written on a claim's own sentence count. A page is examined once, whatever cites it. `low` is
the known number and equals the value. An unknown page opens `high` by one, or by the number of its claims if that is
higher; a sentence whose claims are unknown, by as many as it may have; a citation that was not read, by one for its
page and by its claims. The coverage of the errors is that of the pairs of claim and URL, which most errors are.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import Field

from indexes.model import Page, SourceStatus
from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.claims.model import ClaimSet, Label, Quote, leaves_open
from local_judge.claims.unread import Unread, unread_of
from local_judge.claims.yes_no import NEUTRAL, OPTIONS
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import task_of
from local_judge.protocols.base import Case, Decision, EvalContext
from local_judge.protocols.metric import Metric, MetricFindings, mean_over_judges_of
from local_judge.rubric.answers import ItemRow
from local_judge.scoring.algebra import Unseen, share, undefined
from local_judge.scoring.algebra import count as counted
from local_judge.scoring.coverage import read_in_part
from local_judge.scoring.node import COUNT, Profile, Scale, Score, ScoreNode, node, noted
from local_judge.tasks.model import Task

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
    """Length of the start of a page, after its title, by which its topic is judged; in estimated tokens (see
    `claims.evidence.estimate_tokens`), so that every judge sees the same text."""


class CitedPage(Frozen):
    """One cited URL."""

    url: str
    """Normalised URL; of an entry without one, `no address`, its id and its text."""
    status: SourceStatus
    """Status of the page in the claim set; an entry without a URL is `dead`."""
    reason: str = ""
    on_topic: bool | None = None
    """Result of the topic check; None without text or answer."""
    probability: float | None = None
    """Probability P(on topic)."""
    failure: Failure | None = None
    """Reason why there is no answer."""
    reply: str = ""
    """Ledger key."""


class CitedClaim(Frozen):
    """One claim and one URL that it cites."""

    claim: str
    """Id of the claim, or of the sentence if its claims are unknown."""
    text: str
    """Text of the claim."""
    url: str
    """Cited URL."""
    label: Label | None = None
    """None if it was not judged: the page has no text, or see `failure`."""
    quote: Quote | None = None
    rationale: str = ""
    failure: Failure | None = None
    """Reason why there is no label."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class AccuracyFindings(MetricFindings):
    """All cited pages of one report."""

    pages: tuple[CitedPage, ...]
    """Pages in the order of their first citation."""
    claims: tuple[CitedClaim, ...]
    """Claims in reading order."""
    unread: Unread = Unread()
    """Sentences whose claims are unknown, and citations whose sources are."""

    @property
    def n_failed(self) -> int:
        """Pages whose topic is unknown; verdicts are counted with the claim set."""
        return sum(page.failure is not None for page in self.pages)


class CitationAccuracy(Metric[AccuracySettings, AccuracyFindings]):
    """Citation errors of a report, with their kinds, rates, and the pages that could not be read."""

    id = "accuracy"
    label = "Citation errors"
    scale = _ERRORS
    vertical = "sources"

    @property
    def needs_claims(self) -> bool:
        """True: errors of the third kind are claims."""
        return True

    async def examine(self, case: Case, context: EvalContext) -> AccuracyFindings:
        """Examine all cited pages and claims of one report; openings are judged while the claim set is made.

        Raises:
            ConfigError: the run has no snapshot.
        """
        task, snapshot, report = (
            task_of(case),
            context.pages("liveresearchbench"),
            resolve_addresses(case.report),
        )
        tokens = self.settings.opening_tokens
        async with asyncio.TaskGroup() as group:  # a claim set that fails cancels the pages
            looks = [
                group.create_task(_look(url, task, snapshot, context.judge, tokens)) for url in _urls(report)
            ]
            claims = await context.claims()
        return AccuracyFindings(
            pages=tuple(look.result() for look in looks),
            claims=tuple(cited_claims(report, claims)),
            unread=unread_of(claims, report),
        )

    def score(self, judges: Sequence[AccuracyFindings], profile: Profile) -> ScoreNode:
        """Score all errors, their kinds and rates, and the pages that could not be read."""
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
        """Yield the decision on each page (on topic) and each claim (supported)."""
        read = {page.url for page in findings.pages if page.status == "ok"}
        for page in findings.pages:
            if page.url in read:
                yield Decision(
                    metric="on_topic", item=page.url, value=_yes_no(page.on_topic), scale="nominal"
                )
        for claim in findings.claims:
            if claim.url in read:
                supported = None if claim.label in (None, "unusable") else claim.label == "supported"
                item = f"{claim.claim} {claim.url}"
                yield Decision(metric="claim_support", item=item, value=_yes_no(supported), scale="nominal")

    def items(self, findings: AccuracyFindings) -> Iterator[ItemRow]:
        """Yield each cited page with its topic or its status, then each claim with its label."""
        for page in findings.pages:
            topic = page.status if page.status != "ok" else _yes_no(page.on_topic)
            replies = (page.reply,) if page.reply else ()
            yield ItemRow(
                "on_topic",
                page.url,
                page.url,
                topic,
                page.reason,
                url=page.url,
                failure=page.failure,
                replies=replies,
            )
        for one in findings.claims:
            yield ItemRow(
                "claim_support",
                one.claim,
                one.text,
                one.label,
                one.rationale,
                one.quote,
                url=one.url,
                failure=one.failure,
                replies=one.replies,
            )

    def lines(self, findings: AccuracyFindings) -> Iterator[str]:
        """Yield the numbers of pages by status, and of pages off topic."""
        found = [page.status for page in findings.pages]
        listed = ", ".join(f"{found.count(status)} {status}" for status in dict.fromkeys(found))
        off = sum(page.on_topic is False for page in findings.pages)
        yield f"accuracy: {count(len(found), 'cited page')} ({listed or 'none'}), {off} off topic"


def _yes_no(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


NO_ADDRESS = "no address"


def resolve_addresses(document: Document) -> Document:
    """Return the document in which entries without a URL are the addresses of their citations: see `CitedPage.url`."""
    names = {
        entry.id: f"{NO_ADDRESS} ({entry.id}): {' '.join(entry.text.split())[:80]}"
        for entry in document.references
    }
    citations = tuple(
        citation.model_copy(update={"url": names[citation.reference], "state": "resolved"})
        if citation.state == "no_url" and citation.reference is not None
        else citation
        for citation in document.citations
    )
    return Document.model_validate({**dict(document), "citations": citations})


def _urls(document: Document) -> dict[str, None]:
    """Return the URLs of the citations on sentences, in reading order."""
    citations = (document.citation(one) for sentence in document.sentences for one in sentence.citations)
    return {citation.url: None for citation in citations if citation.url is not None}


async def _look(url: str, task: Task, snapshot: Snapshot, judge: Judge, tokens: int) -> CitedPage:
    if url.startswith(NO_ADDRESS):
        return CitedPage(url=url, status="dead", reason=NO_ADDRESS)
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
    """Return the prompt whether a page's opening fits the task; the request is the shared prefix of its pages."""
    shown = [f"Address: {page.url}", page.title, opening(page.text, tokens)]
    text = fence("\n\n".join(part for part in shown if part), "Opening of a page:")
    return Prompt(
        shared=fence(task.prompt, "Request:"),
        own=fill(load_prompt("local_judge.protocols.liveresearchbench", "topic"), {"page": text}),
        prefix_key=f"request:{task.id}",
    )


def opening(text: str, tokens: int) -> str:
    """Return the longest start of `text` of at most `tokens` estimated tokens, cut at white space if possible."""
    spent = 0  # in sevenths of a token: 2 for a character, 7 for a wide one, as `estimate_tokens` counts
    for end, character in enumerate(text):
        spent += 7 if character >= "\u2e80" else 2
        if spent > 7 * tokens:
            cut = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end))
            return text[: cut if cut > end // 2 else end].rstrip() + " […]"
    return text


def cited_claims(document: Document, claims: ClaimSet) -> Iterator[CitedClaim]:
    """Yield each claim with each URL that it cites, then the URLs of sentences whose claims are unknown."""
    verdicts = {(verdict.claim, verdict.url): verdict for verdict in claims.verdicts}
    for claim in claims.claims:
        for url in _of(claim.citations, document):
            found = CitedClaim(claim=claim.id, text=claim.text, url=url)
            verdict = verdicts.get((claim.id, url))
            if verdict is not None:
                fields = ("label", "quote", "rationale", "failure", "replies")
                found = found.model_copy(update={name: getattr(verdict, name) for name in fields})
            yield found
    sentences = {sentence.label: sentence for sentence in document.sentences}
    for lost in claims.extraction_failures:
        for label in lost.sentences:
            for url in _of(sentences[label].citations, document):
                yield CitedClaim(claim=label, text=sentences[label].text, url=url, failure=lost.failure)


def _of(citations: tuple[str, ...], document: Document) -> dict[str, None]:
    urls = (document.citation(citation).url for citation in citations)
    return {url: None for url in urls if url is not None}


def _scores(findings: AccuracyFindings) -> tuple[Score, dict[str, Score]]:
    """Return the score of all errors, and the scores that it is made of by id."""
    on_page: dict[str, list[CitedClaim]] = {page.url: [] for page in findings.pages}
    for claim in findings.claims:
        on_page[claim.url].append(claim)
    unread = findings.unread
    unusable = {claim.url for claim in findings.claims if claim.label == "unusable"}
    labels_unread = {sentence.label for sentence in unread.sentences}
    lost = Counter(claim.url for claim in findings.claims if claim.claim in labels_unread)
    n_pages = len(findings.pages)
    live = [page for page in findings.pages if page.status == "ok" and page.url not in unusable]
    unavailable = [page for page in findings.pages if leaves_open(page.status) or page.url in unusable]
    unsure = [*unavailable, *(page for page in live if page.on_topic is None)]
    on_topic = [page.url for page in live if page.on_topic]
    read = [claim for url in on_topic for claim in on_page[url]]
    labels = [claim.label for claim in read if claim.label is not None]
    without = [claim.url for claim in read if claim.label is None]
    n_dead = n_pages - len(live) - len(unavailable)
    n_off_topic = sum(page.on_topic is False for page in live)
    n_unsupported = sum(label != "supported" for label in labels)
    n_open = len(without) + sum(len(on_page[page.url]) for page in unsure)
    n_pairs = len(labels) + n_open
    # Each unread sentence has a row for each page that it cites, which stands for one of its claims.
    open_urls = [*on_topic, *(page.url for page in unsure)]
    n_lost = sum(lost[url] for url in open_urls)
    n_unread = sum(unread.pairs(url, traced=False) for url in open_urls) - n_lost
    n_sources = unread.citations.n
    n_unread += unread.citations.pairs(traced=False)
    kinds = {
        "e1": (n_dead, n_pages, len(unavailable), NOTHING_CITED),
        "e2": (n_off_topic, n_pages, len(unsure), NOTHING_CITED),
        "e3": (n_unsupported, n_pairs, n_open, NO_CLAIM),
    }
    more = {"e1": n_sources, "e2": n_sources, "e3": n_unread}
    parts = {
        id: _count(n, n_failed + more.get(id, 0), n_units, n_failed, empty)
        for id, (n, n_units, n_failed, empty) in kinds.items()
    }
    parts |= {f"{id}_rate": _rate(*kind, more.get(id, 0)) for id, kind in kinds.items()}
    parts["partial"] = _count(labels.count("partial"), n_open + n_unread, n_pairs, n_open, NO_CLAIM)
    parts["unavailable"] = _count(len(unavailable), 0, n_pages, 0, NOTHING_CITED)
    most = len(without) + sum(_most(page, on_page[page.url]) for page in unsure) + n_unread + n_sources
    units = {page.url: max(1, len(on_page[page.url]) - lost[page.url]) for page in findings.pages}
    n_failed = sum(units[page.url] for page in unsure) + len(without) - sum(lost[url] for url in on_topic)
    errors = _count(n_dead + n_off_topic + n_unsupported, most, sum(units.values()), n_failed, NOTHING_CITED)
    of_claims = {
        id: read_in_part(parts[id], unread.known_places, n_lost) for id in ("e3", "e3_rate", "partial")
    }
    known_pages = n_pages / (n_pages + n_sources) if n_sources else 1.0
    of_pages = {id: read_in_part(parts[id], known_pages) for id in ("e1", "e1_rate", "e2", "e2_rate")}
    return read_in_part(errors, unread.known_places), {**parts, **of_claims, **of_pages}


def _most(page: CitedPage, claims: Sequence[CitedClaim]) -> int:
    """Return the most errors of an unknown page: it is dead or off topic, or each claim is not supported."""
    return max(1, sum(claim.label != "supported" for claim in claims))


def _count(known: int, more: int, n: int, n_failed: int, without: str) -> Score:
    """Return a number of errors with the most that may be added; `without` is the note if there are no units."""
    found = counted(known, more, n_expected=n, n_failed=n_failed, note="" if n else without)
    if not n or n_failed < n:
        return found
    return noted(found.model_copy(update={"value": None, "numerator": None}), NOTHING_KNOWN)


def _rate(found: int, n: int, n_failed: int, without: str, more: int) -> Score:
    score = share(found, n - n_failed, n_failed, empty=f"0/0: {without}", unseen=Unseen(more))
    return score if score.value is not None or not n else noted(score, NOTHING_KNOWN)
