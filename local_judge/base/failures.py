"""Failures as data.

Invariant: a failure is a value with a kind, never a zero, a NaN or a missing row.
"""

from __future__ import annotations

from typing import Literal, get_args

from local_judge.base.model import Frozen

FailureKind = Literal[
    "unreachable",  # engine kinds: see serving.errors
    "timeout",
    "overloaded",
    "server_error",
    "refused",
    "prompt_too_long",
    "prompt_cut",
    "in_reasoning",
    "unsupported",
    "wrong_model",
    "malformed",
    "truncated",  # the reply ran into its token limit
    "invalid_reply",  # not JSON, or JSON that breaks the schema, after repair and re-asking
    "incomplete",  # an item without an answer, even when it was requested alone
    "unreported",  # the server reports too few alternatives to determine the options' probabilities
    "off_menu",  # the model prefers an answer that is not among the options
    "corrupt_reply",  # the stored reply does not match its digest; the next run requests it again
    "page_cut",  # the stored page ends before the passage that might support the claim
    "report_too_long",  # the report does not fit the judge's context
    "planned",  # the call would have been made by a dry run
    "not_in_ledger",  # a replay: the ledger has no reply
]

KEPT: frozenset[str] = frozenset(
    {
        "unsupported",
        "unreported",
        "truncated",
        "invalid_reply",
        "incomplete",
        "off_menu",
        "prompt_too_long",
        "page_cut",
        "report_too_long",
    }
)
"""Kinds that stay when a command is repeated, because the reply is stored or the same server would answer the same; all
others are asked again."""


class Failure(Frozen):
    """Reason why one question has no answer."""

    kind: FailureKind
    detail: str
    """One line with the question, the place and the result."""
    attempts: int = 1


KINDS: frozenset[str] = frozenset(get_args(FailureKind))
