"""Guidance files: one row per task, with the origin of the guidance and the points of drafts.

Invariants: a changed row also keeps the draft; a rejected draft is shown to no judge; the text of a draft depends only
on its points and the language; a point's source is a quotation that code found in the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict

from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.claims.model import Quote
from local_judge.tasks.kinds import Kind
from local_judge.tasks.model import Guidance, GuidanceStatus, Task
from local_judge.tasks.review import OwnRow
from local_judge.tasks.rowfile import Keyed, Rows

Scope = Literal[
    "request_fulfillment",
    "analytical_soundness",
    "structural_coherence",
    "format_style",
    "ethics_compliance",
    "any",
]
"""DEER's judged dimension that a point belongs to; `any` for a point without a particular one."""

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
    """Passage that a point is based on."""

    url: str
    """URL of the page."""
    text_digest: str
    """Digest of the page's text, in which the quotation's offsets count."""
    quote: Quote


class Point(Frozen):
    """Requirement for a report."""

    statement: str
    """Requirement for the report."""
    bears_on: Scope = "any"
    """Rubric dimension that it is about."""
    source: PointSource | None = None
    """Source: `url`, `text_digest` and `quote` with its offsets in the page's text, or in its title."""
    quote_rejected: str | None = None
    """Quotation by the judge that is in none of the passages that it was shown."""


def render(points: Iterable[Point], language: str) -> str:
    """Return the text of a guidance: its numbered points, each with its quotation.

    Args:
        points: the points.
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


class GuidanceRow(OwnRow[Guidance]):
    """One line of a guidance file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "guidance"

    text: str
    """Text that a judge is shown."""
    language: str = "und"
    """ISO 639-1 code of the request."""
    points: tuple[Point, ...] = ()
    """Points of the draft; a review changes only the text."""
    snapshot: str | None = None
    """Digest of the snapshot with the passages that the judge was shown."""
    passages: tuple[str, ...] = ()
    """Ids of these passages, in the order shown."""
    text_before: str | None = None
    """Text of the draft, if a reviewer changed it."""

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """Return a row of a file. Raises InputError: the data is not a row or has no text; names `place`."""
        row = super().parse(data, place)
        if not row.text.strip():
            raise InputError(f"{place}: the guidance of task {row.task_id!r} is empty; leave the row out")
        return row

    @property
    def request(self) -> None:
        """Always None: guidance is found by the task's id alone."""

    def as_content(self, status: GuidanceStatus) -> Guidance:
        """Return the guidance of a task."""
        return Guidance(text=self.text, status=status, reviewer=self.reviewer)

    @property
    def editable(self) -> str:
        """Text of the guidance."""
        return self.text

    def edited(self, text: str) -> GuidanceRow:
        """Return the row with another text. Raises InputError: the text is empty."""
        if not text.strip():
            raise InputError(f"task {self.task_id!r}: the guidance is empty; reject it instead")
        return self.model_copy(update={"text": text.strip(), "text_before": self.text_before or self.text})


class _GuidanceKind(Kind[GuidanceRow]):
    """Kind of guidance, which is joined by the task's id alone and whose files may be empty."""

    def load(self, path: Path, *, open_dates: bool = False) -> Rows[GuidanceRow]:
        """Read a file as for other kinds; it may be empty."""
        return Rows([Keyed(str(path), row.key, None, row) for _, row in self.read(path)])

    def join(self, task: Task, rows: Rows[GuidanceRow]) -> Task | None:
        """Join a row as for other kinds; guidance drafted for another request is an error."""
        found = rows.of(task)
        if found is not None and (row := found.rows[0]).value.task not in (None, task.prompt):
            raise InputError(
                f"{row.place}: the guidance of task {task.id!r} was drafted for another request; draft it again"
            )
        return super().join(task, rows)

    def unmatched(self, rows: Rows[GuidanceRow]) -> str:
        """Return the message that no id matches a task."""
        return f"none of its {len(rows.rows)} task ids is that of a report's task"


GUIDANCE_KIND = _GuidanceKind("guidance", "guidance", GuidanceRow)
