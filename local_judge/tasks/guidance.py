"""Guidance files: one row a task, with all that is known of how the guidance came about, and the points of drafts.

Invariants: what a person changed is kept beside what it was; a rejected draft reaches no judge; the text of a draft
depends on its points and the language alone; a point's source is a quotation that code found in the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict

from local_judge.claims.model import Quote
from local_judge.errors import InputError
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.kinds import Kind
from local_judge.tasks.model import Guidance, Task
from local_judge.tasks.review import OwnRow
from serving.types import Frozen

Scope = Literal[
    "request_fulfillment",
    "analytical_soundness",
    "structural_coherence",
    "format_style",
    "ethics_compliance",
    "any",
]
"""Which of DEER's judged dimensions a point bears on; `any` where it is of no one in particular."""

_HEADINGS = {
    "en": "A report on this request must meet these points:",
    "zh": "针对这一请求的报告必须满足以下要点：",
}
_SOURCES = {"en": "Source", "zh": "来源"}
_SCOPES: dict[str, dict[Scope, str]] = {
    "en": {
        "request_fulfillment": "request fulfilment",
        "analytical_soundness": "analysis",
        "structural_coherence": "structure",
        "format_style": "format and style",
        "ethics_compliance": "ethics",
    },
    "zh": {
        "request_fulfillment": "满足请求",
        "analytical_soundness": "分析",
        "structural_coherence": "结构",
        "format_style": "格式与文风",
        "ethics_compliance": "伦理",
    },
}


class PointSource(Frozen):
    """The passage that a point leans on."""

    url: str
    text_digest: str
    """Of the page's text, which the quotation's offsets are of."""
    quote: Quote


class Point(Frozen):
    """One thing that a report must do."""

    statement: str
    bears_on: Scope = "any"
    source: PointSource | None = None
    quote_rejected: str | None = None
    """What the judge gave as a quotation that stands in none of the passages that it was shown."""


def render(points: Iterable[Point], language: str) -> str:
    """The guidance that the points make: numbered, each with its quotation.

    Args:
        points: in their order.
        language: ISO 639-1 code of the task; the words between the points are English unless it is `zh`.
    """
    words = language if language in _HEADINGS else "en"
    lines = [_HEADINGS[words]]
    for number, point in enumerate(points, 1):
        scope = _SCOPES[words].get(point.bears_on)
        lines.append(f"{number}. {point.statement}" + (f" ({scope})" if scope else ""))
        if point.source is not None:
            quotation = " ".join(point.source.quote.text.split())
            lines.append(f'   {_SOURCES[words]}: "{quotation}" ({point.source.url})')
    return "\n".join(lines)


class GuidanceRow(OwnRow):
    """One line of a guidance file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "guidance"

    text: str
    """What a judge is shown."""
    language: str = "und"
    """ISO 639-1 code of the request."""
    points: tuple[Point, ...] = ()
    """As drafted; a review changes the text and leaves them."""
    snapshot: str | None = None
    """Digest of the snapshot that the judge was shown passages of."""
    passages: tuple[str, ...] = ()
    """Ids of these passages, in the order in which they were shown."""
    text_before: str | None = None
    """As drafted, where a reviewer changed it."""

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """A row of a file. Raises InputError, which says `place`: it is none, or empty."""
        row = super().parse(data, place)
        if not row.text.strip():
            raise InputError(f"{place}: the guidance of task {row.task_id!r} is empty; leave the row out")
        return row

    @property
    def request(self) -> None:
        """None: guidance is found by the task's id alone."""

    @property
    def content(self) -> Guidance | None:
        """What a judge is shown; None for a rejected draft."""
        if self.status == "rejected":
            return None
        return Guidance(text=self.text, status=self.status, reviewer=self.reviewer)

    @property
    def editable(self) -> str:
        """The text."""
        return self.text

    def edited(self, text: str) -> GuidanceRow:
        """The row with another text. Raises InputError: it is empty."""
        if not text.strip():
            raise InputError(f"task {self.task_id!r}: the guidance is empty; reject it instead")
        return self.model_copy(update={"text": text.strip(), "text_before": self.text_before or self.text})


class _GuidanceKind(Kind[GuidanceRow]):
    """Guidance is joined by the task's id alone, and a file without any is no error of its own."""

    def load(self, path: Path, *, open_dates: bool = False) -> Rows[GuidanceRow]:
        """As of other kinds, but that a file may be empty."""
        return Rows([Keyed(str(path), row.key, None, row) for _, row in self.read(path)])

    def join(self, task: Task, rows: Rows[GuidanceRow]) -> Task | None:
        """As of other kinds, but that guidance which was drafted for another request is an error."""
        found = rows.of(task)
        if found is not None and (row := found.rows[0]).value.task not in (None, task.prompt):
            raise InputError(
                f"{row.place}: the guidance of task {task.id!r} was drafted for another request; draft it again"
            )
        return super().join(task, rows)

    def unmatched(self, rows: Rows[GuidanceRow]) -> str:
        """That no id is that of a task."""
        return f"none of its {len(rows.rows)} task ids is that of a report's task"


GUIDANCE_KIND = _GuidanceKind("guidance", "guidance", GuidanceRow)
