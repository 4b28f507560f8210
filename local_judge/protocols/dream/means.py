"""Means and shares over the reports of a system, 0 to 100.

Invariant: a report without findings is counted as failed and opens the bounds with the least and the most that it could
have; a report whose score is undefined is counted as such and is in no mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.protocols.scores import Score, failed, known_enough, mean_share

NO_REPORT = "no report has a value"


def mean_over(parts: Sequence[Score], n_missing: int, least: float, most: float) -> Score:
    """The mean of the reports' scores that have a value.

    Args:
        parts: the score of each report with findings; one of which less is known than unknown counts as failed.
        n_missing: reports without findings.
        least: what such a report has at worst.
        most: at best.
    """
    parts = [known_enough(part) for part in parts]
    values = [part.value for part in parts if part.value is not None]
    n_lost = sum(failed(part) for part in parts)
    open_parts = [part for part in parts if part.value is not None or failed(part)]
    n_failed = n_lost + n_missing
    n_undefined = len(parts) - len(values) - n_lost
    lows = [_or(part.low, part.value, least) for part in open_parts] + [least] * n_missing
    highs = [_or(part.high, part.value, most) for part in open_parts] + [most] * n_missing
    value = sum(values) / len(values) if values else None
    ends = [value] if value is not None else []
    notes = [f"{n_undefined} undefined"] if n_undefined else []
    notes += [f"{n_lost} failed"] if n_lost else []
    notes += [f"{n_missing} missing"] if n_missing else []
    counted = f"of {len(parts) + n_missing} reports {', '.join(notes)}" if notes else ""
    return Score(
        value=value,
        numerator=sum(values) if values else None,
        denominator=float(len(values)) if values else None,
        n_expected=len(parts) + n_missing,
        n_failed=n_failed,
        n_undefined=n_undefined,
        known=mean_share(parts, n_missing),
        low=min([sum(lows) / len(lows), *ends]) if lows else None,
        high=max([sum(highs) / len(highs), *ends]) if highs else None,
        note=counted or ("" if parts else NO_REPORT),
    )


def share_over(hits: Sequence[bool], n_missing: int) -> Score:
    """How many of the reports something holds of."""
    n, n_all = len(hits), len(hits) + n_missing
    found = sum(hits)
    return Score(
        value=100.0 * found / n if n else None,
        numerator=float(found) if n else None,
        denominator=float(n) if n else None,
        n_expected=n_all,
        n_failed=n_missing,
        n_undefined=int(not n_all),
        low=100.0 * found / n_all if n_all else None,
        high=100.0 * (found + n_missing) / n_all if n_all else None,
        note=f"of {n_all} reports {n_missing} missing" if n_missing else "",
    )


def _or(bound: float | None, value: float | None, otherwise: float) -> float:
    """A bound; where there is none the value, or what it is at the outermost."""
    return next((one for one in (bound, value) if one is not None), otherwise)
