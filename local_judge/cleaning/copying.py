"""Comparison of a text with a copy that lacks some of its citations.

Invariant: apart from possible citations, the copy contains exactly the letters and digits of the text, in order. Other
differences (blanks, punctuation, Markdown) do not matter, since no text is taken from a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from local_judge.documents.cleaning.choices import Option, Stretch, letters

_SHOWN = 40


class Differs(NamedTuple):
    """First difference between a text and an inexact copy."""

    why: str


def choices_of(copy: str, text: str, asked: Sequence[Stretch]) -> list[Option] | Differs:
    """Find the option of each stretch that a copy of `text` has taken; the first one if several fit.

    Args:
        copy: Copy by a judge.
        text: Original.
        asked: Stretches of the original, in order.
    """
    steps: list[list[str]] = []
    """Alternatives of each part of the original; words that stay have one."""
    start = 0
    for stretch in asked:
        steps.append([letters(text[start : stretch.start])])
        steps.append([option.letters for option in stretch.options])
        start = stretch.end
    steps.append([letters(text[start:])])
    written = letters(copy)
    taken = _taken(steps, written)
    if taken is None:
        return _difference(steps, written)
    return [stretch.options[taken[2 * index + 1]] for index, stretch in enumerate(asked)]


def _taken(steps: Sequence[Sequence[str]], written: str) -> list[int] | None:
    """Return the index of the alternative taken at each step; None if no choice gives the copy."""
    after: list[set[int]] = [{len(written)}]
    """Offsets in the copy from which the rest can be matched: after the last step, and so on backwards."""
    for step in reversed(steps):
        before = {
            end - len(option) for end in after[-1] for option in step if written.endswith(option, 0, end)
        }
        after.append(before)
    after.reverse()
    if 0 not in after[0]:
        return None
    place, taken = 0, list[int]()
    for step, ends in zip(steps, after[1:], strict=True):
        fits = [written.startswith(option, place) and place + len(option) in ends for option in step]
        taken.append(fits.index(True))
        place += len(step[taken[-1]])
    return taken


def _difference(steps: Sequence[Sequence[str]], written: str) -> Differs:
    reached: list[list[int]] = [[0]]
    """Offsets in the copy that can be reached before each step, and after the last one."""
    for step in steps:
        here = reached[-1]
        ends = {place + len(option) for place in here for option in step if written.startswith(option, place)}
        reached.append(sorted(ends))
    last = max(index for index, places in enumerate(reached) if places)
    place = max(reached[last])
    if last == len(steps):
        return Differs(f"the copy continues after the end: {written[place : place + _SHOWN]!r}")
    expected = steps[last][0]
    place, same = max(
        ((place, _common(expected, written, place)) for place in reached[last]), key=lambda found: found[1]
    )
    place += same
    return Differs(
        f"the copy has {written[place : place + _SHOWN]!r} where the report has {expected[same : same + _SHOWN]!r} "
        "(letters and digits alone)"
    )


def _common(expected: str, written: str, place: int) -> int:
    """Return the number of equal letters."""
    pairs = zip(expected, written[place : place + len(expected)], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
