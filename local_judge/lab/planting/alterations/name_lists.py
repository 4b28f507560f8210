"""Names whose kind is known.

Invariant: a name stands in one list only, and means one kind of thing where it stands in a sentence; ambiguous ones
(Georgia, Jordan, Washington, Florence, Victoria) are left out.
"""

from __future__ import annotations

from importlib.resources import files
from typing import cast

from serving.strict_yaml import load_yaml


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


def pairs(text: str) -> dict[str, str]:
    """`a:b c:d` as a mapping."""
    return dict(pair.split(":") for pair in text.split())


_NAMES = cast(
    "dict[str, str]",
    load_yaml(
        files("local_judge.lab.planting.alterations").joinpath("names.yaml").read_text(encoding="utf-8")
    ),
)
MALE, FEMALE = words(_NAMES["male"]), words(_NAMES["female"])
"""Given names of men, and of women."""
COUNTRIES = (words(_NAMES["countries"]), words(_NAMES["adjectives"]))
"""Countries, and the adjectives of countries."""
CITIES = words(_NAMES["cities"])
HEADS = words(_NAMES["heads"])
"""Last words that tell what a name of several words is the name of."""
COUNTRIES_ZH, CITIES_ZH, PROVINCES_ZH = (
    words(_NAMES[name]) for name in ("countries_zh", "cities_zh", "provinces_zh")
)
