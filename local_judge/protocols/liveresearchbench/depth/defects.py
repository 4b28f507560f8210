"""Texts that are no report: refusals and plans in a report's place.

Invariant: decided by code from what the text says about itself, never from its length or quality. One sign is not
enough, since a report may say that something was not found or remains to be done.

There are three kinds of signs: the request could not be met (no sources, no access, not possible); the reader is asked
for permission or material (`once you approve`, `please share`); parts are still to come (`to be filled`). A `refusal`
has the first in its opening and the second anywhere, or the first and little other text. A `plan` has two different
signs of the second kind, or one, and two of the third.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Literal

from local_judge.documents.model import Document

Defect = Literal["refusal", "plan"]

OPENING = 1_500
"""Characters at the start in which a text that is no report says so."""
SHORT = 1_200
"""Maximum length in characters of a text that is only a refusal."""
LONGEST = 200_000
"""Maximum length in characters of a text that is examined; the known cases have at most 13,000."""


def _signs() -> dict[str, re.Pattern[str]]:
    """Read the regular expressions of each kind of sign, one alternative per line; `<name>` inserts a fragment."""
    rows = (
        files("local_judge.protocols.liveresearchbench.depth")
        .joinpath("defect_signs.txt")
        .read_text("utf-8")
        .splitlines()
    )
    found: dict[str, list[str]] = {}
    for name, _, text in (row.partition(": ") for row in rows):
        inserted = re.sub(r"<(things|done|work)>", lambda fragment: found[fragment[1]][0], text)
        found.setdefault(name, []).append(inserted)
    return {name: re.compile("|".join(texts), re.IGNORECASE) for name, texts in found.items()}


_SIGNS = _signs()


def defects(document: Document) -> tuple[Defect, ...]:
    """Return the defects of a text as a report: `refusal`, `plan`, both, or none."""
    body = [block for block in document.blocks if block.role != "references"]
    text = "\n".join(block.text for block in body)
    if len(text) > LONGEST:
        return ()
    cannot = _SIGNS["cannot"].search(text[:OPENING]) is not None
    asks, later = (
        len({match[0].lower() for match in _SIGNS[kind].finditer(text)}) for kind in ("asks", "later")
    )
    found: list[Defect] = []
    if cannot and (asks or len(text) < SHORT):
        found.append("refusal")
    if asks >= 2 or (asks and later >= 2):
        found.append("plan")
    return tuple(found)
