"""Comparison of a text with a copy that lacks some of its citations.

Invariant: of what may be no citation every letter and digit stands in the copy, in order, and nothing else does; what
differs beside letters and digits (blanks, punctuation, Markdown) does not matter, since no text is taken from a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from local_judge.documents.cleaning.choices import Option, Stretch, letters

_SHOWN = 40


class Differs(NamedTuple):
    """The first difference of a copy that says something else."""

    why: str


class _Step(NamedTuple):
    """A part of the original: words that stay, or alternatives."""

    options: Sequence[str]


def choices_of(copy: str, text: str, asked: Sequence[Stretch]) -> list[Option] | Differs:
    """Find the option of each stretch that a copy of `text` has taken; the earlier one where several fit.

    Args:
        copy: what a judge wrote.
        text: the original.
        asked: the stretches in it, in order.
    """
    steps: list[_Step] = []
    start = 0
    for stretch in asked:
        steps.append(_Step([letters(text[start : stretch.start])]))
        steps.append(_Step([option.letters for option in stretch.options]))
        start = stretch.end
    steps.append(_Step([letters(text[start:])]))
    written = letters(copy)
    reached = _reached(steps, written)
    if len(written) not in reached[-1]:
        return _difference(steps, reached, written)
    taken = _taken(steps, reached, written)
    return [stretch.options[taken[2 * index + 1]] for index, stretch in enumerate(asked)]


def _reached(steps: Sequence[_Step], written: str) -> list[list[int]]:
    """The places in the copy that can be reached before each step, and after the last one."""
    reached = [[0]]
    for step in steps:
        after = {
            place + len(option): None
            for place in reached[-1]
            for option in step.options
            if written.startswith(option, place)
        }
        reached.append(sorted(after))
    return reached


def _taken(steps: Sequence[_Step], reached: Sequence[Sequence[int]], written: str) -> list[int]:
    """The option taken at each step, from those ways that reach the end."""
    ends: list[frozenset[int]] = [frozenset((len(written),))]
    for step, places in zip(reversed(steps), reversed(reached[:-1]), strict=True):
        open_ends = ends[-1]
        ends.append(
            frozenset(
                place
                for place in places
                if any(
                    written.startswith(option, place) and place + len(option) in open_ends
                    for option in step.options
                )
            )
        )
    ends.reverse()
    place, taken = 0, list[int]()
    for step, after in zip(steps, ends[1:], strict=True):
        fitting = (
            index
            for index, option in enumerate(step.options)
            if written.startswith(option, place) and place + len(option) in after
        )
        taken.append(next(fitting))
        place += len(step.options[taken[-1]])
    return taken


def _difference(steps: Sequence[_Step], reached: Sequence[Sequence[int]], written: str) -> Differs:
    last = max(index for index, places in enumerate(reached) if places)
    place = max(reached[last])
    if last == len(steps):
        return Differs(f"the copy goes on behind the end: {written[place : place + _SHOWN]!r}")
    expected = steps[last].options[0]
    place, same = max(
        ((place, _common(expected, written, place)) for place in reached[last]), key=lambda found: found[1]
    )
    place += same
    return Differs(
        f"the copy has {written[place : place + _SHOWN]!r} where the report has {expected[same : same + _SHOWN]!r} "
        "(letters and digits alone)"
    )


def _common(expected: str, written: str, place: int) -> int:
    """The number of letters that agree."""
    same = 0
    while same < len(expected) and written.startswith(expected[same], place + same):
        same += 1
    return same
