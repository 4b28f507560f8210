"""Summary of a document: counts, and lists of what could not be resolved."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from pydantic import JsonValue

from local_judge.documents.model import Document

_NUMBER = re.compile(r"[0-9]{1,4}")


def describe(document: Document) -> dict[str, JsonValue]:
    """Return counts and lists of unresolved items as JSON values.

    Keys: `id`, `language`, `characters`, `notes`; `blocks`, `roles`, `citations` (by style) and
    `citation_states` as mappings of counts; `sentences`, `cited_sentences`, `references`,
    `distinct_urls`; `dangling` (keys in order of first use), `without_url` and `uncited` (reference
    ids), `duplicate_keys` and `missing_numbers` (numbers that the lists skip, by section).
    """
    references = document.references
    keys = Counter((r.section, r.key) for r in references if r.key is not None)
    return {
        "id": document.id,
        "language": document.language,
        "characters": len(document.text),
        "notes": list(document.notes),
        "blocks": _counts(block.kind for block in document.blocks),
        "roles": _counts(block.role for block in document.blocks),
        "sentences": len(document.sentences),
        "cited_sentences": sum(bool(sentence.citations) for sentence in document.sentences),
        "citations": _counts(citation.style for citation in document.citations),
        "citation_states": _counts(citation.state for citation in document.citations),
        "references": len(references),
        "distinct_urls": len({one.url for one in (*document.citations, *references)} - {None}),
        "dangling": list(dict.fromkeys(c.key for c in document.citations if c.state == "dangling")),
        "without_url": [r.id for r in references if r.url is None],
        "uncited": [r.id for r in references if r.state == "uncited"],
        "duplicate_keys": [key for (_, key), count in keys.items() if count > 1],
        "missing_numbers": _missing_numbers(document),
    }


def _counts(found: Iterable[str]) -> dict[str, JsonValue]:
    return {name: count for name, count in sorted(Counter(found).items())}


def _missing_numbers(document: Document) -> dict[str, JsonValue]:
    """Return for each section the numbers between its lowest and highest that no entry has.

    Labels of more than four digits are names, such as dates, and not numbers.
    """
    sections: dict[int, set[int]] = {}
    for reference in document.references:
        if reference.key is not None and _NUMBER.fullmatch(reference.key):
            sections.setdefault(reference.section, set()).add(int(reference.key))
    missing: dict[str, JsonValue] = {}
    for section, numbers in sections.items():
        gaps: list[JsonValue] = [n for n in range(min(numbers), max(numbers) + 1) if n not in numbers]
        if gaps:
            missing[str(section)] = gaps
    return missing
