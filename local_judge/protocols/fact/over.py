"""FACT's scores over all reports of a system, in every way that is in use, each by its name.

Invariants: both profiles give the same tree; a report of which nothing is known stays in the counts and in the bounds;
what the published code prints is, in `upstream`, computed from whole numbers as it does, to the last bit.

    citation accuracy    all      mean over all reports, 0 for one without pairs (paper, appendix E.1, Eq. 3 and 4)
                         citing   mean over the reports with citations
                         pooled   supported pairs / pairs that count, of all reports together (the code's `valid_rate`)
    effective citations  all      supported pairs / all reports (Eq. 5)
                         citing   supported pairs / reports with citations (the code's `total_valid_citations`)
    citations            all, citing likewise (the code's `total_citations`)
    unknown              pairs of unknown outcome / pairs, of all reports together

The root of the first three is, in `paper`, what the paper defines (`all`), and in `upstream` what the code prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.scores import (
    ACCURACY,
    CITATIONS,
    EFFECTIVE,
    Tally,
    accuracy,
    citations_of,
    effective,
    tally,
    unknown_share,
    zero,
)
from local_judge.protocols.scores import Profile, Score, ScoreNode, known_enough, mean_share

ROOTS = {
    "paper": {ACCURACY[0]: "all", EFFECTIVE[0]: "all", CITATIONS[0]: "all"},
    "upstream": {ACCURACY[0]: "pooled", EFFECTIVE[0]: "citing", CITATIONS[0]: "citing"},
}
"""Which child each root repeats."""

LABELS = {"all": "mean over all reports", "citing": "mean over citing reports", "pooled": "pooled"}


def over(reports: Sequence[FactFindings], profile: Profile, n_missing: int = 0) -> tuple[ScoreNode, ...]:
    """The scores of several reports together.

    Args:
        reports: findings of one system's reports, each of another task.
        profile: whose definition of a report's scores.
        n_missing: reports that have no findings, since they could not be read or evaluated.
    """
    counts = [tally(findings, profile) for findings in reports]
    citing = [one for one, findings in zip(counts, reports, strict=True) if findings.n_citations]

    def means(part: Callable[[Tally, Profile], Score], top: float | None) -> dict[str, Score]:
        return {
            name: _mean([_counted(part(one, profile), profile) for one in group], n_missing, top)
            for name, group in (("all", counts), ("citing", citing))
        }

    values = (
        (ACCURACY, means(_accuracy, 1.0) | {"pooled": _pooled(counts, n_missing)}),
        (EFFECTIVE, means(lambda one, _: effective(one), None)),
        (CITATIONS, means(citations_of, None)),
    )
    return (
        *(_node(id, label, children, ROOTS[profile][id]) for (id, label), children in values),
        _unknown(reports, n_missing),
    )


def _counted(score: Score, profile: Profile) -> Score:
    """A report's score as a mean takes it: in `paper` as it stands for the report, while the code takes all."""
    return known_enough(score) if profile == "paper" else score


def _accuracy(counts: Tally, profile: Profile) -> Score:
    return accuracy(counts, profile) if counts.n else zero()


def _mean(parts: Sequence[Score], n_missing: int, top: float | None) -> Score:
    """The mean of the parts that have a value; `top` is the most that a missing report could have, None: no limit."""
    values = [part.value for part in parts if part.value is not None]
    n_failed = sum(part.value is None and part.n_failed > 0 for part in parts)
    value = sum(values) / len(values) if values else None
    lows = [part.low if part.low is not None else part.value for part in parts]
    highs = [part.high if part.high is not None else part.value for part in parts]
    low = _bound(lows, n_missing, 0.0)
    high = _bound(highs, n_missing, top) if top is not None or not n_missing else None
    if value is not None:
        low = value if low is None else min(low, value)
        high = max(high, value) if high is not None else high
    return Score(
        value=value,
        numerator=sum(values) if values else None,
        denominator=len(values) if values else None,
        n_expected=len(parts) + n_missing,
        n_failed=n_failed + n_missing,
        n_undefined=len(parts) - len(values) - n_failed,
        known=mean_share(parts, n_missing),
        low=low,
        high=high,
        note=_note(len(parts) - len(values), n_missing, "" if parts else "no such report"),
    )


def _bound(known: Sequence[float | None], n_missing: int, of_missing: float | None) -> float | None:
    bounds = [bound for bound in known if bound is not None]
    if not bounds and not n_missing:
        return None
    return (sum(bounds) + n_missing * (of_missing or 0.0)) / (len(bounds) + n_missing)


def _pooled(counts: Sequence[Tally], n_missing: int) -> Score:
    """Supported pairs / pairs that count. How many pairs a missing report has is not known: it leaves all open."""
    supported = sum(one.supported for one in counts)
    known = sum(one.known for one in counts)
    failed = sum(one.failed for one in counts)
    low = high = None
    if n_missing:
        low, high = 0.0, 1.0
    elif known + failed:
        low, high = supported / (known + failed), (supported + failed) / (known + failed)
    return Score(
        value=supported / known if known else None,
        numerator=supported if known else None,
        denominator=known or None,
        n_expected=known + failed,
        n_failed=failed,
        n_undefined=int(not known and not failed and not n_missing),
        low=low,
        high=high,
        note=_note(
            0, n_missing, "" if known else f"all {failed} failed" if failed else "0/0: the code fails"
        ),
    )


def _unknown(reports: Sequence[FactFindings], n_missing: int) -> ScoreNode:
    node = unknown_share(reports)
    if not n_missing:
        return node
    left_open = {"low": 0.0, "high": 1.0, "note": _note(0, n_missing, "")}
    return node.model_copy(update={"score": node.score.model_copy(update=left_open)})


def _note(n_without: int, n_missing: int, otherwise: str) -> str:
    reasons = [f"{n_without} without value"] if n_without else []
    reasons += [f"{n_missing} of the run's reports missing"] if n_missing else []
    return ", ".join(reasons) or otherwise


def _node(id: str, label: str, children: dict[str, Score], chosen: str) -> ScoreNode:
    """A root with its ways of taking the mean; it repeats the one that the profile defines, and says which."""
    own = children[chosen]
    note = "; ".join(text for text in (LABELS[chosen], own.note) if text)
    return ScoreNode(
        id=id,
        label=label,
        score=own.model_copy(update={"note": note}),
        children=tuple(
            ScoreNode(id=name, label=LABELS[name], score=score) for name, score in children.items()
        ),
    )
