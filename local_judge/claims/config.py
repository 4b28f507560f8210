"""Settings of the extraction and verification of claims.

Invariant: whatever changes a verdict is a field here, is recorded in the run's manifest, and has a default that the
documentation states; unknown keys are errors.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from local_judge.base.model import Frozen

View = Literal["page", "near", "contrast"]


class ClaimsConfig(Frozen):
    """Settings of the claim set."""

    extraction: Literal["judged", "sentences"] = "judged"
    """`sentences` makes no model calls: each sentence is one claim. For reports whose sentences state one
    thing each, such as those of the experiments."""
    batch_sentences: int = Field(default=20, ge=1, le=50)
    """Sentences in one extraction call."""
    form: Literal["full", "terse"] = "full"
    """`terse` asks for one claim a sentence, without flags, and for no rationales: fewer tokens, for slow machines and
    small judges. `full` splits a sentence into atomic claims."""
    long_reports: Literal["refuse", "sections"] = "sections"
    """A report that does not fit the judge's context is refused, or shown in parts: all headings, and the sentences
    of as many consecutive blocks as fit, halving until they do."""
    method: Literal["grouped", "scored"] = "grouped"
    """Method of verification."""
    view: View = "page"
    """`scored`: what a judge is shown of a page. `page`: what `grouped` is shown, once for all claims about it. `near`:
    of each claim the sentences nearest to it and those around them, at a cost that does not grow with the page.
    `contrast`: as `page`, asked in other words, less half of what the judge answers without a page."""
    context_sentences: int = Field(default=0, ge=0, le=5)
    """`contrast`: sentences of the report that are shown before a claim, for pronouns. A calibration applies with any
    number of them, although it was fitted with none."""
    partial: bool = False
    """`contrast`: ask whether the page supports a part of a claim that is neither supported nor contradicted."""
    claims_per_call: int = Field(default=20, ge=1, le=50)
    """Claims of one page in one `grouped` call, and claims that share the passages of a long page."""
    evidence_tokens: int | None = Field(default=6000, ge=200)
    """A page up to this length is shown whole; of a longer one, passages up to this length. In estimated tokens (see
    `claims.evidence.estimate_tokens`), so that every judge sees the same evidence. None: as much as the passages of all
    claims of a call have."""
    passages_per_claim: int = Field(default=4, ge=1)
    """Maximum number of passages per claim."""
    passage_tokens: int | None = Field(default=None, ge=300)
    """Length of a passage in estimated tokens: consecutive chunks of the snapshot are joined up to it. None: each
    chunk, of up to 1,000 characters, is a passage. DEER's paper uses 1,000."""
    ranker: Literal["bm25", "dense"] = "bm25"
    """Search in long pages; `dense` needs the extra `dense`."""
    threshold: float | None = Field(default=None, gt=0, lt=1)
    """`scored`: a claim is supported when its confidence is at least this: the calibrated probability where the judge
    has a calibration, else P(yes). None takes the calibration's, else the judge preset's."""
    calibration: Literal["auto", "none"] = "auto"
    """`scored`: `auto` takes the calibration that the ledger has of this judge and question; `none` leaves P(yes) as it
    is."""
    reliability: bool = True
    """Ask once per page whether it is a reliable source (DEER's Reference Quality needs it)."""

    def shown_tokens(self, n_claims: int) -> int:
        """Return the most estimated tokens of a page that a call about so many claims shows."""
        if self.evidence_tokens is not None:
            return self.evidence_tokens
        return self.passages_per_claim * (self.passage_tokens or 0) * n_claims

    @model_validator(mode="after")
    def _view_of_scored(self) -> ClaimsConfig:
        if self.view != "page" and self.method != "scored":
            raise ValueError(f"the view {self.view} is one of the method scored, not of {self.method}")
        if self.passage_tokens is not None and self.view == "near":
            raise ValueError("passage_tokens has no effect with the view near, which shows sentences")
        if self.evidence_tokens is None and self.passage_tokens is None:
            raise ValueError("evidence_tokens can be null only with passage_tokens")
        for name in ("context_sentences", "partial"):
            if getattr(self, name) and self.view != "contrast":
                raise ValueError(f"{name} belongs to the view contrast, not to {self.view}")
        return self
