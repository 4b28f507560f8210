"""The curves of an experiment as one SVG file.

Invariant: the file stands alone (no script, no style sheet, no reference), is well-formed whatever names it shows, and
has the same bytes for the same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_judge.experiments.curves import Curve, Results
from local_judge.experiments.model import Design
from local_judge.reporting.svg import svg_text

WIDTH, HEIGHT, LEFT, TOP, GAP, KEY = 260, 180, 48, 56, 36, 64
COLUMNS = 3
LINES = (("this judge", "#4269d0", ""), ("ideal", "#888888", "2 3"), ("paper", "#ff725c", "6 3"))


def plot(results: Results) -> str:
    """A panel for each curve of which something is expected: the judge's, the ideal and, where printed, the paper's."""
    curves = [curve for curve in results.curves if curve.expected is not None]
    rows = max(1, -(-len(curves) // COLUMNS))
    width, height = COLUMNS * (LEFT + WIDTH) + GAP, rows * (TOP + HEIGHT + GAP) + KEY
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f"<title>Experiment {results.design.experiment}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, curve in enumerate(curves):
        left = LEFT + number % COLUMNS * (LEFT + WIDTH)
        top = TOP + number // COLUMNS * (TOP + HEIGHT + GAP)
        parts += _panel(results.design, curve, left, top)
    for number, (name, colour, dashes) in enumerate(LINES):
        y = height - KEY + 18 * number + 10
        parts.append(
            f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + 30}" y2="{y}" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dashes}"/><text x="{LEFT + 38}" y="{y + 4}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(design: Design, curve: Curve, left: int, top: int) -> Iterator[str]:
    expected = curve.expected
    assert expected is not None
    xs = [condition.x for condition in design.conditions]
    low, high = min(xs), max(xs)
    places = [left + (x - low) / (high - low) * WIDTH for x in xs]
    whose = f" ({curve.judge})" if curve.judge is not None else ""
    heads = (
        (22, 12, f"{curve.protocol}: {curve.label}{whose}"),
        (8, 10, f"{expected.shape}: {curve.verdict}"),
    )
    for above, size, head in heads:
        yield f'<text x="{left}" y="{top - above}" font-size="{size}">{svg_text(head)}</text>'
    yield f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#cccccc"/>'
    for share in (0.0, 0.5, 1.0):
        y = top + HEIGHT * (1 - share)
        yield f'<text x="{left - 6}" y="{y:.2f}" text-anchor="end" dy="4">{share * expected.scale:.3g}</text>'
    for place, condition in zip(places, design.conditions, strict=True):
        yield f'<text x="{place:.2f}" y="{top + HEIGHT + 16}" text-anchor="middle">{svg_text(condition.label)}</text>'
    values = [None if point.value is None else point.value / expected.scale for point in curve.points]
    for shown, (_, colour, dashes) in zip((values, expected.ideal, expected.paper), LINES, strict=True):
        yield from _line(places, shown, top, colour, dashes)


def _line(
    places: Sequence[float], values: Sequence[float | None], top: int, colour: str, dashes: str
) -> Iterator[str]:
    """Points joined in order; a missing one is left out."""
    points = [
        (x, top + HEIGHT * (1 - min(1.0, max(0.0, y))))
        for x, y in zip(places, values, strict=False)
        if y is not None
    ]
    if not points:
        return
    joined = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    yield (
        f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
    )
    for x, y in points:
        yield f'<circle cx="{x:.2f}" cy="{y:.2f}" r="3" fill="{colour}"/>'
