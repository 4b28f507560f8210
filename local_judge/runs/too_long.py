"""Failures of prompts that do not fit a judge's context.

Invariant: counted from the failures in what was found, so that a dry run, which keeps nothing, counts what a run would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from pydantic import BaseModel

from local_judge.judge.failures import Failure

KINDS = ("prompt_too_long", "report_too_long")


def n_too_long(found: Iterable[BaseModel]) -> int:
    """Number of such failures in findings or claim sets."""
    return sum(failure.kind in KINDS for one in found for failure in failures_in(one))


def failures_in(value: object) -> Iterator[Failure]:
    """All failures in what was found, however deep they stand, in its order."""
    if isinstance(value, Failure):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from failures_in(getattr(value, name))
    elif isinstance(value, tuple | list):
        for one in cast("Iterable[object]", value):
            yield from failures_in(one)
    elif isinstance(value, dict):
        for one in cast("Mapping[object, object]", value).values():
            yield from failures_in(one)
