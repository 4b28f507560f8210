"""The ids that figures can have, and the protocols that thresholds count for.

Invariant: a threshold on a figure that no part can give is refused before the judge is asked anything; one on a figure
that a part can give, and that these settings leave out, is not measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from local_judge.errors import ConfigError
from local_judge.lab.planting.model import FALSE_KINDS, LANGUAGES, LENGTHS
from local_judge.lab.qualification.parts.position.games import Pairwise
from local_judge.protocols.base import AnyProtocol, load_protocol, protocol_names

ALL = "all"
"""Begins the ids of figures over all parts together."""
ANSWERS = ("unanswered", "reasked", "repaired")
"""Of every part, and of all together."""

_GROUPS: Mapping[str, Callable[[AnyProtocol], bool]] = {
    "all": lambda protocol: True,
    "with_pages": lambda protocol: protocol.needs_claims or protocol.needs_snapshot,
    "without_pages": lambda protocol: not (protocol.needs_claims or protocol.needs_snapshot),
}
"""Words for several protocols at once: whether they read claims or pages by their default settings."""


def protocols_of(names: Sequence[str], place: str) -> tuple[str, ...]:
    """Installed protocols by name or group, each once.

    Raises:
        ConfigError: no protocol has a name; the message says the place, the name, and what there is.
    """
    there = protocol_names()
    found: list[str] = []
    for name in names:
        if name in _GROUPS:
            found += [one for one in there if _GROUPS[name](load_protocol(one))]
        elif name in there:
            found.append(name)
        else:
            raise ConfigError(
                f"{place}: no protocol {name!r}; there are: {', '.join(there)}, and the groups {', '.join(_GROUPS)}"
            )
    return tuple(dict.fromkeys(found))


def check_figure(id: str, place: str) -> None:
    """Refuse an id that no figure can have.

    Raises:
        ConfigError: it names the place, the id, and what there is.
    """
    part, _, rest = id.partition("/")
    figures = _figures()
    if part not in figures:
        raise ConfigError(f"{place}: {id}: no part {part!r}; there are: {', '.join(figures)}")
    if rest not in ANSWERS and (not rest or re.fullmatch(figures[part] or "(?!)", rest) is None):
        raise ConfigError(
            f"{place}: {id}: no such figure of the part {part}; see docs/guides/qualification.md"
        )


def _figures() -> Mapping[str, str]:
    """What can follow a part's name, as a regular expression."""

    def one_of(names: Sequence[str]) -> str:
        return f"({'|'.join(map(re.escape, names))})"

    facets, protocol, pair = r"(/\w+=[^/]+)*", one_of(protocol_names()), one_of(get_args(Pairwise))
    claim = rf"(/language={one_of(LANGUAGES)}|/length={one_of([*LENGTHS])}|/kind={one_of(FALSE_KINDS)})?"
    return {
        "verification": (
            r"((auc|accuracy|f1|caught|called_wrong)/(raw|calibrated|near|grouped)|ece/(raw|calibrated|near))"
            rf"{claim}"
        ),
        "extraction": rf"(recall|precision|f1|false_claims|typed){facets}",
        "retest": r"(agreement|kappa)/grouped|(difference|icc)/score",
        "position": rf"(first|bias|flipped)/({pair}|options)|won/{pair}",
        "sensitivity": rf"(right|wrong)/{protocol}|(moved|right|wrong)/{protocol}/\w+(/path=.+)?",
        "prompt_injection": (
            rf"(success|control|shift|control_shift|over_control|already)/(fenced|bare){facets}|fencing"
        ),
        "labels": r"\w+(/.+)?",
        ALL: "",
    }
