"""Findings of RACE: the scores of each criterion, in each comparison of a report.

Invariant: a comparison has each criterion that was asked exactly once, with the scores of all articles that were shown
or with the failure that left it open; scores are kept by article, whichever came first.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.protocols.base import Findings
from local_judge.rubric.answers import JudgedItem
from local_judge.tasks.model import Criteria, JoinedBy

Mode = Literal["reference", "pointwise", "vanilla"]
"""`reference`: report and reference compared. `pointwise`: the report alone, by the same criteria. `vanilla`: the
report alone, one score without criteria (the paper's ablations)."""

Order = Literal["paper", "shared"]
"""Order of a comparison. `paper`: request, report, reference, criteria. `shared`: request, criteria, reference,
report."""

Source = Literal["adaptive", "static"]
"""`adaptive`: the task's own criteria. `static`: the same ones for every task."""

Cleaning = Literal["code", "judge", "none"]
"""Method that removes citations from the articles. `judge`: the judge copies parts without their citations, and code
takes from the article what the copies left out."""

Scoring = Literal["sampled", "expected", "analysed"]
"""Score of an article that is judged alone. `sampled`: the number that the judge writes after its analysis. `expected`:
the expected value over the judge's probabilities of 0, 1, …, 10, without an analysis. `analysed`: the same, after the
analysis that the judge has written."""

WHOLE = "overall"
"""Name of the one question of the mode `vanilla`."""

TOP = 10.0
"""The highest score; the lowest is 0."""


class CriterionScore(JudgedItem):
    """One criterion and its answer; the judge quotes nothing."""

    id: str
    """Id of the criterion; `overall` in the mode `vanilla`."""
    target: float | None = Field(default=None, ge=0, le=TOP, allow_inf_nan=False)
    """Score of the report; None where it failed."""
    reference: float | None = Field(default=None, ge=0, le=TOP, allow_inf_nan=False)
    """Score of the reference; None where it failed or none was shown."""
    sampled: float | None = Field(default=None, ge=0, le=TOP, allow_inf_nan=False)
    """Score by the judge under its analysis, with `analysed`; `target` is the expected value."""
    spread: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Standard deviation of an expected value under the judge's probabilities."""


class Comparison(Frozen):
    """One comparison: a draw, with one reference, in one order of the articles."""

    reference: int | None = None
    """Index among the references; None without one."""
    target_first: bool = True
    """The report was article 1."""
    draw: int = 0
    """Number of the draw."""
    reply_json: str | None = None
    """JSON of a reply to the published prompt, which the published formulas use instead of `scores`; None where they
    cannot."""
    scores: tuple[CriterionScore, ...]
    """Scores in the order of the criteria."""


class ShownArticle(Frozen):
    """An article as shown to the judge."""

    sha256: str
    """Digest of the text that was shown."""
    n_characters: int
    n_removed: int = 0
    """Citations, links, lists of references and footnotes that were taken out."""
    joined: JoinedBy | None = None
    """Origin of a reference: how it was joined to the task."""
    n_pieces: int = 0
    """Parts that the judge was asked to copy without citations."""
    failures: tuple[Failure, ...] = ()
    """Failures of those parts that were cleaned by code instead."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the copies."""


class RaceFindings(Findings):
    """All comparisons of one report, and how they were made."""

    task: str
    """Id of the task."""
    request: str
    """Text of the task."""
    mode: Mode = "reference"
    """Setting of the run, like the next six."""
    order: Order = "paper"
    source: Source = "adaptive"
    criterion_weights: bool = True
    """The weights of criteria count; else all criteria of a dimension count alike."""
    dimension_weights: bool = True
    """The weights of dimensions count; else all dimensions count alike."""
    scoring: Scoring = "sampled"
    cleaning: Cleaning = "code"
    language: str = "und"
    """ISO 639-1 code of the request."""
    criteria: Criteria | None = None
    """Criteria that the judge was shown; None in the mode `vanilla`."""
    report: ShownArticle | None = None
    """The report as shown: `sha256`, `n_characters`, `n_removed`, `joined`, and the result of the cleaning by a judge;
    None where a published file states scores."""
    references: tuple[ShownArticle, ...] = ()
    """The references as shown."""
    comparisons: tuple[Comparison, ...] = ()
    """Comparisons: one per reference, order of the articles and draw; none where a published file states scores."""

    @model_validator(mode="after")
    def _compared_or_stated(self) -> Self:
        if (self.stated is None) is not bool(self.comparisons and self.report):
            raise ValueError("either comparisons of a report, or stated scores")
        return self

    @property
    def articles(self) -> tuple[ShownArticle, ...]:
        """The report and the references as shown."""
        return (*((self.report,) if self.report else ()), *self.references)

    @property
    def n_unscored(self) -> int:
        """Questions about criteria without an answer, over all comparisons."""
        return sum(item.failure is not None for comparison in self.comparisons for item in comparison.scores)

    @property
    def n_failed(self) -> int:
        """Number of these questions, and of parts that the judge did not clean."""
        return self.n_unscored + sum(len(shown.failures) for shown in self.articles)
