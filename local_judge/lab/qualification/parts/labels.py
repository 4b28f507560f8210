"""Part `labels`: does the judge agree with the labels of claims and pages?

The part runs only if annotated reports or files of labelled claims (docs/guides/human-labels.md) are named. The pages
are those beside the annotations, the evidence in the files, or else those of the snapshot. Calibrations are those that
later runs apply.

Invariant: each labelled pair of a claim and a page is one item for each method. Original and altered claims are never
in one prompt. A page that cannot be read is named in the notes and gives no item.

    truth    1 if the claim's label is `supported`
    called   whether the judge's label is `supported`
    said     `scored`: the confidence; `grouped`: the rank of the label (`parts.verification.RANKS`)
    gold     the claim's label
    label    the judge's label, or `not_found` if the labels of the set do not distinguish it from `not_found`
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal

from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.claims.config import ClaimsConfig
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.annotations.model import annotated_claims
from local_judge.lab.labelled.answers import Answer, ask_verdicts
from local_judge.lab.labelled.load import load_sets, with_pages
from local_judge.lab.labelled.model import TRUE, LabelledSet
from local_judge.lab.qualification.figures import (
    Ece,
    Measure,
    MeasureRow,
    Where,
    facet_values,
    measures,
    share,
    steps,
    where,
)
from local_judge.lab.qualification.model import Item, JudgeAnswer
from local_judge.lab.qualification.part import Found, Part, PartContext
from local_judge.stats.agreement.chance import cohen_kappa
from local_judge.stats.calibration.measures import Judged, auc
from local_judge.stats.rates import balanced_accuracy

Method = Literal["scored", "grouped"]


class LabelsSettings(Frozen):
    """Annotations and methods of the part."""

    reports: tuple[str, ...] = ()
    """Folders of annotated reports, files `NAME.claims.jsonl`, or `sample`."""
    claims: tuple[str, ...] = ()
    """Files of labelled claims (`--labels`). Without any and without `reports`, the part is left out."""
    methods: tuple[Method, ...] = ("scored",)
    """Methods of verification to compare."""


def _kappa(items: Sequence[Item]) -> float | None:
    """Return Cohen's kappa for `supported` or not: agreement beyond chance."""
    truths = [item.truth or 0.0 for item in items]
    return cohen_kappa(truths, [float(bool(item.called)) for item in items], "unweighted").value


def _balanced_accuracy(items: Sequence[Item]) -> float | None:
    supported = [bool(item.called) for item in items if item.truth]
    others = [not item.called for item in items if not item.truth]
    return balanced_accuracy(sum(supported), len(supported), sum(others), len(others))


def _auc(items: Sequence[Item]) -> float | None:
    return auc([Judged(item.truth == 1, item.said or 0.0, item.unit) for item in items])


ROWS: Final[Sequence[MeasureRow]] = (
    ("agreement", share(lambda item: item.called == (item.truth == 1)), "more"),
    ("kappa", _kappa, "more"),
    ("sensitivity", share(lambda item: item.called if item.truth else None), "more"),
    ("specificity", share(lambda item: None if item.truth else not item.called), "more"),
    ("auc", _auc, "more"),
    ("balanced_accuracy", _balanced_accuracy, "more"),
    ("called_wrong", share(lambda item: not item.called if item.truth else None), "less"),
    ("ece", Ece(), "less"),
    ("same_label", share(lambda item: item.facets["gold"] == item.facets["label"]), "more"),
)
"""The measures; `grouped` gives no probabilities and has no `ece`."""

OF_SUPPORTED: Final = ("sensitivity", "called_wrong")
"""Measures that are shares of the claims that are labelled supported."""


class Labels(Part[LabelsSettings]):
    """The part."""

    name = "labels"
    legend = "Agreement with the labels of claims."

    figures = r"\w+(/.+)?"

    async def ask(self, context: PartContext) -> Found:
        """Verify each pair by each method: `grouped` puts the claims of a page in one call, altered ones separately.

        Raises:
            InputError: annotations cannot be read, or their pages are missing.
        """
        paths = [annotation_path(given) for given in self.settings.reports]
        load_annotations(paths)  # all together, to refuse a name that occurs twice
        items: list[Item] = []
        unread: set[str] = set()
        with ExitStack() as stack:
            sets = [
                LabelledSet(annotated_claims(load_annotations([path])), _pages(path, context.snapshot, stack))
                for path in paths
            ]
            claims = load_sets([Path(given) for given in self.settings.claims])
            sets += stack.enter_context(with_pages(claims, context.snapshot))
            for known in sets:
                for method in self.settings.methods:
                    config = ClaimsConfig(method=method, form="terse", reliability=False)
                    answers = await ask_verdicts([known], context.judge, config)
                    items += _items([one for one in answers if one.is_read], method)
                    unread |= {f"{one.claim.key} {one.page.url}" for one in answers if not one.is_read}
        missing = f"{count(len(unread), 'labelled claim')} without a page that can be read"
        return Found(tuple(items), (missing,) if unread else ())

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Return the measures by method, then by language and set, and for original and altered claims."""
        found: list[Measure] = []
        for method in self.settings.methods:
            own = [item for item in items if item.facets["method"] == method]
            rows = [row for row in ROWS if method == "scored" or row[0] != "ece"]
            for only in ({}, *facet_values(own, "language", "version", "set")) if own else ():
                subset, of = f"/{method}{steps(only)}", where({"method": method, **only})
                found += [
                    one._replace(of=_supported(of)) if name in OF_SUPPORTED else one
                    for (name, _, _), one in zip(rows, measures(self.name, subset, of, rows), strict=True)
                ]
        return found


def _supported(of: Where) -> Where:
    """Return the condition that an item is also supported, so that a figure counts the items of its share."""
    return lambda item: of(item) and item.truth == 1


def _pages(path: Path, snapshot: Snapshot, stack: ExitStack) -> Snapshot:
    """Return a temporary snapshot of the pages beside annotations, or else the given one."""
    try:
        return stack.enter_context(snapshot_beside([path]))
    except InputError:
        return snapshot


def _items(answers: Sequence[Answer], method: Method) -> list[Item]:
    labels: dict[str, set[str]] = {}
    for one in answers:
        labels.setdefault(one.claim.set, set()).add(_gold(one))
    found: list[Item] = []
    for one in answers:
        gold, known = _gold(one), one.claim.facets
        facets = {
            "method": method,
            "language": known.get("language", one.language),
            "version": known.get("version", "original"),
            "kind": known.get("kind", TRUE if one.claim.true else one.claim.label),
            "set": one.claim.set or "annotated reports",
            "gold": gold,
        }
        answer = JudgeAnswer.failed(one.failure)
        if one.label is not None:
            facets["label"] = one.label if one.label in labels[one.claim.set] else "not_found"
            answer = JudgeAnswer(one.confidence if method == "scored" else one.rank, one.called)
        address = "" if known.get("version") else f"@{one.page.url}"
        unit = one.claim.document or one.page.url
        found.append(answer.item(f"{one.claim.key}{address}:{method}", unit, facets, float(one.claim.true)))
    return found


def _gold(one: Answer) -> str:
    """Return a claim's label in the words of verdicts."""
    return "not_found" if one.claim.label == "unsupported" else one.claim.label
