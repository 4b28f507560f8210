"""Ratings against scores as one SVG file.

Invariant: the file stands alone (no script, no style sheet, no reference), is well-formed whatever names it shows, and
has the same bytes for the same ratings and scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from local_judge.reporting.svg import svg_text
from local_judge.runs.agreement import JoinedRun
from local_judge.stats.agreement.method import system_means

COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e")
GREY = "#888888"
"""Of systems without a name."""
SIDE, LEFT, TOP, GAP, KEY = 320, 64, 44, 40, 18
TICKS = 5


class _Axis(NamedTuple):
    """A range of numbers on a line of pixels."""

    low: float
    high: float
    start: float
    end: float

    def place(self, number: float) -> str:
        return f"{self.start + (number - self.low) / (self.high - self.low) * (self.end - self.start):.2f}"

    @property
    def ticks(self) -> list[float]:
        return [self.low + (self.high - self.low) * step / (TICKS - 1) for step in range(TICKS)]


def scatter(runs: Sequence[JoinedRun], score: str) -> str:
    """A panel for each run: a small point for each report, a large one for each system's means.

    Args:
        runs: with at least one report that has ratings and a score each.
        score: what the vertical axes show.
    """
    names = sorted({name for run in runs for name in system_means(run.tasks)})
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    width = len(runs) * (LEFT + SIDE + GAP)
    height = TOP + SIDE + 56 + KEY * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f"<title>{svg_text(score)} against ratings by people</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, run in enumerate(runs):
        parts += _panel(run, score, number * (LEFT + SIDE + GAP) + LEFT, colours)
    for number, name in enumerate(names):
        y = TOP + SIDE + 56 + KEY * number
        parts.append(f'<circle cx="{LEFT}" cy="{y}" r="5" fill="{colours[name]}"/>')
        parts.append(f'<text x="{LEFT + 12}" y="{y + 4}">{svg_text(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(run: JoinedRun, score: str, left: int, colours: dict[str, str]) -> Iterator[str]:
    points = [
        (task.id, report.system, report.mean, report.score)
        for task in run.tasks
        for report in task.reports
        if report.score is not None
    ]
    x = _axis([rating for _, _, rating, _ in points], left, left + SIDE)
    y = _axis([value for _, _, _, value in points], TOP + SIDE, TOP)
    yield f'<text x="{left}" y="{TOP - 16}" font-size="13">{svg_text(run.run.name or str(run.run))}</text>'
    yield f'<rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#cccccc"/>'
    for tick in x.ticks:
        yield f'<text x="{x.place(tick)}" y="{TOP + SIDE + 16}" text-anchor="middle">{tick:.3g}</text>'
    for tick in y.ticks:
        yield f'<text x="{left - 6}" y="{y.place(tick)}" text-anchor="end" dy="4">{tick:.3g}</text>'
    yield f'<text x="{left + SIDE // 2}" y="{TOP + SIDE + 34}" text-anchor="middle">mean rating</text>'
    yield (
        f'<text transform="translate({left - 48} {TOP + SIDE // 2}) rotate(-90)" '
        f'text-anchor="middle">{svg_text(score)}</text>'
    )
    for task, system, rating, value in points:
        colour = GREY if system is None else colours[system]
        name = svg_text(f"{task}: {system or 'no system'}")
        yield (
            f'<circle cx="{x.place(float(rating))}" cy="{y.place(float(value))}" r="2.5" fill="{colour}" '
            f'fill-opacity="0.45"><title>{name}</title></circle>'
        )
    for system, (rating, value) in system_means(run.tasks).items():
        yield (
            f'<circle cx="{x.place(float(rating))}" cy="{y.place(float(value))}" r="6" '
            f'fill="{colours[system]}" stroke="#000000"><title>{svg_text(system)}: mean</title></circle>'
        )


def _axis(numbers: Sequence[Fraction], start: float, end: float) -> _Axis:
    """From a little below the least to a little above the greatest; around a number that is alone."""
    low, high = float(min(numbers)), float(max(numbers))
    room = (high - low) * 0.06 or max(abs(low), 1.0) * 0.1
    return _Axis(low - room, high + room, start, end)
