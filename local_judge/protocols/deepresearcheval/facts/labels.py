"""A label checked against its evidence, and labels as files write them.

The judge weighs the evidence on both sides by the published definitions (section 4.2): Wrong means that reliable
sources contradict the statement, or that the statement itself mixes true and false. Code checks that the quotations
bear the label out:

    Right      the judge says Right, and a quotation that supports the statement was found in a page that was shown
    Wrong      the judge says Wrong, and a quotation that contradicts it was found in a page that was shown
    Unknown    else

Invariant: a label rests on words that code has found, whatever the judge says; without them it is Unknown. Evidence for
the other side changes no label by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from local_judge.protocols.deepresearcheval.facts.findings import Evidence, Label, Stance

_NEEDED: dict[Label, Stance] = {"Right": "supports", "Wrong": "contradicts"}
_BY_NAME: dict[str, Label] = {label.casefold(): label for label in get_args(Label)}


def ruled(given: Label, evidence: Sequence[Evidence]) -> Label:
    """The judge's label where its quotations bear it out, else Unknown."""
    needed = _NEEDED.get(given)
    return given if any(one.found and one.stance == needed for one in evidence) else "Unknown"


def read_label(text: str) -> Label | None:
    """The label that a file means, up to letter case and white space at its ends; None if it is none."""
    return _BY_NAME.get(text.strip().casefold())
