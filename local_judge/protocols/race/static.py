"""Criteria that are the same for every task.

Invariant: they have the form and the sums of a task's own, so that everything that reads criteria reads them alike.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml

from local_judge.tasks.model import Criteria, Criterion, Dimension


@cache
def static_criteria() -> Criteria:
    """Those of `data/static.yaml`."""
    text = files("local_judge.protocols.race").joinpath("data/static.yaml").read_text(encoding="utf-8")
    dimensions = cast("dict[str, Any]", yaml.safe_load(text))["dimensions"]
    return Criteria(
        dimensions=tuple(
            Dimension(
                id=name,
                weight=dimension["weight"],
                criteria=tuple(
                    Criterion(id=f"{name}.{number}", **criterion)
                    for number, criterion in enumerate(dimension["criteria"], 1)
                ),
            )
            for name, dimension in dimensions.items()
        )
    )
