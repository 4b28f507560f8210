"""How many planted alterations a judge caught.

Invariant: counted from the stored claim set and the list of what was planted, by sentence; a judge that gave no answer
neither caught an alteration nor called a true claim wrong, and is counted apart. So is a claim that one page does not
support while the answer on another is missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from local_judge.claims.model import ClaimSet
from local_judge.documents.model import Document
from serving.types import Frozen


class Planted(Frozen):
    """One alteration in the sample report."""

    sentence: str
    """The sentence as the report has it."""
    kind: str
    altered: str
    """The words that are wrong."""
    actual: str
    """What the page says."""
    url: str


class Outcome(Frozen):
    """Altered and true statements of the sample against the judge's verdicts."""

    planted: int
    caught: int
    missed: tuple[str, ...]
    true_claims: int
    """Claims of unaltered sentences that lean on a page in the snapshot and were judged."""
    called_wrong: tuple[str, ...]
    unjudged: int
    """Alterations and true claims without a verdict."""


def sample_folder() -> Path:
    """Where the sample's report and pages are."""
    return Path(str(files("local_judge.demo")))


def load_planted() -> list[Planted]:
    """The alterations in the sample report."""
    text = (sample_folder() / "planted.jsonl").read_text(encoding="utf-8")
    return [Planted.model_validate(json.loads(line)) for line in text.splitlines() if line.strip()]


def assess(document: Document, claims: ClaimSet, planted: Sequence[Planted]) -> Outcome:
    """Compare verdicts with what was planted.

    An alteration is caught if its sentence has judged claims and at least one that holds the altered words (or, if
    no claim does, any) is supported by no page. A true claim is called wrong if no page supports it.
    """
    supported: dict[str, bool] = {}
    for verdict in claims.verdicts:
        if verdict.label is not None:
            supported[verdict.claim] = supported.get(verdict.claim, False) or verdict.label == "supported"
    for verdict in claims.verdicts:
        if verdict.label is None and not supported.get(verdict.claim, False):
            supported.pop(verdict.claim, None)
    leaning = {claim for source in claims.sources if source.status == "ok" for claim in source.claims}
    label_of = {sentence.text: sentence.label for sentence in document.sentences}
    altered = {label_of[entry.sentence]: entry for entry in planted}
    caught: list[Planted] = []
    missed: list[Planted] = []
    for label, entry in altered.items():
        here = [claim for claim in claims.claims if claim.sentence == label]
        judged = [claim for claim in here if claim.id in supported]
        bearing = [claim for claim in judged if entry.altered.casefold() in claim.text.casefold()] or judged
        if bearing:
            (missed if all(supported[claim.id] for claim in bearing) else caught).append(entry)
    true = [claim for claim in claims.claims if claim.sentence not in altered and claim.id in leaning]
    wrong = [claim for claim in true if supported.get(claim.id) is False]
    judged_true = sum(claim.id in supported for claim in true)
    return Outcome(
        planted=len(altered),
        caught=len(caught),
        missed=tuple(entry.sentence for entry in missed),
        true_claims=judged_true,
        called_wrong=tuple(claim.text for claim in wrong),
        unjudged=len(altered) - len(caught) - len(missed) + len(true) - judged_true,
    )
