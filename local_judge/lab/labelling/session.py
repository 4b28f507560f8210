"""A random sample of a run's verdicts, and one annotator's labels of it.

Invariants: the sample depends on the run, the number and the seed alone, so that several annotators get the same
claims in the same order; the judge's verdict is not shown; every label is on disk before the next claim is shown, and
a label changes no other row of the file, whoever wrote it, in this session or another.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indexes.snapshot import Snapshot
from local_judge.base.model import Frozen
from local_judge.base.rows import alone, write_jsonl
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.nearest import nearest_sentences
from local_judge.runs.results.labels import ClaimLabel, HumanLabel, Unit, VerdictOfRun, labels_of, load_labels


class LabelItem(Frozen):
    """One claim to label, as the page shows it."""

    number: int
    """Position in the sample, from 0."""
    claim: str
    url: str
    title: str
    text: str
    """Text of the page."""
    marks: tuple[tuple[int, int], ...]
    """Spans of `text` to look at first: the sentences nearest to the claim."""
    label: HumanLabel | None
    note: str


class LabelSession:
    """Labels of one annotator.

    Args:
        verdicts: the sample (`draw_sample`).
        snapshot: has the pages.
        annotator: name of the annotator.
        path: file of labels, which may exist.
        seed: seed of the sample.

    Raises:
        InputError: the file of labels is invalid.
    """

    def __init__(
        self,
        verdicts: Sequence[VerdictOfRun],
        snapshot: Snapshot,
        annotator: str,
        path: Path,
        seed: int = 0,
    ) -> None:
        self._verdicts, self._snapshot, self._seed = verdicts, snapshot, seed
        self.annotator, self._path = annotator, path
        self._own = self._own_of(self._stored())

    def __len__(self) -> int:
        return len(self._verdicts)

    @property
    def labels(self) -> list[HumanLabel | None]:
        """Labels of the sample, in order; None for a claim without one."""
        return [own.label if (own := self._label_of(one)) else None for one in self._verdicts]

    def item(self, number: int) -> LabelItem:
        """Return the claim at a position.

        Raises:
            IndexError: there is none.
        """
        if not 0 <= number < len(self._verdicts):
            raise IndexError(number)
        one = self._verdicts[number]
        page = self._snapshot.page(one.verdict.url)
        nearest = nearest_sentences(page, [one.claim], self._snapshot, ClaimsConfig())[0]
        own = self._label_of(one)
        return LabelItem(
            number=number,
            claim=one.claim.text,
            url=page.original_url or page.url,
            title=page.title,
            text=page.text,
            marks=tuple(sorted((quote.start, quote.end) for quote in nearest)),
            label=own.label if own else None,
            note=own.note if own else "",
        )

    def set(self, number: int, label: HumanLabel, note: str = "") -> None:
        """Label the claim at a position and write the file.

        Raises:
            IndexError: there is none.
            InputError: the file cannot be written.
        """
        if not 0 <= number < len(self._verdicts):
            raise IndexError(number)
        one = self._verdicts[number]
        report, claim, url = one.unit
        made = ClaimLabel(
            report=report,
            claim=claim,
            url=url,
            text=one.claim.text,
            label=label,
            annotator=self.annotator,
            note=note,
            seed=self._seed,
            sample=len(self._verdicts),
            number=number,
        )
        with alone(self._path):  # annotators, and windows of one annotator, may share the file
            stored = self._stored()
            others = [label for label in stored if label.annotator != self.annotator]
            # The labels of this session outlive a file that is deleted or moved.
            own = {**self._own, **self._own_of(stored), made.unit: made}
            write_jsonl(self._path, [*others, *own.values()])
        self._own = own

    def _own_of(self, labels: Sequence[ClaimLabel]) -> dict[Unit, ClaimLabel]:
        return {label.unit: label for label in labels if label.annotator == self.annotator}

    def _label_of(self, one: VerdictOfRun) -> ClaimLabel | None:
        found = labels_of([self._own[one.unit]] if one.unit in self._own else [], {one.unit: one.claim.text})
        return found[0] if found else None

    def _stored(self) -> list[ClaimLabel]:
        return load_labels([self._path]) if self._path.exists() and self._path.stat().st_size else []
