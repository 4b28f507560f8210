"""Pairs of a sound report and its flawed twin, with what each flaw is.

Invariants: each flaw takes the place of one sentence that stands in the sound report exactly once; the twins differ in
their flaws alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from local_judge.errors import InputError
from local_judge.experiments.data_files import EntryId, Line, Said, load_entries, occurs, once, packaged
from local_judge.experiments.model import PlainPage
from serving.types import Frozen

FILE = packaged("arguments.yaml")
"""Ten pairs, as many as the paper has."""

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
    sound: Line
    flawed: Line
    why: Line
    """What is wrong with it."""


class Argument(Frozen):
    """One pair."""

    id: EntryId
    request: Said
    page: PlainPage
    """What there is to reason from."""
    report: Said
    """The sound one."""
    reference: Said | None = None
    """A report that RACE compares both with; None: it scores each by itself."""
    question: Line
    """By which the reasoning is validated, with the plan: what to extract, to verify, and how to compare."""
    extract: Line
    verify: Line
    compare: Line
    flaws: tuple[Flaw, ...] = Field(min_length=1)

    @property
    def twin(self) -> str:
        """The flawed report."""
        text = self.report
        for flaw in self.flaws:
            text = text.replace(flaw.sound, flaw.flawed)
        return text


def load_arguments(path: Path = FILE) -> tuple[Argument, ...]:
    """The pairs of a file, in its order; by default those that come with the package.

    Raises:
        InputError: the file is malformed, or its entries do not fit each other.
    """
    arguments = load_entries(path, Argument)
    once(path, "id", [argument.id for argument in arguments])
    once(path, "url", [argument.page.url for argument in arguments])
    for argument in arguments:
        for flaw in argument.flaws:
            occurs(path, argument.id, flaw.sound, argument.report)
            occurs(path, argument.id, flaw.flawed, argument.twin)
            if flaw.flawed in argument.report or flaw.sound in argument.twin:
                raise InputError(f"{path}: {argument.id}: {flaw.flawed!r} does not set the twins apart")
    return arguments
