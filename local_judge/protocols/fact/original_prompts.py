"""FACT with the prompts of DeepResearch Bench: citations extracted, repeats of a URL removed, pages judged.

Invariants: the messages, their order and the number of attempts are those of the published `utils/extract.py`,
`deduplicate.py` and `validate.py`; replies are read as they read them, and a reply on which that code would end with an
error is a failure. The page of a citation comes from the snapshot, in the form of `scrape.py`; the judge is not asked
about a page that could not be had. The URL of a citation is the judge's own, as in the published code.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from indexes.model import Page
from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.base.failures import Failure
from local_judge.claims.build import PageVerifier
from local_judge.claims.model import Claim, ExtractionFailure, Verdict
from local_judge.claims.unread import Unread
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer, Judge
from local_judge.protocols.fact.export import JudgedRow, PageRow, pairs_on
from local_judge.protocols.fact.findings import Pair, Repeat
from local_judge.protocols.fact.own import targets_of, unread_pairs
from local_judge.protocols.fact.pairs import Examined, Pairs, on_page
from local_judge.protocols.originals import (
    Checkout,
    Original,
    Published,
    asked_as_published,
    message,
    read_json,
)

ATTEMPTS = 3
"""Number of times that repeats and support are asked about; citations are extracted once."""


def _read(checkout: Checkout) -> Mapping[str, Any]:
    files = {name: checkout.source(f"utils/{name}.py") for name in ("extract", "deduplicate", "validate")}
    return {
        f"{name}_{language}": source.template(f"prompt_template{suffix}")
        for name, source in files.items()
        for language, suffix in (("zh", ""), ("en", "_en"))
    }


FACT = Published(
    "DeepResearch Bench",
    "utils/extract.py",
    _read,
    {
        "48eba6c1837488d12bfaf74b6757e5f8981548b0187229d5228f549be1072da6": "214741e474a5347ea7f869ab79d27e7c8734ede7"
    },
)


class Cited(NamedTuple):
    """A citation as the judge extracts it."""

    fact: str
    url: str
    key: str


async def examine(
    document: Document, snapshot: Snapshot, judge: Judge, prompts: Original, language: str
) -> Examined:
    """Return the pairs of a report.

    Args:
        document: the report.
        snapshot: its cited pages.
        judge: the judge that answers.
        prompts: the published prompts.
        language: `zh` for the Chinese prompts, else the English ones.
    """

    def text(name: str, **values: str) -> str:
        return prompts.template(f"{name}_{_prompt_language(language)}").fill(**values)

    asked = asked_as_published(judge, attempts=1)
    told = await asked.ask_text(message(text("extract", report_text=document.text)), read_citations)
    if isinstance(told, Failure):
        # The prompt sets no limit: a reply has no more facts than the report has characters.
        most = len(document.text)
        labels = tuple(one.sentence.label for one in targets_of(document))
        lost = ExtractionFailure(sentences=labels, failure=told, most=most, any_citation=True)
        return Examined(*unread_pairs(document, [lost]), ())
    by_url: dict[str, list[Cited]] = {}
    for one in told.value:
        by_url.setdefault(one.url, []).append(one)

    async def on_url(url: str, cited: Sequence[Cited]) -> tuple[list[Pair], list[Repeat], Failure | None]:
        again = asked_as_published(judge, attempts=ATTEMPTS)
        kept, failure = range(len(cited)), None
        replies: tuple[str, ...] = ()
        if len(cited) > 1:
            listed = text("deduplicate", statements=_number_statements([one.fact for one in cited]))
            answer = await again.ask_text(
                message(listed), lambda reply: _positions_to_keep(reply, len(cited))
            )
            if isinstance(answer, Failure):
                failure = answer
            else:
                kept, replies = answer.value, answer.replies
        repeats = [
            Repeat(statement=one.fact, url=url, key=one.key, replies=replies)
            for number, one in enumerate(cited)
            if number not in kept
        ]
        page, stated = snapshot.page(url), [cited[number] for number in kept]
        if page.status == "ok":
            pairs = await _judged_on(page, url, stated, judge, prompts, language)
        else:
            pairs = [
                Pair(statement=one.fact, url=url, key=one.key, outcome="unknown", reason=page.status)
                for one in stated
            ]
        if failure is not None:
            pairs = [pair.model_copy(update={"may_repeat": True}) for pair in pairs]
        return pairs, repeats, failure

    found = await asyncio.gather(*(on_url(url, cited) for url, cited in by_url.items()))
    return Examined(
        Pairs(
            tuple(pair for pairs, _, _ in found for pair in pairs),
            tuple(repeat for _, repeats, _ in found for repeat in repeats),
        ),
        Unread(),
        tuple(failure for _, _, failure in found if failure is not None),
    )


def page_verifier(prompts: Original) -> PageVerifier:
    """Return the function that verifies given claims with the published prompt, in the claims' language.

    `unknown` is what the prompt asks for on a page without content: the page is `unusable`.
    """

    async def verify(
        page: Page, claims: Sequence[Claim], snapshot: Snapshot, judge: Judge
    ) -> Sequence[Verdict]:
        stated = [Cited(claim.text, page.url, "") for claim in claims]
        language = detect_language("\n".join(claim.text for claim in claims))
        pairs = await _judged_on(page, page.url, stated, judge, prompts, language)
        return [_verdict(claim, pair) for claim, pair in zip(claims, pairs, strict=True)]

    return verify


def _verdict(claim: Claim, pair: Pair) -> Verdict:
    judged = partial(Verdict, claim=claim.id, url=pair.url, method="grouped")
    if pair.judged is None:
        return judged(label=None, failure=pair.failure)
    label = "supported" if pair.outcome == "supported" else "not_found"
    if pair.outcome == "unknown":
        label = "unusable"
    return judged(label=label, rationale=pair.judged.label, replies=pair.judged.replies)


async def _judged_on(
    page: Page, url: str, stated: Sequence[Cited], judge: Judge, prompts: Original, language: str
) -> list[Pair]:
    """Return the outcome of each statement on a page with status `ok`; all are in one call."""
    text = prompts.template(f"validate_{_prompt_language(language)}").fill(
        reference=page_text(page), statements=_number_statements([one.fact for one in stated])
    )
    asked = asked_as_published(judge, attempts=ATTEMPTS)
    answer = await asked.ask_text(message(text), lambda reply: _results(reply, len(stated)))
    return [on_page(pair, page) for pair in _pairs(url, stated, answer)]


def _prompt_language(language: str) -> str:
    return "zh" if language == "zh" else "en"


def page_text(page: Page) -> str:
    """Return a page as the published code shows it: title, description (which a snapshot has not), text."""
    return f"{page.title}\n\n\n\n{page.text}"


def _pairs(url: str, stated: Sequence[Cited], answer: Answer[tuple[JudgedRow, ...]] | Failure) -> list[Pair]:
    row = PageRow(
        facts=tuple(one.fact for one in stated),
        validate_res=() if isinstance(answer, Failure) else answer.value,
        validate_error=answer.detail or answer.kind if isinstance(answer, Failure) else None,
    )
    pairs = list(pairs_on(url, row, {(one.fact, url): one.key for one in stated}, url))
    if isinstance(answer, Failure):
        return [pair.model_copy(update={"failure": answer}) for pair in pairs]
    return [
        pair.model_copy(
            update={"judged": pair.judged and pair.judged.model_copy(update={"replies": answer.replies})}
        )
        for pair in pairs
    ]


def _number_statements(statements: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(statements, 1))


def _bare(reply: str) -> str:
    return reply.replace("```json", "").replace("```", "")


_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def read_citations(reply: str) -> tuple[Cited, ...]:
    """Return the citations of a reply, with links reduced to their texts. Raises ValueError."""
    text = _bare(reply)
    for mark in "><+~":
        text = text.replace(f"\\{mark}", mark)
    found = read_json(text)
    if not isinstance(found, list):
        raise ValueError("the reply is not a list")
    return tuple(_citation(one) for one in cast("list[object]", found))


def _citation(given: object) -> Cited:
    row = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    fact, url = row.get("fact"), row.get("url")
    if not isinstance(fact, str) or not isinstance(url, str):
        raise ValueError("an entry has no fact or no URL")
    key = row.get("ref_idx")
    return Cited(_LINK.sub(r"[\1]", fact), url, str(key) if isinstance(key, int | str) and key else "")


def _positions_to_keep(reply: str, n: int) -> Sequence[int]:
    """Return the positions of the statements to keep; all of them for an answer that the published code discards."""
    numbers = read_json(_bare(reply))
    if not isinstance(numbers, list) or any(type(one) is not int for one in cast("list[object]", numbers)):
        raise ValueError("the reply is not a list of whole numbers")
    found = cast("list[int]", numbers)
    if not found or 0 in found or len(found) > n:
        return range(n)
    if any(not 1 <= one <= n for one in found):
        raise ValueError("a number is not that of a statement")
    return [one - 1 for one in found]


def _results(reply: str, n: int) -> tuple[JudgedRow, ...]:
    """Return the results for the statements on a page, numbered from 0. Raises ValueError."""
    found = read_json(_bare(reply))
    if not isinstance(found, list):
        raise ValueError("the reply is not a list")
    rows: list[JudgedRow] = []
    for one in cast("list[object]", found):
        row = cast("dict[str, object]", one) if isinstance(one, dict) else {}
        number, result = row.get("idx"), row.get("result")
        if type(number) is not int or not isinstance(result, str):
            raise ValueError(f"an entry has no number or no result: {json.dumps(one)[:80]}")
        rows.append(JudgedRow(idx=number - 1, result=result))
    if len(rows) != n:
        raise ValueError(f"{len(rows)} results for {n} statements")
    return tuple(rows)
