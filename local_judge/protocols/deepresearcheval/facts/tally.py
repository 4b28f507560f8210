"""Labels counted.

    paper      labels as their evidence bears out (`facts.labels`)
    upstream   labels as the judge gave them: the published code takes every label as it is written, and a label that is
               none of the three stays among the statements; no published code counts them

Invariant: a statement that failed is in no count of labels and opens their bounds; so does a sentence whose statements
are not known, by as many as it may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings, Label, Ruling
from local_judge.protocols.scores import Profile


class Tally(NamedTuple):
    """Of one report, or of several together."""

    right: int
    wrong: int
    unknown: int
    off: int
    """Labels that are none of the three."""
    failed: int
    """Statements without a label."""
    unread: int
    """Sentences whose statements are not known."""
    missing: int
    """Most statements that these may have."""
    more: int
    """Most statements that may be missing from `n`, through them."""
    displaced: int
    """Most statements that would have been left out for them, where only so many are checked."""
    changed: int
    """Labels of the judge that its evidence does not bear out."""
    found: int
    """Statements located, whether they were to be checked or not."""

    @property
    def known(self) -> int:
        """Statements with a label."""
        return self.right + self.wrong + self.unknown + self.off

    @property
    def n(self) -> int:
        """Statements that were to be checked."""
        return self.known + self.failed

    def most(self, count: int) -> int:
        """The largest that a count of labels may be."""
        return min(count + self.failed + self.more + self.displaced, self.n + self.more)

    def least(self, count: int) -> int:
        """The smallest that it may be."""
        return max(0, count - self.displaced)


def label_of(ruling: Ruling, profile: Profile) -> str | None:
    """A statement's label by a profile; None where there is none."""
    return ruling.given or ruling.label if profile == "upstream" else ruling.label


def tally(findings: FactsFindings, profile: Profile) -> Tally:
    """The labels of one report."""
    labels = [label_of(ruling, profile) for ruling in findings.rulings if ruling.failure is None]
    counts: dict[Label, int] = {label: labels.count(label) for label in ("Right", "Wrong", "Unknown")}
    n, unread = len(findings.rulings), findings.n_unread
    missing = findings.most * unread
    more = missing if findings.limit is None else min(missing, findings.limit - n)
    displaced = 0 if findings.limit is None else min(missing, findings.limit) - more
    return Tally(
        right=counts["Right"],
        wrong=counts["Wrong"],
        unknown=counts["Unknown"],
        off=len(labels) - sum(counts.values()),
        failed=n - len(labels),
        unread=unread,
        missing=missing,
        more=more,
        displaced=displaced,
        changed=sum(
            ruling.given not in (None, ruling.label)
            for ruling in findings.rulings
            if findings.source != "file"  # its evidence was not looked up
        ),
        found=len(findings.statements),
    )


def pooled(tallies: Sequence[Tally]) -> Tally:
    """Of several reports together."""
    sums = [sum(column) for column in zip(*tallies, strict=True)]
    return Tally(*sums) if sums else Tally(*[0] * len(Tally._fields))
