"""Probabilities beside people's labels: known values of bins, shares and errors."""

from __future__ import annotations

import pytest

from local_judge.claims.model import Label
from local_judge.reporting.page.reliability import FittedOn, GivenVerdict, reliability
from local_judge.runs.results.labels import ClaimLabel, HumanLabel


def verdict(n: int, label: Label, p: float | None = None) -> GivenVerdict:
    return GivenVerdict(("r1" if n < 2 else "r2", f"c{n}", "https://a.example/"), f"Claim {n}.", label, p)


def label(n: int, said: HumanLabel, annotator: str = "ada") -> ClaimLabel:
    report, claim, url = verdict(n, "supported").unit
    return ClaimLabel(report=report, claim=claim, url=url, label=said, annotator=annotator)


FOUR = [
    verdict(0, "supported", 0.95),
    verdict(1, "supported", 0.95),
    verdict(2, "not_found", 0.15),
    verdict(3, "not_found", 0.35),
]


def test_bins_shares_and_errors_of_four_claims() -> None:
    """People call one of two claims with 0.95 supported, and none of the others: the gaps of the bins are
    |1 - 1.9| = 0.9, 0.15 and 0.35, so that ECE = 1.4 / 4. Brier: (0.05² + 0.95² + 0.15² + 0.35²) / 4. AUC: the one
    supported claim is above two of three others and equal to one: 2.5 / 3."""
    said: list[HumanLabel] = ["supported", "partial", "unsupported", "contradicted"]
    found = reliability(0, None, FOUR, [label(n, one) for n, one in enumerate(said)])
    assert found is not None
    assert found.counts == (0, 1, 0, 1, 0, 0, 0, 0, 0, 2)
    assert [(one.true.n, one.true.of) for one in found.bins if one.true.of] == [(0, 1), (0, 1), (1, 2)]
    assert found.ece is not None and found.ece.value == pytest.approx(1.4 / 4)
    assert found.brier is not None and found.brier.value == pytest.approx(1.05 / 4)
    assert found.auc is not None and found.auc.value == pytest.approx(2.5 / 3)
    assert [(one.label, one.n, one.people.n, one.people.of) for one in found.verdicts] == [
        ("supported", 2, 1, 2),
        ("not_found", 2, 0, 2),
    ]


def test_most_annotators_decide_and_the_divided_are_counted() -> None:
    labels = [
        *(label(0, "supported", name) for name in ("ada", "bob")),
        label(0, "unsupported", "eve"),
        *(label(1, "supported", name) for name in ("ada",)),
        label(1, "unsupported", "bob"),
        label(2, "unclear"),
    ]
    found = reliability(0, None, FOUR, labels)
    assert found is not None
    assert (found.n_labelled, found.n_divided, found.n_unclear, found.n_unmatched) == (1, 1, 1, 0)
    assert found.auc is not None and (found.auc.value, found.auc.reason) == (None, "claims of one kind only")
    assert found.ece is not None and found.ece.value == pytest.approx(0.05)


def test_verdicts_without_probabilities_are_shown_by_label() -> None:
    found = reliability(0, None, [verdict(0, "partial")], [label(0, "supported"), label(3, "supported")])
    assert found is not None
    assert (found.counts, found.bins, found.ece, found.n_unmatched) == ((), (), None, 1)
    assert [(one.label, one.people.value) for one in found.verdicts] == [("partial", 1.0)]


def test_nothing_is_known_without_probabilities_and_labels() -> None:
    assert reliability(0, None, [verdict(0, "partial")], [label(3, "supported")]) is None


def test_without_labels_the_probabilities_and_their_calibration_are_known() -> None:
    own = FittedOn(language="all", method="beta", n=400, ece=0.03, auc=0.9)
    found = reliability(0, None, FOUR, [], [own])
    assert found is not None
    assert (found.n_labelled, found.bins, found.calibrations) == (0, (), (own,))
