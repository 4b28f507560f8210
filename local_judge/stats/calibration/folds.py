"""What a fit is worth on pages that it has not seen.

Invariant: the claims of one page are never on both sides: each is judged by a fit and a threshold that come from the
pages of other folds. The same claims, number of folds and seed give the same folds, in whatever order the claims come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from local_judge.judge.calibration import Method, Objective
from local_judge.stats.calibration.fitting import Sigmoid, Uncalibratable, fit
from local_judge.stats.calibration.separation import Judged, best_threshold

FOLDS = 10


class OutOfFold(NamedTuple):
    """Claims as those fits judge them that have not seen their pages; in order."""

    judged: list[Judged]
    """With calibrated probabilities."""
    called: list[bool]
    """Whether each is called true."""
    thresholds: list[float]
    """Of each fold."""
    fits: list[Sigmoid]
    """Of each fold."""


def folds_of(pages: Sequence[str], n_folds: int, seed: int) -> dict[str, int]:
    """The fold of each page.

    Pages are shuffled, then dealt out, those with most claims first, each to the fold that has the fewest claims so
    far: folds of about equal size.

    Args:
        pages: of each claim.
        n_folds: at most one a page.
        seed: of the shuffle.

    Raises:
        Uncalibratable: fewer than two pages.
    """
    sizes = Counter(pages)
    if len(sizes) < 2:
        raise Uncalibratable(
            "few_pages",
            f"claims of {len(sizes)} page: cross-validation holds pages out and needs two or more",
        )
    order = sorted(sizes)
    # random() is the one method of Random whose sequence Python promises to keep.
    random = Random(seed).random
    order = [page for _, page in sorted((random(), page) for page in order)]
    filled = [0] * min(n_folds, len(sizes))
    placed: dict[str, int] = {}
    for page in sorted(order, key=lambda one: -sizes[one]):
        fold = min(range(len(filled)), key=lambda number: (filled[number], number))
        placed[page] = fold
        filled[fold] += sizes[page]
    return placed


def out_of_fold(
    judged: Sequence[Judged],
    method: Method | None = "beta",
    objective: Objective = "accuracy",
    n_folds: int = FOLDS,
    seed: int = 0,
) -> OutOfFold:
    """Each claim by the fit and the threshold of the other folds.

    Args:
        judged: with log-odds as values; with `method` None, with whatever a threshold can be put on.
        method: None fits nothing and chooses a threshold only.
        objective: of the threshold.
        n_folds: at least two; the number of pages gives each page a fold of its own.
        seed: of the folds.

    Raises:
        Uncalibratable: fewer than two pages, or a fold without which only one class, or one value, is left.
    """
    placed = folds_of([one.page for one in judged], n_folds, seed)
    numbers = sorted(set(placed.values()))
    fits: list[Sigmoid] = []
    thresholds: list[float] = []
    found: list[Judged] = list(judged)
    called = [False] * len(judged)
    for number in numbers:
        seen = [one for one in judged if placed[one.page] != number]
        held = [index for index, one in enumerate(judged) if placed[one.page] == number]
        if method is not None:
            fitted = _fitted(seen, method)
            fits.append(fitted)
            seen = fitted.of(seen)
            for index, one in zip(held, fitted.of([judged[index] for index in held]), strict=True):
                found[index] = one
        cut = best_threshold(seen, objective)
        thresholds.append(cut)
        for index in held:
            called[index] = found[index].value >= cut
    return OutOfFold(found, called, thresholds, fits)


def _fitted(seen: Sequence[Judged], method: Method) -> Sigmoid:
    try:
        return fit(seen, method)
    except Uncalibratable as error:
        if error.kind in ("constant", "inverted"):
            raise
        raise Uncalibratable(
            "few_pages",
            f"without the pages of one fold: {error}; give more pages, each with both kinds of claims",
        ) from None
