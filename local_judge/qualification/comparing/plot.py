"""Quality against cost as one SVG file.

Invariant: the file stands alone (no script, no style sheet, no reference) and has the same bytes for the same figures;
a judge without quality or cost is in no panel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from local_judge.qualification.comparing.model import Comparison, Worth
from local_judge.reporting.svg import svg_text

SIDE, LEFT, TOP, GAP, FOOT = 300, 60, 56, 60, 64
COLOURS = ("#4269d0", "#ff725c", "#3ca951", "#a463f2", "#9c6b4e", "#6cc5b0", "#efb118", "#97bbf5")


def quality_plot(found: Comparison) -> str | None:
    """Two squares for each figure of quality: against tokens and against seconds a claim, both on a logarithmic axis.

    A bar is the 95 % interval; a ring instead of a disc is a judge that another one dominates.

    Returns:
        None where no judge has both a quality and a cost.
    """
    names = [one.name for one in found.judges]
    panels: list[tuple[str, str, list[tuple[Worth, float]]]] = []
    for figure in dict.fromkeys(one.figure for one in found.worth):
        own = [one for one in found.worth if one.figure == figure and one.value is not None]
        for axis, cost in _AXES:
            points = [(one, value) for one in own if (value := cost(one)) is not None and value > 0]
            if points:
                panels.append((figure, axis, points))
    if not panels:
        return None
    rows = math.ceil(len(panels) / 2)
    width, height = LEFT + 2 * (SIDE + GAP), TOP + rows * (SIDE + FOOT) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        "<title>Quality against cost</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="13">Quality against cost</text>',
    ]
    for number, (figure, axis, points) in enumerate(panels):
        left, top = LEFT + number % 2 * (SIDE + GAP), TOP + number // 2 * (SIDE + FOOT)
        parts += _panel((figure, axis), points, names, left, top)
    return "\n".join([*parts, "</svg>"]) + "\n"


_AXES: tuple[tuple[str, Callable[[Worth], float | None]], ...] = (
    ("computed and generated tokens a claim", lambda one: one.tokens),
    ("seconds a claim", lambda one: one.seconds),
)


def _panel(
    labels: tuple[str, str],
    points: Sequence[tuple[Worth, float]],
    names: Sequence[str],
    left: int,
    top: int,
) -> Iterator[str]:
    first = math.floor(min(math.log10(cost) for _, cost in points))
    last = max(first + 1, math.ceil(max(math.log10(cost) for _, cost in points)))

    def x(cost: float) -> float:
        return left + (math.log10(cost) - first) / (last - first) * SIDE

    def y(value: float) -> float:
        return top + (1 - value) * SIDE

    yield f'<text x="{left}" y="{top - 12}">{svg_text(labels[0])}</text>'
    yield f'<rect x="{left}" y="{top}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#cccccc"/>'
    for power in range(first, last + 1):
        yield f'<text x="{x(10.0**power):.2f}" y="{top + SIDE + 16}" text-anchor="middle">{10.0**power:g}</text>'
    for step in range(6):
        yield f'<text x="{left - 6}" y="{y(step / 5):.2f}" text-anchor="end" dy="4">{step / 5:.1f}</text>'
    yield f'<text x="{left + SIDE // 2}" y="{top + SIDE + 34}" text-anchor="middle">{labels[1]}</text>'
    for one, cost in points:
        assert one.value is not None, "only judges with a value are here"
        colour = COLOURS[names.index(one.judge) % len(COLOURS)]
        across, up = x(cost), y(one.value)
        if one.low is not None and one.high is not None:
            yield (
                f'<line x1="{across:.2f}" y1="{y(one.low):.2f}" x2="{across:.2f}" y2="{y(one.high):.2f}" '
                f'stroke="{colour}"/>'
            )
        fill = "#ffffff" if one.dominated_by else colour
        yield f'<circle cx="{across:.2f}" cy="{up:.2f}" r="5" fill="{fill}" stroke="{colour}"/>'
        # A name stands where there is room for it.
        end = across > left + SIDE / 2
        anchor, place = ("end", across - 8) if end else ("start", across + 8)
        yield f'<text x="{place:.2f}" y="{up:.2f}" dy="4" text-anchor="{anchor}">{svg_text(one.judge)}</text>'
