"""Number of planted alterations that a judge detected.

Invariant: the counts come from the stored claim set and the list of planted alterations, by sentence. A missing answer
counts neither as a detected alteration nor as a true claim called wrong; it is counted separately. The same holds for a
claim that one page does not support while the answer for another page is missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from local_judge.base.model import Frozen
from local_judge.claims.model import ClaimSet
from local_judge.documents.model import Document


class Planted(Frozen):
    """Alteration in the sample report."""

    sentence: str
    """Sentence as in the report."""
    kind: str
    """Kind of alteration."""
    altered: str
    """Altered words."""
    actual: str
    """Correct words, from the page."""
    url: str
    """URL of the page."""


class Outcome(Frozen):
    """Comparison of the judge's verdicts with the altered and true statements of the sample."""

    planted: int
    caught: int
    missed: tuple[str, ...]
    true_claims: int
    """Number of claims of unaltered sentences that cite a page in the snapshot and have a verdict."""
    called_wrong: tuple[str, ...]
    unjudged: int
    """Number of alterations and true claims without a verdict."""


def sample_folder() -> Path:
    """Return the folder of the sample's report and pages."""
    return Path(str(files("local_judge.demo")))


def load_planted() -> list[Planted]:
    """Load the alterations in the sample report."""
    text = (sample_folder() / "planted.jsonl").read_text(encoding="utf-8")
    return [Planted.model_validate(json.loads(line)) for line in text.splitlines() if line.strip()]


def assess(document: Document, claims: ClaimSet, planted: Sequence[Planted]) -> Outcome:
    """Compare verdicts with the planted alterations.

    An alteration is caught if at least one judged claim of its sentence has no supporting page. Only claims with the
    altered words count, unless no claim contains them. A true claim is called wrong if no page supports it.
    """
    supported: dict[str, bool] = {}
    cited = {(claim, source.url) for source in claims.sources for claim in source.claims}
    verdicts = [verdict for verdict in claims.verdicts if (verdict.claim, verdict.url) in cited]
    for verdict in verdicts:
        if verdict.label is not None:
            supported[verdict.claim] = supported.get(verdict.claim, False) or verdict.label == "supported"
    for verdict in verdicts:
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
