"""One request written by a judge, and written again where code finds a fault in it.

Invariant: a text with a fault is never taken for a request; it comes back with the fault that it had last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, NamedTuple

from pydantic import Field

from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, load_prompt
from local_judge.lab.task_construction.gather import Reply

REQUEST_TOKENS = 600


class RequestReply(Reply):
    """A task as the judge writes it."""

    request: Annotated[str, Field(min_length=20, max_length=2000)]


class Requested(NamedTuple):
    """A request, and what is wrong with it."""

    request: str
    fault: str | None
    replies: tuple[str, ...]
    """Ledger keys, of all attempts."""


async def request(
    judge: Judge, prompt: Callable[[str], Prompt], fault_of: Callable[[str], str | None]
) -> Requested | Failure:
    """Ask for a request; one with a fault again, up to the judge's `reasks`.

    Args:
        judge: who is asked.
        prompt: the question, by what it says of the text before (empty at first).
        fault_of: what is wrong with a text, in a sentence; None where nothing is.

    Raises:
        LedgerError: a reply could not be stored.
    """
    replies: list[str] = []
    said, text, fault = "", "", None
    for draw in range(judge.settings.reasks + 1):
        answer = await judge.ask(prompt(said), RequestReply, draw=draw, max_tokens=REQUEST_TOKENS)
        if isinstance(answer, Failure):
            return answer
        replies += answer.replies
        text = answer.value.request.strip()
        fault = fault_of(text)
        if fault is None:
            break
        said = f"\n{fence(text, 'This was written before, and cannot be used:')}\n{fault}\n"
    return Requested(text, fault, tuple(replies))


def laid_out(shared: str, own: str) -> Prompt:
    """A prompt about `shared`, which other prompts of the build have too."""
    digest = hashlib.sha256(shared.encode()).hexdigest()[:16]
    return Prompt(shared=shared, own=own, prefix_key=f"build:{digest}")


def prompts_digest() -> str:
    """SHA-256 of the names and texts of all prompts that a build asks with, the one of `tasks filter` among them."""
    folder = files("local_judge.lab.task_construction").joinpath("prompts")
    texts = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(".md")}
    texts["need.md"] = load_prompt("local_judge.tasks", "need").encode()
    found = hashlib.sha256()
    for name in sorted(texts):
        found.update(name.encode() + b"\0" + texts[name] + b"\0")
    return found.hexdigest()
