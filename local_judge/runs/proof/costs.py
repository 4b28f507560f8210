"""Calls and tokens of finished runs.

Invariant: a run's cost is that of all replies that it uses, each once, as if it had been made alone: runs of a sweep
that share a reply each count it. It follows from the ledger, and no judge is asked.
"""

from __future__ import annotations

from local_judge.base.errors import RunError
from local_judge.base.model import Frozen
from local_judge.ledger.ledger import Ledger
from local_judge.runs.proof.audit import used_replies
from local_judge.runs.proof.bundle import Material


class Tokens(Frozen):
    """Replies that a run used, with their tokens."""

    replies: int
    prompt: int
    """Prompt tokens, cached ones included."""
    computed: int
    """Prompt tokens without those from the engine's prefix cache."""
    generated: int
    cache_reported: bool
    """The engine reported cached tokens; otherwise `computed` includes those that were cached."""


class RunCost(Frozen):
    """Cost of one run."""

    run: str
    settings: dict[str, str]
    """Settings in which the runs differ, by their names for `--set`."""
    tokens: Tokens


async def tokens_of(material: Material) -> Tokens:
    """Return the tokens of all replies that a run used, also of those that could not be read as an answer.

    Raises:
        RunError: the run cannot be replayed from its ledger.
    """
    keys = await used_replies(material)
    if material.ledger is None:
        raise RunError(f"{material.store.root}: no ledger")
    with Ledger.open(material.ledger, read_only=True) as ledger:
        used = [reply.usage for key in sorted(keys) if (reply := ledger.get(key)) is not None]
    prompt = sum(one.prompt_tokens for one in used)
    return Tokens(
        replies=len(used),
        prompt=prompt,
        computed=prompt - sum(one.cached_tokens or 0 for one in used),
        generated=sum(one.completion_tokens for one in used),
        cache_reported=all(one.cached_tokens is not None for one in used),
    )
