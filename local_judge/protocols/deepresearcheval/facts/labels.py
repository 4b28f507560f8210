"""A label from its evidence, and labels as files write them.

    Wrong      words that contradict the statement were found in a page that was shown: mixed evidence is Wrong
    Right      else, if the judge says so and words that support it were found
    Unknown    else

Invariant: a label rests on words that code has found, whatever the judge says; without them it is Unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from local_judge.protocols.deepresearcheval.facts.findings import Evidence, Label

_BY_NAME: dict[str, Label] = {label.casefold(): label for label in get_args(Label)}


def ruled(given: Label, evidence: Sequence[Evidence]) -> Label:
    """The label that the evidence bears out."""
    stances = {one.stance for one in evidence if one.found}
    if "contradicts" in stances:
        return "Wrong"
    return "Right" if given == "Right" and "supports" in stances else "Unknown"


def read_label(text: str) -> Label | None:
    """The label that a file means, up to letter case and white space at its ends; None if it is none."""
    return _BY_NAME.get(text.strip().casefold())
