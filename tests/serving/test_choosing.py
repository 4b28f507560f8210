"""Options of several tokens, from the probabilities of single ones."""

from __future__ import annotations

import math

import pytest

from serving.engines.choosing import Read, choose_by_paths
from serving.errors import UnsupportedRequest
from serving.types import Usage

NEXT: dict[tuple[str, ...], dict[str, float]] = {
    (): {"1": 0.5, "2": 0.25, "3": 0.125},
    ("1",): {"0": 0.4},
    ("1", "0"): {"0": 0.1},
}
"""What a model would say: the probability of each next piece."""


async def model(begun: tuple[str, ...], onward: tuple[str, ...]) -> Read[str]:
    asked.append((begun, onward))
    logprobs = {piece: math.log(NEXT[begun][piece]) for piece in onward}
    return Read(logprobs, frozenset({"3"} & set(onward)), Usage(prompt_tokens=10 + len(begun)))


asked: list[tuple[tuple[str, ...], tuple[str, ...]]] = []


async def test_each_option_is_its_pieces_less_what_goes_on_to_another() -> None:
    asked.clear()
    options = {"1": ("1",), "2": ("2",), "3": ("3",), "10": ("1", "0"), "100": ("1", "0", "0")}
    choice = await choose_by_paths(options, model)
    assert {option: math.exp(value) for option, value in choice.logprobs.items()} == pytest.approx(
        {
            "1": 0.5 * (1 - 0.4),
            "2": 0.25,
            "3": 0.125,
            "10": 0.5 * 0.4 * (1 - 0.1),
            "100": 0.5 * 0.4 * 0.1,
        }
    )
    # Nothing is counted twice: together they have what the first pieces have.
    assert choice.mass == pytest.approx(0.5 + 0.25 + 0.125)
    assert asked == [((), ("1", "2", "3")), (("1",), ("0",)), (("1", "0"), ("0",))]
    assert choice.bounded == ("3",)
    assert choice.usage == Usage(prompt_tokens=10 + 11 + 12, completion_tokens=0, cached_tokens=None)


async def test_single_pieces_take_one_pass() -> None:
    asked.clear()
    choice = await choose_by_paths({"1": ("1",), "2": ("2",)}, model)
    assert asked == [((), ("1", "2"))]
    assert choice.probabilities() == pytest.approx({"1": 2 / 3, "2": 1 / 3})


async def test_options_of_the_same_pieces_are_refused() -> None:
    with pytest.raises(UnsupportedRequest, match="not all different tokens"):
        await choose_by_paths({"1": ("1",), "one": ("1",)}, model)
