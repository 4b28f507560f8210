"""Report + snapshot + claim set -> the pages that it cites, and its claims on them.

    E1   the page is dead                                              once for each address, and no more of it
    E2   its title and opening have nothing to do with the task        once for each address, and no more of it
    E3   it does not support a claim that cites it                     once for each claim and address

Invariant: only citations written on a claim's own sentence count; a page is looked at once, whatever cites it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.claims.belief import NEUTRAL, OPTIONS
from local_judge.claims.model import ClaimSet
from local_judge.documents.model import Document
from local_judge.errors import ConfigError
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import task_of
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.liveresearchbench.accuracy.findings import (
    AccuracyFindings,
    CitedClaim,
    CitedPage,
)
from local_judge.protocols.liveresearchbench.accuracy.settings import AccuracySettings
from local_judge.tasks.model import Task

template = partial(load_prompt, "local_judge.protocols.liveresearchbench")


async def judge_accuracy(case: Case, bench: Bench, settings: AccuracySettings) -> AccuracyFindings:
    """All cited pages and claims of one report; openings are judged while the claim set is being made.

    Raises:
        ConfigError: there is no task, or no snapshot.
    """
    if bench.snapshot is None:
        raise ConfigError("liveresearchbench: judging pages needs a snapshot; give --snapshot")
    task = task_of(case, "liveresearchbench")
    snapshot = bench.snapshot
    async with asyncio.TaskGroup() as group:  # without claims, nobody waits for the pages
        looks = [
            group.create_task(_look(url, task, snapshot, bench.judge, settings)) for url in _urls(case.report)
        ]
        claims = await bench.claims()
    return AccuracyFindings(
        pages=tuple(look.result() for look in looks),
        claims=tuple(cited_claims(case.report, claims)),
        n_unresolved=sum(citation.url is None for citation in case.report.citations),
    )


def _urls(document: Document) -> dict[str, None]:
    """The addresses that citations on sentences lead to, in reading order."""
    citations = (document.citation(one) for sentence in document.sentences for one in sentence.citations)
    return {citation.url: None for citation in citations if citation.url is not None}


async def _look(
    url: str, task: Task, snapshot: Snapshot, judge: Judge, settings: AccuracySettings
) -> CitedPage:
    page = snapshot.page(url)
    found = CitedPage(url=url, status=page.status, reason=page.reason)
    if page.status != "ok":
        return found
    pick = await judge.choose(topic_prompt(task, page, settings.opening_tokens), OPTIONS)
    if isinstance(pick, Failure):
        return found.model_copy(update={"failure": pick})
    probability = pick.probabilities["Yes"]
    return found.model_copy(
        update={
            "on_topic": probability >= NEUTRAL,
            "probability": round(probability, 6),
            "reply": pick.reply,
        }
    )


def topic_prompt(task: Task, page: Page, tokens: int) -> Prompt:
    """Whether a page's opening fits the task. The request comes first: all pages cited for it share that."""
    shown = [f"Address: {page.url}", page.title, opening(page.text, tokens)]
    text = fence("\n\n".join(part for part in shown if part), "Opening of a page:")
    return Prompt(
        shared=fence(task.prompt, "Request:"),
        own=fill(template("topic"), {"page": text}),
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
