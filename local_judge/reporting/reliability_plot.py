"""The reliability diagram as one SVG file.

Invariant: the file stands alone (no script, no style sheet, no reference) and has the same bytes for the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from local_judge.stats.calibration.reliability import Bin

SIDE, LEFT, TOP, GAP, FOOT = 300, 60, 56, 44, 64
BEFORE, AFTER = "#ff725c", "#4269d0"


def reliability_diagram(title: str, panels: Sequence[tuple[str, Sequence[Bin]]]) -> str:
    """A square for each panel: mean probability across, share of true claims up, with Wilson's intervals.

    A disc's area goes with the number of claims in its bin; the dashed diagonal is perfect calibration.

    Args:
        title: of the whole.
        panels: a heading and its bins each.
    """
    width, height = LEFT + len(panels) * (SIDE + GAP), TOP + SIDE + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f"<title>{_text(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="13">{_text(title)}</text>',
    ]
    for number, (heading, bins) in enumerate(panels):
        colour = BEFORE if number == 0 else AFTER
        parts += _panel(heading, bins, LEFT + number * (SIDE + GAP), colour)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(heading: str, bins: Sequence[Bin], left: int, colour: str) -> Iterator[str]:
    def x(p: float) -> str:
        return f"{left + p * SIDE:.2f}"

    def y(p: float) -> str:
        return f"{TOP + (1 - p) * SIDE:.2f}"

    yield f'<text x="{left}" y="{TOP - 12}">{_text(heading)}</text>'
    yield f'<rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#cccccc"/>'
    for step in range(6):
        p = step / 5
        yield f'<text x="{x(p)}" y="{TOP + SIDE + 16}" text-anchor="middle">{p:.1f}</text>'
        yield f'<text x="{left - 6}" y="{y(p)}" text-anchor="end" dy="4">{p:.1f}</text>'
    yield f'<line x1="{x(0)}" y1="{y(0)}" x2="{x(1)}" y2="{y(1)}" stroke="#888888" stroke-dasharray="4 4"/>'
    yield (
        f'<text x="{left + SIDE // 2}" y="{TOP + SIDE + 36}" text-anchor="middle">mean probability of a bin; '
        "up: share of true claims</text>"
    )
    most = max((one.true.of for one in bins), default=0)
    for one in bins:
        if one.mean is None or one.true.value is None or one.true.low is None or one.true.high is None:
            continue
        radius = 3 + 7 * (one.true.of / most) ** 0.5
        yield (
            f'<line x1="{x(one.mean)}" y1="{y(one.true.low)}" x2="{x(one.mean)}" y2="{y(one.true.high)}" '
            f'stroke="{colour}"/>'
        )
        said = f"{one.true.n} of {one.true.of} claims are true; mean probability {one.mean:.3f}"
        yield (
            f'<circle cx="{x(one.mean)}" cy="{y(one.true.value)}" r="{radius:.2f}" fill="{colour}" '
            f'fill-opacity="0.6"><title>{said}</title></circle>'
        )


def _text(text: str) -> str:
    return escape("".join(character if character.isprintable() else " " for character in text))
