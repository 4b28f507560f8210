"""Extraction by our prompts, on the same composed reports.

    terse, full   the report, instructions, the sentences of a batch by number; an answer under each number

Invariant: both ways are asked about the same sentences in batches of the same size, and are held against what is known
in the same way (`qualification.parts.extraction`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from local_judge.claims.config import ClaimsConfig
from local_judge.claims.extract import (
    Extraction,
    FullSentence,
    TerseSentence,
    extract_claims,
    extraction_prompt,
)
from local_judge.documents import parse_report
from local_judge.judge.judge import Judge
from local_judge.judge.schemas import json_schema
from local_judge.lab.planting.composed import Composed
from local_judge.lab.qualification.parts.extraction import Form, Read, SentenceAnswer, answer_of
from scripts.benchmarking.planted import share
from scripts.benchmarking.prompt_rows import digest_of


class Way(NamedTuple):
    """One way to extract."""

    form: Form
    digest: Callable[[], str]


def _digest(form: Form, answer: type[Any]) -> str:
    """Return the digest of the prompt about a report that never changes."""
    document = parse_report("# T\n\nOne [1]. Two.\n\n## References\n\n[1] S. https://page.example/\n")
    return digest_of([extraction_prompt(document, None, document.sentences, form)], [json_schema(answer)])


WAYS: Final[Mapping[str, Way]] = {
    "terse": Way("terse", lambda: _digest("terse", TerseSentence)),
    "full": Way("full", lambda: _digest("full", FullSentence)),
}


async def extracted(way: Way, reports: Sequence[Composed], judge: Judge) -> list[Extraction]:
    """Return the claims of each report."""
    config = ClaimsConfig(form=way.form)
    return list(await asyncio.gather(*(extract_claims(one.document, judge, config) for one in reports)))


def extraction_figures(reports: Sequence[Composed], found: Sequence[Extraction]) -> dict[str, Any]:
    """Recall, precision and F1 over the sentences that were answered; formulas in `qualification.parts.extraction`."""
    answers: list[tuple[bool, bool, SentenceAnswer]] = []
    kinds: set[str] = set()
    for report, extraction in zip(reports, found, strict=True):
        failures = {label: one.failure.kind for one in extraction.failures for label in one.sentences}
        for sentence in report.sentences:
            if sentence.label in failures:
                kinds.add(failures[sentence.label])
                continue
            claims = [Read(one.text, one.type) for one in extraction.claims if one.sentence == sentence.label]
            answers.append((sentence.planted, sentence.cited, answer_of(sentence, claims)))
    planted = [(cited, one.said) for is_planted, cited, one in answers if is_planted]
    uncited = [said for cited, said in planted if not cited]
    right, called = sum(said for _, said in planted), sum(one.called for _, _, one in answers)
    return {
        "n": len(answers),
        "failed": sum(len(report.sentences) for report in reports) - len(answers),
        "failure_kinds": sorted(kinds),
        "planted": len(planted),
        "recall": share(right, len(planted)),
        "recall_uncited": share(sum(uncited), len(uncited)),
        "precision": share(right, called),
        "f1": share(2 * right, len(planted) + called),
    }
