"""Common parts of the prompt benchmark: prompts by name, their digests, and the re-enactments' texts.

Invariant: a prompt's digest is one of all messages and of the reply's schema, as they are sent about texts that never
change: whatever changes its words, its layout or the form of its answer changes the digest.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from indexes.model import Page
from local_judge.claims.evidence import PageEvidence
from local_judge.claims.model import Claim
from local_judge.documents.model import Span
from local_judge.judge.layout import Prompt
from local_judge.judge.requests import canonical, prompt_digest, sha256

Kind = Literal["verification", "extraction", "scoring"]
ORIGINALS = Path(__file__).parent / "originals"


def instructions(name: str) -> str:
    """Beginning of a prompt in an original's style: own words, in the original's order."""
    return (ORIGINALS / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def digest_of(prompts: Iterable[Prompt], answers: Iterable[Any]) -> str:
    """First 12 hex digits of the SHA-256 over prompts as sent and what answers them: schemas or menus."""
    return sha256(canonical([[prompt_digest(one) for one in prompts], list(answers)]))[:12]


def sample_exhibit() -> PageEvidence:
    """Return a page that never changes."""
    url = "https://page.example/"
    page = Page(url=url, original_url=url, status="ok", title="T", text="Text.")
    return PageEvidence(page, (), whole=True)


def sample_claims() -> list[Claim]:
    """Two claims that never change."""
    return [
        Claim(
            id=f"c{n}",
            text=f"Claim {n}.",
            sentence="L1.S1",
            span=Span(start=0, end=8),
            type="A",
            type_judged="A",
        )
        for n in (1, 2)
    ]
