from __future__ import annotations

import pytest

from local_judge.claims.extract import is_numeric


@pytest.mark.parametrize(
    "statement",
    [
        "It rose by 3 %.",
        "Two thirds agreed.",
        "Thousands left.",
        "人口增长了三成。",
        "共有十二家公司。",
        "It doubled.",
    ],
)
def test_numeric(statement: str) -> None:
    assert is_numeric(statement)


@pytest.mark.parametrize(
    "statement", ["It rose.", "Someone agreed.", "Often the lake freezes.", "一般来说价格下降。", "统一市场"]
)
def test_not_numeric(statement: str) -> None:
    assert not is_numeric(statement)
