"""The points of a drafted guidance, and the text that they make.

Invariants: the text depends on the points and the language alone; a point's source is a quotation that code found in
the page; no two points of a draft say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from local_judge.claims.model import Quote
from local_judge.documents.model import Frozen
from local_judge.tasks.alike import firsts

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


def distinct(points: Sequence[Point]) -> list[Point]:
    """The points without those that say what an earlier one says."""
    same = firsts(point.statement for point in points)
    return [point for position, point in enumerate(points) if same[position] == position]
