"""A document in figures, and what of it could not be resolved.

Invariant: counts only; nothing is judged here that the document does not say.
"""

from __future__ import annotations

import re
from collections import Counter

from pydantic import JsonValue

from local_judge.documents.model import Document

_NUMBER = re.compile(r"[0-9]{1,4}")


def describe(document: Document) -> dict[str, JsonValue]:
    """Counts and lists of unresolved things, ready for JSON.

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
        "blocks": dict(sorted(Counter(block.kind for block in document.blocks).items())),
        "roles": dict(sorted(Counter(block.role for block in document.blocks).items())),
        "sentences": len(document.sentences),
        "cited_sentences": sum(bool(sentence.citations) for sentence in document.sentences),
        "citations": dict(sorted(Counter(citation.style for citation in document.citations).items())),
        "citation_states": dict(sorted(Counter(citation.state for citation in document.citations).items())),
        "references": len(references),
        "distinct_urls": len(
            {c.url for c in document.citations if c.url is not None}
            | {r.url for r in references if r.url is not None}
        ),
        "dangling": list(dict.fromkeys(c.key for c in document.citations if c.state == "dangling")),
        "without_url": [r.id for r in references if r.url is None],
        "uncited": [r.id for r in references if r.state == "uncited"],
        "duplicate_keys": [key for (_, key), count in keys.items() if count > 1],
        "missing_numbers": _missing_numbers(document),
    }


def _missing_numbers(document: Document) -> dict[str, JsonValue]:
    """For each section the numbers between its lowest and highest that no entry bears.

    A footnote may be labelled with any digits (a date, a page): labels longer than a marker's numbers are names.
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
