"""The ids that figures can have.

Invariant: a threshold on a figure that no part can give is refused before the judge is asked anything; one on a figure
that a part can give, and that these settings leave out, is not measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from local_judge.errors import ConfigError
from local_judge.planting.kinds import FALSE_KINDS, LANGUAGES
from local_judge.planting.model import LENGTHS
from local_judge.protocols.base import protocol_names

ALL = "all"
"""Begins the ids of figures over all parts together."""
ANSWERS = ("unanswered", "reasked", "repaired")
"""Of every part, and of all together."""

_FACETS = r"(/\w+=[^/]+)*"
_CLAIM = (
    rf"(/language=({'|'.join(LANGUAGES)})|/length=({'|'.join(LENGTHS)})|/kind=({'|'.join(FALSE_KINDS)}))?"
)
_PROTOCOL = r"(deer|fact|liveresearchbench|dream|deepresearcheval|race)"
_FIGURES: Mapping[str, str] = {
    "verification": (
        r"((auc|accuracy|f1|caught|called_wrong)/(raw|calibrated|near|grouped)|ece/(raw|calibrated|near))"
        rf"{_CLAIM}"
    ),
    "extraction": rf"(recall|precision|f1|false_claims|typed){_FACETS}",
    "retest": r"(agreement|kappa)/grouped|(difference|icc)/score",
    "position": r"(first|bias|flipped)/(short|depth|race|options)|won/(short|depth|race)",
    "sensitivity": rf"(right|wrong)/{_PROTOCOL}|(moved|right|wrong)/{_PROTOCOL}/\w+(/path=.+)?",
    "obedience": rf"(success|control|shift|control_shift|over_control|already)/(fenced|bare){_FACETS}|fencing",
    "labels": r"\w+(/.+)?",
    ALL: "",
}


def check_protocol(name: str, place: str) -> None:
    """Refuse a name that no installed protocol has.

    Raises:
        ConfigError: it names the place, the name, and what there is.
    """
    there = protocol_names()
    if name not in there:
        raise ConfigError(f"{place}: no protocol {name!r}; there are: {', '.join(there)}")


def check_figure(id: str, place: str) -> None:
    """Refuse an id that no figure can have.

    Raises:
        ConfigError: it names the place, the id, and what there is.
    """
    part, _, rest = id.partition("/")
    if part not in _FIGURES:
        raise ConfigError(f"{place}: {id}: no part {part!r}; there are: {', '.join(_FIGURES)}")
    if rest not in ANSWERS and (not rest or re.fullmatch(_FIGURES[part] or "(?!)", rest) is None):
        raise ConfigError(
            f"{place}: {id}: no such figure of the part {part}; docs/qualification.md lists the figures of each part"
        )
