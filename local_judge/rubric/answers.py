"""A judge's answer to one item about a report: one model, whatever an answer is.

Invariant: an answer without a value has the failure that left it open. A quotation is in `quote` only where code found
it in the report; the others are in `quote_rejected`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Quote


class ItemRow(NamedTuple):
    """One answer of a judge to a question of a protocol about a report, in words."""

    metric: str
    """Metric or dimension that the answer counts for."""
    item: str
    """Id of the question, as the protocol's findings name it."""
    text: str = ""
    """Question, or statement that was judged."""
    value: str | float | None = None
    """A label or a number; None without an answer."""
    rationale: str = ""
    quote: Quote | None = None
    """Passage that the judge quotes, found by code: of the page at `url`, or of the report if `url` is None."""
    quote_rejected: str | None = None
    """Quotation by the judge that does not occur there."""
    url: str | None = None
    """Page that the answer is about."""
    failure: Failure | None = None
    """Reason why there is no answer."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""
    details: tuple[str, ...] = ()
    """Further grounds of the answer, such as queries, evidence and weights, a line each."""


class JudgedItem(Frozen):
    """The reasons for an answer about the report. Subclasses add the item's id and the value of the answer."""

    text: str = ""
    """Wording of the item; empty where the findings have it elsewhere, or there is none."""
    rationale: str = ""
    """Reason given by the judge."""
    quote: Quote | None = None
    """A passage of the report, found there by code; offsets into the report's text."""
    quote_rejected: str | None = None
    """Quotation by the judge that does not occur in the report."""
    failure: Failure | None = None
    """Reason why there is no answer."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    def row(
        self, metric: str, item: str, value: str | float | None, text: str = "", *details: str
    ) -> ItemRow:
        """Return the answer in words; `text` is the item's wording if the answer does not have it."""
        return ItemRow(
            metric,
            item,
            self.text or text,
            value,
            self.rationale,
            self.quote,
            self.quote_rejected,
            failure=self.failure,
            replies=self.replies,
            details=details,
        )


class Rating(JudgedItem):
    """An item that is answered by a number."""

    id: str
    """Id of the item."""
    score: Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Number on the item's scale, which starts at 0; None if it failed."""
