"""Findings of FACT about one report: its pairs of statement and URL, each with its outcome.

Invariant: a pair has a reason exactly where its outcome is `unknown`, and the reasons separate an unavailable page
from a failure of the evaluation; a citation without a statement or verdict is such a pair, and never missing.
"""

from __future__ import annotations

from typing import Literal, Self, get_args

from pydantic import model_validator

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Quote
from local_judge.claims.unread import Unread
from local_judge.protocols.base import Findings

Outcome = Literal["supported", "unsupported", "unknown"]

Reason = Literal[
    "dead",
    "blocked",
    "unavailable",
    "empty",
    "judged_unknown",
    "not_in_snapshot",
    "unsupported_type",
    "judge_failed",
    "not_extracted",
    "tied",
]
"""Reason of an unknown outcome. `tied`: as many judges call it supported as unsupported.
`judged_unknown`: the judge called the page unusable, such as an error page.
`not_extracted`: the judge did not say what the citing sentence states. The others are statuses of the source."""

REASONS: tuple[Reason, ...] = get_args(Reason)


class Judged(Frozen):
    """The answer of FACT's own judge about a statement and a page; the claim set keeps its verdicts itself."""

    label: str
    """The label of FACT's own flow, or of a row that was read."""
    quote: Quote | None = None
    quote_rejected: str | None = None
    """Quotation by the judge that does not occur in the page."""
    rationale: str = ""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class Cited(Frozen):
    """A statement, and a URL that it cites."""

    statement: str
    """Statement of the report."""
    url: str
    """Cited URL."""
    sentence: str = ""
    """Label of the sentence that states it first; empty where it is not known."""
    key: str = ""
    """Key that the citation names, such as `3` for `[3]`; empty if it is not known."""


class Pair(Cited):
    """One statement against one URL that it cites. No two of a report are the same, unless a file has them twice."""

    outcome: Outcome
    """Result for the score."""
    reason: Reason | None = None
    """Reason for `unknown`."""
    claim: str = ""
    """Id of the claim in the claim set, which has the verdict on it and the URL; empty where it has none."""
    confidence: float | None = None
    """P(supported) where the judge's method gives one: it is what several judges vote with."""
    threshold: float | None = None
    """Minimum confidence of a supported pair."""
    judged: Judged | None = None
    """None if the verdict is the claim set's, or missing."""
    failure: Failure | None = None
    """Failure of the judge."""
    may_repeat: bool = False
    """True if the judge failed to say whether it repeats another statement on the URL."""

    @property
    def failed(self) -> bool:
        """The page may support the statement or not: it was not read, a judge gave no answer, or judges are divided."""
        return self.reason not in (None, "dead")

    @model_validator(mode="after")
    def _reason_where_unknown(self) -> Self:
        if (self.outcome == "unknown") is not (self.reason is not None):
            raise ValueError(f"outcome {self.outcome!r} with reason {self.reason!r}")
        return self


class Repeat(Cited):
    """A statement on a URL that was taken out, since another one on it says the same."""

    of: str = ""
    """The statement that was kept; empty where it is not known."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the replies that decided it; none for equal words."""


class FactFindings(Findings):
    """All that the scores and files of one report are made from."""

    source: Literal["shared", "own", "file"]
    """The claim set, FACT's own flow, or a file of the published project."""
    prompt: str = ""
    """The task's prompt; empty without a task."""
    article: str = ""
    """The report as it was judged."""
    pairs: tuple[Pair, ...] = ()
    """Cited statements with the outcome for each page, in reading order."""
    repeats: tuple[Repeat, ...] = ()
    """Statements removed as repeats; `of` is the one that was kept."""
    n_citations: int = 0
    """Pairs before repeats were taken out: a report with any is a citing one."""
    n_unresolved: int = 0
    """Citations in the report's body that lead to no URL: they make no pair."""
    unread: Unread = Unread()
    """Sentences whose statements are unknown. Each has a pair `not_extracted` for each URL written on it, and may have
    more."""
    recovered: bool = False
    """Setting: citations that back-tracking recovered make pairs too."""
    undecided: tuple[Failure, ...] = ()
    """Failures of this judge to say whether statements repeat another; these statements are kept. Of several judges of
    a claim set, the one that extracted the claims says so."""

    @property
    def extracted(self) -> bool:
        """Any sentence that should have been read was: the published code knows no report of which none was."""
        return not self.pairs or any(pair.reason != "not_extracted" for pair in self.pairs)

    @property
    def n_failed(self) -> int:
        """FACT's own questions without answer; those of the claim set are counted with it."""
        if self.source != "own":
            return len(self.undecided)
        unread = {pair.sentence for pair in self.pairs if pair.reason == "not_extracted"}
        return len(self.undecided) + len(unread) + sum(pair.reason == "judge_failed" for pair in self.pairs)
