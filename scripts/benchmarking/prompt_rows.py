"""Common parts of the prompt benchmark: kinds of prompts, and their digests.

Invariant: a prompt's digest is one of all messages and of the reply's schema, as they are sent about texts that never
change: whatever changes its words, its layout or the form of its answer changes the digest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from local_judge.ledger.requests import canonical, prompt_digest, sha256
from local_judge.prompts import Prompt

Kind = Literal["verification", "extraction", "scoring"]


def digest_of(prompts: Iterable[Prompt], answers: Iterable[Any]) -> str:
    """First 12 hex digits of the SHA-256 over prompts as sent and what answers them: schemas or menus."""
    return sha256(canonical([[prompt_digest(one) for one in prompts], list(answers)]))[:12]
