"""Part `labels`: does the judge agree with the labels of claims and pages?

The part runs only if annotated reports (docs/guides/verifier.md) or files of labelled claims
(docs/guides/human-labels.md) are named. The pages are those beside the annotations, the evidence in the files, or else
those of the snapshot. Calibrations are those that later runs apply.

Invariant: each labelled pair of a claim and a page is one item for each method. Original and altered claims are never
in one prompt. A page that cannot be read is named in the notes and gives no item.

    truth    1 if the claim's label is `supported`
    called   whether the judge's label is `supported`
    said     `scored`: the confidence; `grouped`: the rank of the label (`parts.verification.RANKS`)
    gold     the claim's label
    label    the judge's label, or `not_found` if the labels of the set do not distinguish it from `not_found`
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Literal

from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.evaluate import Measure as Similar
from local_judge.lab.annotations.evaluate import evaluate
from local_judge.lab.annotations.extraction import THRESHOLDS, lexical
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.annotations.verification import JudgedPair
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
from local_judge.lab.qualification.parts.verification import RANKS
from local_judge.lab.verifier_benchmark.rows import LabelledRow, evidence_snapshot, load_sets
from local_judge.runs.execution.verify import ClaimRow, verify_rows
from local_judge.stats.agreement.chance import cohen_kappa
from local_judge.stats.calibration.measures import Judged, auc
from local_judge.terminal import count

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
    """Return the mean of sensitivity and specificity; None if one class is missing."""
    supported = [bool(item.called) for item in items if item.truth]
    others = [not item.called for item in items if not item.truth]
    if not supported or not others:
        return None
    return (sum(supported) / len(supported) + sum(others) / len(others)) / 2


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
        same = Similar("lexical", lexical, THRESHOLDS["lexical"])
        items: list[Item] = []
        unread: set[tuple[str, str]] = set()
        for path in paths:
            reports = load_annotations([path])
            with _pages(path, context.snapshot) as snapshot:
                for method in self.settings.methods:
                    config = ClaimsConfig(method=method, form="terse", reliability=False)
                    found = await evaluate(
                        reports, snapshot, context.judge, config, same, ("verification",), lambda: None
                    )
                    items += [_item(pair, method) for pair in found.pairs if pair.unread is None]
                    unread |= {(pair.claim, pair.url) for pair in found.pairs if pair.unread is not None}
        rows = load_sets([Path(given) for given in self.settings.claims])
        with _pages_of(rows, context.snapshot) as snapshot:
            for method in self.settings.methods:
                answered = await _ask_rows(rows, snapshot, context.judge, method)
                items += [item for item in answered if isinstance(item, Item)]
                unread |= {item for item in answered if not isinstance(item, Item)}
        missing = f"{count(len(unread), 'labelled claim')} without a page that can be read"
        notes = (missing,) if unread else ()
        return Found(tuple(items), notes)

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


@contextmanager
def _pages(path: Path, snapshot: Snapshot) -> Generator[Snapshot]:
    """Yield a temporary snapshot of the pages beside annotations, or else the given one."""
    with ExitStack() as stack:
        try:
            beside = stack.enter_context(snapshot_beside([path]))
        except InputError:
            beside = snapshot
        yield beside


@contextmanager
def _pages_of(rows: Sequence[LabelledRow], snapshot: Snapshot) -> Generator[Snapshot]:
    """Yield a temporary snapshot of the evidence in the rows, or else the given one.

    Raises:
        InputError: some rows have evidence and others a URL.
    """
    refuse_mixed(rows)
    if all(row.evidence is None for row in rows):
        yield snapshot
    else:
        with evidence_snapshot(rows) as frozen:
            yield frozen


def refuse_mixed(rows: Sequence[LabelledRow]) -> None:
    """Raise InputError if some rows have evidence and others a URL."""
    if len({row.evidence is None for row in rows}) > 1:
        raise InputError("--labels: some claims have `evidence` and others a `url`; give files of one kind")


async def _ask_rows(
    rows: Sequence[LabelledRow], snapshot: Snapshot, judge: Judge, method: Method
) -> list[Item | tuple[str, str]]:
    """Return an item for each row, or the claim and the URL where its page cannot be read."""
    asked = [ClaimRow(id=f"{row.set}/{row.id}", claim=row.claim, url=row.page) for row in rows]
    config = ClaimsConfig(method=method, form="terse", reliability=False)
    classes: dict[str, set[str]] = {}
    for row in rows:
        classes.setdefault(row.set, set()).add(_gold(row))
    found: list[Item | tuple[str, str]] = []
    for row, one in zip(rows, await verify_rows(asked, snapshot, judge, config), strict=True):
        if one.status != "ok":
            found.append((one.id, one.url))
            continue
        facets = {
            "method": method,
            "language": snapshot.page(row.page).language or detect_language(row.claim),
            "version": "original",
            "kind": "true" if row.label == "supported" else row.label,
            "set": row.set,
            "gold": _gold(row),
        }
        answer = JudgeAnswer.failed(one.failure)
        if one.label is not None:
            facets["label"] = one.label if one.label in classes[row.set] else "not_found"
            value = one.confidence if method == "scored" else float(RANKS[one.label])
            answer = JudgeAnswer(value, one.label == "supported")
        id, truth = f"{one.id}@{one.url}:{method}", float(row.label == "supported")
        found.append(answer.item(id, row.document, facets, truth))
    return found


def _gold(row: LabelledRow) -> str:
    """Return a claim's label in the words of verdicts."""
    return "not_found" if row.label == "unsupported" else row.label


def _item(pair: JudgedPair, method: Method) -> Item:
    facets = {
        "method": method,
        "language": pair.language,
        "version": "original" if pair.kind is None else "altered",
        "kind": pair.kind or "true",
        "set": "annotated reports",
        "gold": pair.gold,
    }
    answer = JudgeAnswer.failed(pair.failure)
    if pair.label is not None:
        facets["label"] = pair.label
        value = pair.confidence if method == "scored" else float(RANKS[pair.label])
        answer = JudgeAnswer(value, pair.label == "supported", pair.failure)
    id = f"{pair.claim}@{pair.url}:{method}"
    return answer.item(id, pair.url, facets, float(pair.gold == "supported"))
