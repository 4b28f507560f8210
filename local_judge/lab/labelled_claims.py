"""Claims with known labels, and a judge's answers about them.

Invariant: each row gives one answer, in the same order: log-odds, a failure, or the status of a page that cannot be
read. The labels are not used before the judge has answered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, get_args

from indexes.model import Page, SourceStatus
from indexes.snapshot import Snapshot
from indexes.urls import normalise_url
from local_judge.base.errors import InputError
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import evidence_groups
from local_judge.claims.model import Claim
from local_judge.claims.nearest import nearest_sentences
from local_judge.claims.scored import view_of
from local_judge.claims.yes_no import QUESTIONS, Answer, Asked, answer, ask_about, log_odds
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.model import AnnotatedReport
from local_judge.lab.annotations.verification import Version, questions
from local_judge.lab.verifier_benchmark.rows import LabelledRow
from local_judge.ledger.requests import canonical, sha256
from local_judge.runs.execution.job import Watcher
from local_judge.runs.execution.verify import ClaimRow, claim_of

Watch = Callable[[Judge, int], contextlib.AbstractContextManager[Watcher]]


class LabelledClaim(Frozen):
    """One row: a claim, its page, and its label: true if the page states it."""

    id: str
    claim: str
    url: str
    true: bool
    kind: str | None = None
    """Kind of the alteration; None if the claim is true."""
    planted: bool = True
    """True if code made it from a sentence of the page, and its label with it; False if people labelled it."""
    document: str = ""
    """Unit of the bootstrap and of the folds besides the page, such as the answer; empty for the page alone."""


class ClaimAnswer(NamedTuple):
    """A row with the judge's answer."""

    row: LabelledClaim
    url: str
    """Normalised URL, which identifies the page."""
    status: SourceStatus
    language: str
    """Language of the page."""
    text_digest: str
    log_odds: float | None
    """ln P(yes) - ln P(no); None if there is no answer."""
    failure: Failure | None
    reply: str | None
    """Key in the ledger."""
    elsewhere: bool = False
    """True if the claim was not asked, because runs show its page in another view."""


def labelled_claims(rows: Sequence[LabelledRow]) -> list[LabelledClaim]:
    """Return the rows of files; one is true if its label is `supported`, and not if it is `partial`."""
    return [
        LabelledClaim(
            id=f"{row.set}/{row.id}",
            claim=row.claim,
            url=row.page,
            true=row.label == "supported",
            planted=row.planted,
            document=row.document,
        )
        for row in rows
    ]


def annotated_claims(reports: Sequence[AnnotatedReport]) -> list[LabelledClaim]:
    """Return each labelled pair of a claim and a page, for original and altered claims.

    A claim is true if the label of the page is `supported`; a claim that a page states in part is not true.
    """
    return [
        LabelledClaim(
            id=f"{one.claim.id}@{one.url}",
            claim=one.claim.text,
            url=one.url,
            true=one.gold == "supported",
            kind=one.kind or (None if one.gold == "supported" else one.gold),
            planted=False,
        )
        for report in reports
        for version in get_args(Version)
        for one in questions(report, version)
    ]


def claim_prompts(
    page: Page, claims: Sequence[Claim], snapshot: Snapshot, config: ClaimsConfig
) -> Iterator[tuple[Claim, Asked | None]]:
    """Yield the claims about a page with their questions; None for a claim that runs ask about in another view."""
    for evidence, group in evidence_groups(page, claims, snapshot, config):
        nearest = nearest_sentences(page, group, snapshot, config)
        for claim, found in zip(group, nearest, strict=True):
            asked = view_of(claim, evidence.page, found, config) == config.view
            name = QUESTIONS[config.view].supported
            yield claim, ask_about(evidence, name, claim, found) if asked else None


async def ask_claims(
    rows: Sequence[LabelledClaim],
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    watch: Watch | None = None,
) -> list[ClaimAnswer]:
    """Ask whether the page states the claim, as the method `scored` does: one call per claim.

    Args:
        rows: claims to ask about.
        snapshot: snapshot of their pages.
        judge: the judge.
        config: selects the evidence that is shown.
        watch: displays the number of finished pages.

    Raises:
        LedgerError: a reply could not be stored.
    """
    by_url: dict[str, list[LabelledClaim]] = {}
    for row in rows:
        by_url.setdefault(normalise_url(row.url), []).append(row)
    pages = {url: snapshot.page(url) for url in by_url}
    readable = [url for url in by_url if pages[url].status == "ok"]
    picks: dict[str, Answer | Failure] = {}
    elsewhere: set[str] = set()

    async def ask(claim: Claim, asked: Asked) -> None:
        picks[claim.id] = await answer(judge, asked)

    async def one(url: str, watcher: Watcher | None) -> None:
        claims = [claim_of(ClaimRow(id=row.id, claim=row.claim, url=row.url)) for row in by_url[url]]
        asked = list(claim_prompts(pages[url], claims, snapshot, config))
        elsewhere.update(claim.id for claim, prompt in asked if prompt is None)
        await asyncio.gather(*(ask(claim, prompt) for claim, prompt in asked if prompt is not None))
        if watcher is not None:
            watcher.one_done()

    with contextlib.nullcontext() if watch is None else watch(judge, len(readable)) as watcher:
        await asyncio.gather(*(one(url, watcher) for url in readable))
    return [
        _answer(row, pages[normalise_url(row.url)], picks.get(row.id), row.id in elsewhere) for row in rows
    ]


def refuse_duplicates(rows: Iterable[LabelledClaim]) -> None:
    """Raise InputError for an id that occurs twice, in one file or in two."""
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise InputError(f"the claim {row.id!r} is given twice; name each file, or folder of them, once")
        seen.add(row.id)


def _answer(row: LabelledClaim, page: Page, pick: Answer | Failure | None, elsewhere: bool) -> ClaimAnswer:
    answered = isinstance(pick, Answer)
    return ClaimAnswer(
        row=row,
        url=page.url,
        status=page.status,
        language=page.language,
        text_digest=page.text_digest,
        log_odds=log_odds(pick.choice) if answered else None,
        failure=pick if isinstance(pick, Failure) else None,
        reply=pick.replies[0] if answered else None,
        elsewhere=elsewhere,
    )


def data_digest(answers: Sequence[ClaimAnswer]) -> str:
    """Return the SHA-256 of the input of a fit without the judge's answers: rows by id, and their pages."""
    rows = [[one.row.id, one.row.claim, one.url, one.row.true, one.text_digest] for one in answers]
    return sha256(canonical(sorted(rows, key=lambda row: str(row[0]))))
