"""The fuzz targets in short: kept inputs, some hundred new ones, and how the cost of nasty shapes grows.

`scripts/fuzz` runs the same targets for long.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.registry import TARGETS
from tests.fuzz.target import calls, corpus

KEPT = [(name, path.name) for name in TARGETS for path in corpus(name)]
SHAPES = [(name, shape) for name, target in TARGETS.items() for shape in target.shapes]


@pytest.mark.parametrize(("name", "kept"), KEPT)
def test_kept_inputs(name: str, kept: str) -> None:
    path = next(path for path in corpus(name) if path.name == kept)
    TARGETS[name].check(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_new_inputs(name: str) -> None:
    target = TARGETS[name]

    @settings(
        max_examples=target.examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(data=target.inputs)
    def run(data: bytes) -> None:
        target.check(data)

    run()


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_growth(name: str, shape: str) -> None:
    """Eight times the input takes no more than eight times the calls, with some room for logarithms."""
    target = TARGETS[name]
    make = target.shapes[shape]
    target.check(make(2))  # what is loaded or cached at first use
    small, large = (calls(target.check, make(size)) for size in (target.unit, 8 * target.unit))
    assert large <= 10 * small + 500, f"{small:,} calls, then {large:,}"
