"""Claims whose truth is known: labelled by people, or planted by code.

Invariant: every source of labels is read into `LabelledClaim`. Its label is one of four, to which `load` maps the
labels of each format and `TRUTH_LABELS` those of verdicts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from indexes.snapshot import Snapshot
from indexes.urls import normalise_url
from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.claims.model import Claim, Label, TruthLabel
from local_judge.lab.planting.model import PlantedClaim
from local_judge.ledger.requests import sha256
from local_judge.runs.execution.verify import LONGEST_CLAIM, LONGEST_ID, ClaimRow, claim_of

TRUTH_LABELS: Mapping[Label, TruthLabel] = {
    "supported": "supported",
    "partial": "partial",
    "contradicted": "contradicted",
    "not_found": "unsupported",
    "off_topic": "unsupported",
    "unusable": "unsupported",
}
"""Labels of verdicts in the words of labelled claims."""

Origin = Literal["planted", "labelled"]
"""Origin of a label: code, which made the claim from a sentence of the page, or people."""

TRUE = "true"
"""Kind of a claim that was not altered."""


class LabelledClaim(Frozen):
    """One claim with the page or the text that it rests on, and its label. One line of a file of this project."""

    claim: str = Field(min_length=1, max_length=LONGEST_CLAIM)
    label: TruthLabel
    evidence: str | None = None
    """Text that the claim rests on; None if `url` names a page of a snapshot. Nothing but web addresses is no text."""
    url: str | None = None
    id: str = Field(default="", max_length=LONGEST_ID)
    """Identifier in the set; the number of the row by default."""
    context: str = ""
    """Text that precedes the claim, for pronouns."""
    document: str = ""
    """Unit of the bootstrap and of the folds, such as the page or the answer; `load_sets` sets a missing one."""
    set: str = ""
    """Name of the set; by default the file's."""
    supporting: tuple[tuple[str, ...], ...] = ()
    """Alternative sets of sentences of the evidence that people say prove the claim."""
    benchmark: str = Field(default="", exclude=True)
    """Benchmark whose own selection of a set the claim is of; set by its loader only."""
    origin: Origin = Field(default="labelled", exclude=True)
    facets: dict[str, str] = Field(default_factory=dict[str, str], exclude=True)
    """Properties that figures are broken down by, such as `kind` and `language`."""

    @model_validator(mode="after")
    def _is_complete(self) -> LabelledClaim:
        if not self.claim.strip():
            raise ValueError("`claim` is empty")
        if (self.evidence is None) == (self.url is None):
            raise ValueError("needs either `evidence` or `url`")
        if self.url is not None:
            normalise_url(self.url)
        if not all(sentence.strip() for chosen in self.supporting for sentence in chosen):
            raise ValueError("`supporting` has an empty sentence")
        return self

    @property
    def key(self) -> str:
        """Identifier among the claims of all sets."""
        return f"{self.set}/{self.id}" if self.set else self.id

    @property
    def true(self) -> bool:
        """True if the page or text states the whole claim."""
        return self.label == "supported"

    @property
    def page(self) -> str:
        """URL of the page in the snapshot: the claim's own, or one that stands for its evidence."""
        if self.url is not None:
            return normalise_url(self.url)
        return f"https://evidence.example/{sha256(self.evidence or '')[:24]}"

    @property
    def has_text(self) -> bool:
        """False if the evidence is empty, or has web addresses and no other word, as where a page was not fetched."""
        if self.evidence is None:
            return True
        rest, n_addresses = _ADDRESS.subn(" ", self.evidence)
        # Beside addresses, a number or a bullet is no text.
        return any(map(str.isalpha if n_addresses else str.isalnum, rest))

    def as_claim(self) -> Claim:
        """Return the claim as one without a report."""
        return claim_of(ClaimRow(id=self.key, claim=self.claim, url=self.page))


_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|(?<![a-z0-9])www\.)[a-z0-9.:@_-]*(?:[/?#][^\s<>\"，。；：、！？（）「」『』《》【】]*)?",
    re.IGNORECASE,
)
"""A web address. In Chinese, no blank stands before or after it."""


class LabelledSet(NamedTuple):
    """Labelled claims, and the snapshot of their pages."""

    claims: Sequence[LabelledClaim]
    snapshot: Snapshot


def planted_claims(planted: Iterable[PlantedClaim]) -> list[LabelledClaim]:
    """Return planted claims with their kind, language and length of the page as facets."""
    return [
        LabelledClaim(
            id=one.id,
            claim=one.claim,
            url=one.url,
            label="supported" if one.true else "unsupported",
            document=one.text_digest,
            origin="planted",
            facets={"kind": one.kind or TRUE, "language": one.language, "length": one.length},
        )
        for one in planted
    ]


def refuse_duplicates(labelled: Iterable[LabelledClaim]) -> None:
    """Raise InputError for a claim that occurs twice, in one file or in two."""
    seen: set[str] = set()
    for one in labelled:
        if one.key in seen:
            raise InputError(f"the claim {one.key!r} is given twice; name each file, or folder of them, once")
        seen.add(one.key)


def sampled(labelled: Sequence[LabelledClaim], n: int | None, seed: int) -> list[LabelledClaim]:
    """Return `n` random claims of each set, in the order of the files; all claims if `n` is None.

    Claims without text are not drawn: no judge is asked about them. If a set has no others, one of them is returned.
    """
    if n is None:
        return list(labelled)
    kept: set[str] = set()
    for name in dict.fromkeys(one.set for one in labelled):
        has_text = {one.id: one.has_text for one in labelled if one.set == name}
        # random() is the one method of Random whose sequence Python promises to keep.
        draw = random.Random(seed).random
        drawn = [one for _, one in sorted((draw(), one) for one in has_text)]
        kept |= {f"{name}/{one}" for one in [*filter(has_text.__getitem__, drawn)][:n] or drawn[:1]}
    return [one for one in labelled if f"{one.set}/{one.id}" in kept]
