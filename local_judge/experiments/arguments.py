"""Pairs of a sound report and its flawed twin, with what each flaw is.

Invariants: each flaw takes the place of one sentence that stands in the sound report exactly once; the twins differ in
their flaws alone; each pair has at least two flaws of different kinds.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_judge.experiments.data_files import DataError, load_entries, occurs, once
from local_judge.experiments.model import PlainPage
from serving.types import Frozen

FILE = "arguments.yaml"
LEAST = 6
"""Pairs."""

FlawKind = Literal[
    "unsupported_inference",
    "ignored_counter_evidence",
    "causal_confusion",
    "scope_overreach",
    "arithmetic_slip",
    "contradiction",
]
"""`causal_confusion`: cause and effect turned round, or a correlation taken for a cause. `scope_overreach`: more cases
than were looked at. `contradiction`: against what the report itself says."""


class Flaw(Frozen):
    """One sentence made wrong."""

    kind: FlawKind
    sound: str = Field(min_length=1)
    flawed: str = Field(min_length=1)
    why: str = Field(min_length=1)
    """What is wrong with it."""


class Argument(Frozen):
    """One pair."""

    id: str = Field(min_length=1)
    request: str = Field(min_length=1)
    page: PlainPage
    """What there is to reason from."""
    report: str
    """The sound one."""
    question: str = Field(min_length=1)
    """By which the reasoning is validated, with the plan: what to extract, to verify, and how to compare."""
    extract: str = Field(min_length=1)
    verify: str = Field(min_length=1)
    compare: str = Field(min_length=1)
    flaws: tuple[Flaw, ...]

    @property
    def twin(self) -> str:
        """The flawed report."""
        text = self.report
        for flaw in self.flaws:
            text = text.replace(flaw.sound, flaw.flawed)
        return text


def load_arguments() -> tuple[Argument, ...]:
    """The pairs that come with the package.

    Raises:
        DataError: they do not fit each other.
    """
    arguments = load_entries(FILE, Argument)
    if len(arguments) < LEAST:
        raise DataError(f"{FILE}: {len(arguments)} pairs, less than {LEAST}")
    once(FILE, "id", [argument.id for argument in arguments])
    once(FILE, "url", [argument.page.url for argument in arguments])
    for argument in arguments:
        if len({flaw.kind for flaw in argument.flaws}) < 2:
            raise DataError(f"{FILE}: {argument.id}: needs flaws of two kinds at least")
        for flaw in argument.flaws:
            occurs(FILE, argument.id, flaw.sound, argument.report)
            occurs(FILE, argument.id, flaw.flawed, argument.twin)
            if flaw.flawed in argument.report or flaw.sound in argument.twin:
                raise DataError(f"{FILE}: {argument.id}: {flaw.flawed!r} does not set the twins apart")
    return arguments
