"""Does the judge say of claims and pages what people say?

Asked only where annotated reports are named (docs/explanation/verifier.md); the pages are those beside the
annotations, or else the snapshot's own.

Invariant: each pair of a claim and a page that people have labelled is one item for each method that it was asked by;
originals and altered claims never stand in one prompt. A page that cannot be read is named in the notes and is no item.

    truth    1 if the label of people is `supported`
    called   whether the judge's label is
    said     of `scored` the confidence, of `grouped` the rank of the label (`parts.verification.RANKS`)
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig
from local_judge.errors import InputError
from local_judge.lab.annotations.evaluate import Measure as Sameness
from local_judge.lab.annotations.evaluate import evaluate
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.annotations.similarity import THRESHOLDS, lexical
from local_judge.lab.annotations.verification import JudgedPair
from local_judge.lab.qualification.figures import Measure, Value, share, steps, where
from local_judge.lab.qualification.model import Item, PartName
from local_judge.lab.qualification.part_context import Found, PartContext
from local_judge.lab.qualification.parts.verification import RANKS
from local_judge.stats.agreement.kappa import cohen_kappa
from local_judge.stats.calibration.separation import Judged, auc
from serving.types import Frozen

Method = Literal["scored", "grouped"]


class LabelsSettings(Frozen):
    """Which annotations, and how they are asked about."""

    reports: tuple[str, ...] = ()
    """Folders of annotated reports, files `NAME.claims.jsonl`, or `sample`. Without any the part is left out."""
    methods: tuple[Method, ...] = ("scored",)


class Labels:
    """The part."""

    name: PartName = "labels"

    def __init__(self, settings: LabelsSettings) -> None:
        self.settings = settings

    async def ask(self, context: PartContext) -> Found:
        """One question a pair by `scored`; by `grouped` those of a page in one, altered ones apart.

        Raises:
            InputError: annotations that cannot be read, or whose pages are nowhere.
        """
        paths = [annotation_path(given) for given in self.settings.reports]
        load_annotations(paths)  # all together, so that no name stands twice
        items: list[Item] = []
        unread: set[tuple[str, str]] = set()
        for path in paths:
            reports = load_annotations([path])
            with _pages(path, context.snapshot) as snapshot:
                for method in self.settings.methods:
                    config = ClaimsConfig(method=method, form="terse", reliability=False)
                    same = Sameness("lexical", lexical, THRESHOLDS["lexical"])
                    found = await evaluate(
                        reports, snapshot, context.judge, config, same, ("verification",), lambda: None
                    )
                    items += [_item(pair, method) for pair in found.pairs if pair.unread is None]
                    unread |= {(pair.claim, pair.url) for pair in found.pairs if pair.unread is not None}
        notes = [f"{len(unread)} labelled pairs lean on pages that cannot be read"] if unread else []
        return Found(tuple(items), tuple(notes))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Agreement with people by method, then by language, and on claims as they stand and altered."""
        found: list[Measure] = []
        for method in self.settings.methods:
            own = [item for item in items if item.facets["method"] == method]
            if own:
                found += _measures(method, {})
                for facet in ("language", "version"):
                    for value in sorted({item.facets[facet] for item in own}):
                        found += _measures(method, {facet: value})
        return found


@contextmanager
def _pages(path: Path, snapshot: Snapshot) -> Generator[Snapshot]:
    """Of the pages beside annotations, made for as long as the block; without any, the snapshot at hand."""
    with ExitStack() as stack:
        try:
            beside = stack.enter_context(snapshot_beside([path]))
        except InputError:
            beside = snapshot
        yield beside


def _item(pair: JudgedPair, method: Method) -> Item:
    said = None
    if pair.label is not None:
        said = pair.confidence if method == "scored" else float(RANKS[pair.label])
    facets = {
        "method": method,
        "language": pair.language,
        "version": "original" if pair.kind is None else "altered",
        "kind": pair.kind or "true",
        "gold": pair.gold,
    }
    if pair.label is not None:
        facets["label"] = pair.label
    return Item(
        id=f"{pair.claim}@{pair.url}:{method}",
        unit=pair.url,
        facets=facets,
        truth=float(pair.gold == "supported"),
        said=said,
        called=None if pair.label is None else pair.label == "supported",
        failure=pair.failure,
    )


def _measures(method: Method, only: dict[str, str]) -> list[Measure]:
    of = where({"method": method, **only})
    values: dict[str, Value] = {
        "agreement": share(lambda item: item.called == (item.truth == 1)),
        "kappa": _kappa,
        "sensitivity": share(lambda item: item.called if item.truth else None),
        "specificity": share(lambda item: None if item.truth else not item.called),
        "auc": _auc,
        "same_label": share(lambda item: item.facets["gold"] == item.facets["label"]),
    }
    return [
        Measure(f"labels/{what}/{method}{steps(only)}", of, value, "more") for what, value in values.items()
    ]


def _kappa(items: Sequence[Item]) -> float | None:
    """Cohen's, of `supported` or not: agreement beyond what both would reach by chance."""
    return cohen_kappa(
        [item.truth or 0.0 for item in items], [float(bool(item.called)) for item in items], "unweighted"
    ).value


def _auc(items: Sequence[Item]) -> float | None:
    return auc([Judged(item.truth == 1, item.said or 0.0, item.unit) for item in items])
