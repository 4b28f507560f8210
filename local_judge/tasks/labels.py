"""Labels of reviewers for requests and checklist items (LiveResearchBench, appendix J, Tables 12 and 13).

Invariants: a reviewer has at most one label for a text in a round. A label that the tables ask to explain has the
modified text or the comment. The next round has the texts that reviewers labelled differently, and no others, with the
labels of earlier rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, model_validator

from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.base.rows import alone, row_of, write_jsonl
from local_judge.stats.agreement.inter_judge import InterJudgeAgreement, agreement_of_judges
from local_judge.tasks.checklists import CHECKLIST_KIND, ChecklistRow
from local_judge.tasks.model import Checklist
from local_judge.tasks.rowfile import RowFile, TaskRow

Part = Literal["request", "item"]
Need = Literal["text", "comment"]
LABELS: Mapping[Part, Mapping[str, Need | None]] = {
    "request": {"appropriate": None, "appropriate with modification": "text", "not appropriate": None},
    "item": {
        "appropriate": None,
        "valid but not necessary": "comment",
        "needs modification": "text",
        "not appropriate": "comment",
    },
}
"""Labels in the order of the tables, each with what the reviewer has to add."""
REQUEST = "request"
"""Name of a task's request beside the ids of its items."""


class GivenLabel(Frozen):
    """Label of one reviewer."""

    label: str
    """One of `LABELS`."""
    text: str = ""
    """Modified text."""
    comment: str = ""
    """Reason."""


class LabelRow(TaskRow):
    """Request or checklist item with the labels of its reviewers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    """Id of the task."""
    item: str
    """`request`, or the id of the item, such as `q1`."""
    text: str
    """Text that is labelled."""
    labels: dict[str, GivenLabel] = Field(default_factory=dict[str, GivenLabel])
    """Labels of this round by reviewer."""
    earlier: tuple[dict[str, GivenLabel], ...] = ()
    """Labels of earlier rounds, the first round first."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        for given in chain.from_iterable(one.values() for one in (self.labels, *self.earlier)):
            menu = LABELS[self.part]
            if given.label not in menu:
                raise ValueError(f"{given.label!r} is not a label of {self.name}; labels: {', '.join(menu)}")
            need = menu[given.label]
            if need is not None and not getattr(given, need).strip():
                raise ValueError(f"{given.label!r} for {self.name} needs a {need}")
        return self

    @property
    def part(self) -> Part:
        """Kind of the text."""
        return "request" if self.item == REQUEST else "item"

    @property
    def name(self) -> str:
        """Name in messages."""
        return f"{'the request' if self.part == 'request' else self.item} of task {self.task_id!r}"

    @property
    def key(self) -> str:
        """Task and item."""
        return f"{self.task_id} {self.item}"

    @property
    def request(self) -> None:
        """None: rows are found by id."""
        return None

    @property
    def disputed(self) -> bool:
        """Check whether reviewers gave different labels."""
        return len({given.label for given in self.labels.values()}) > 1

    def labelled(self, reviewer: str, given: GivenLabel) -> LabelRow:
        """Return the row with a reviewer's label. Raises InputError: the label is unknown or lacks its reason."""
        data = self.model_dump(mode="json")
        data["labels"][reviewer] = given.model_dump(mode="json")
        return row_of(LabelRow, data, "--label")


class LabelAgreement(NamedTuple):
    """Agreement of the reviewers about one kind of text."""

    part: Part
    n_disputed: int
    """Texts with different labels."""
    found: InterJudgeAgreement


def label_file(path: Path, checklists: Path) -> RowFile[LabelRow]:
    """Return a file of labels; a file that does not exist is made, with a row for each request and item.

    Args:
        path: file of labels.
        checklists: file of checklists in any form.

    Raises:
        InputError: a file cannot be read or written, or the labelled text differs from the checklist's.
    """
    found = {row.key: row for row in _rows_of(checklists)}
    with alone(path):
        if not path.exists():
            write_jsonl(path, found.values())
    file = RowFile(path, LabelRow, by_request=False)
    for row in file.load().values():
        if row.key not in found or found[row.key].text != row.text:
            raise InputError(
                f"{path}: {row.name} has another text than in {checklists}; label it in a new file"
            )
    return file


def _rows_of(checklists: Path) -> Iterable[LabelRow]:
    rows: dict[str, ChecklistRow] = {one.value.key: one.value for one in CHECKLIST_KIND.load(checklists).rows}
    for row in rows.values():
        if row.task is not None:
            yield LabelRow(task_id=row.key, item=REQUEST, text=row.task)
        for item in Checklist.of(row.items).items:
            yield LabelRow(task_id=row.key, item=item.id, text=item.text)


def agreement_of_labels(rows: Sequence[LabelRow]) -> list[LabelAgreement]:
    """Return the agreement of the reviewers about requests and about items; empty if there is one reviewer."""
    found: list[LabelAgreement] = []
    for part in LABELS:
        own = [row for row in rows if row.part == part]
        reviewers = sorted({name for row in own for name in row.labels})
        if len(reviewers) < 2:
            continue
        by_task: dict[str, dict[str, dict[str, str]]] = {}
        for row in own:
            labels = {name: given.label for name, given in row.labels.items()}
            by_task.setdefault(row.task_id, {})[row.item] = labels
        agreement = agreement_of_judges(list(by_task.values()), reviewers, "nominal")
        found.append(LabelAgreement(part, sum(row.disputed for row in own), agreement))
    return found


def next_round(rows: Iterable[LabelRow]) -> list[LabelRow]:
    """Return the disputed texts without labels, which are among those of earlier rounds."""
    return [
        row.model_copy(update={"labels": {}, "earlier": (*row.earlier, row.labels)})
        for row in rows
        if row.disputed
    ]
