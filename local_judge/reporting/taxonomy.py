"""Every metric of every protocol under one of DREAM's four verticals.

    presentation   presentation quality: how the report is written, ordered and laid out
    compliance     task compliance: whether it does what was asked, and covers it
    depth          analytical depth: whether it explains, weighs, concludes, and holds together
    sources        source quality: whether what it says is so, and rests on sources that say it and can be relied on

A score that spans several verticals has no place itself: what it is made of has. What is no measure of a report (a
count, how far a score can be trusted, a difference of two scores) is set aside, with the reason.

Invariant: each root that a protocol of this project can have is placed, set aside, or above what is placed; one that is
none of these is shown as not placed, and never left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

Vertical = Literal["presentation", "compliance", "depth", "sources"]

LABELS: Mapping[Vertical, str] = {
    "presentation": "Presentation quality",
    "compliance": "Task compliance",
    "depth": "Analytical depth",
    "sources": "Source quality",
}
"""In the order in which they are shown."""


class Place(NamedTuple):
    """Where a metric belongs, and how its values are to be read."""

    vertical: Vertical
    low: float = 0.0
    high: float | None = 100.0
    """Ends of its scale; None where it has no upper end."""
    better: Literal["higher", "lower"] = "higher"

    def normalised(self, value: float) -> float | None:
        """The value on a scale from 0 (worst) to 100 (best); None where its own has no upper end."""
        if self.high is None:
            return None
        share = 100.0 * (value - self.low) / (self.high - self.low)
        return share if self.better == "higher" else 100.0 - share


Path = tuple[str, ...]
"""Ids from a root down."""

PLACES: Mapping[str, Mapping[Path, Place]] = {
    "deer": {
        ("request_fulfillment",): Place("compliance", 1, 10),
        ("analytical_soundness",): Place("depth", 1, 10),
        ("structural_coherence",): Place("presentation", 1, 10),
        ("format_style",): Place("presentation", 1, 10),
        ("information_integrity",): Place("sources", 0, 10),
        ("information_sufficiency",): Place("sources", 0, 10),
        ("ethics_compliance",): Place("compliance", 1, 10),
        ("recency",): Place("sources", 1, 10),
    },
    "race": {
        ("comprehensiveness",): Place("compliance"),
        ("insight",): Place("depth"),
        ("instruction_following",): Place("compliance"),
        ("readability",): Place("presentation"),
    },
    "fact": {
        ("citation_accuracy",): Place("sources", 0, 1),
        ("effective_citations",): Place("sources", 0, None),
    },
    "liveresearchbench": {
        ("presentation",): Place("presentation"),
        ("coverage",): Place("compliance"),
        ("consistency",): Place("sources"),
        ("citation",): Place("sources"),
        ("accuracy",): Place("sources", 0, None, "lower"),
        ("depth",): Place("depth"),
    },
    "dream": {
        ("writing",): Place("presentation"),
        ("key_information",): Place("compliance"),
        ("reasoning",): Place("depth"),
        ("factuality",): Place("sources"),
        ("citation",): Place("sources"),
        ("authority",): Place("sources"),
    },
    "deepresearcheval": {
        ("quality", "general", "coverage"): Place("compliance", 0, 10),
        ("quality", "general", "insight"): Place("depth", 0, 10),
        ("quality", "general", "instruction_following"): Place("compliance", 0, 10),
        ("quality", "general", "clarity"): Place("presentation", 0, 10),
        ("quality", "specific"): Place("compliance", 0, 10),
        ("facts",): Place("sources"),
    },
}
"""By protocol. DREAM's paper places its own metrics, and in Table 1 those of RACE and LiveResearchBench (consistency as
*factual consistency*, under source quality); where those of the others belong is this project's reading."""

WHOLE = "spans all verticals"
DIAGNOSTIC = "says how far scores can be trusted"
COUNT = "a count, not a measure of quality"

ASIDE: Mapping[str, Mapping[Path, str]] = {
    "deer": {("overall",): WHOLE},
    "race": {("overall",): WHOLE, ("noise",): DIAGNOSTIC, ("position_bias",): DIAGNOSTIC},
    "fact": {("citations",): COUNT, ("unknown",): DIAGNOSTIC},
    "deepresearcheval": {
        ("quality",): WHOLE,
        ("general_gap",): "a difference of two scores",
    },
}
"""What has no place, and why."""


def vertical_of(protocol: str, path: Path) -> Vertical | None:
    """The vertical of a score, its own or that of a score above it; None where it has none."""
    places = PLACES.get(protocol, {})
    above = (path[:length] for length in range(len(path), 0, -1))
    return next((places[part].vertical for part in above if part in places), None)


def better_of(protocol: str, path: Path) -> Literal["higher", "lower"] | None:
    """Which end of a score's scale is better; None where it is no measure of a report, or nothing is known of it."""
    place = PLACES.get(protocol, {}).get(path)
    if place is not None:
        return place.better
    return "higher" if ASIDE.get(protocol, {}).get(path) == WHOLE else None


def unplaced(protocol: str, roots: Iterable[str]) -> list[str]:
    """The roots that are neither placed, nor set aside, nor above what is placed."""
    known = {path[0] for paths in (PLACES, ASIDE) for path in paths.get(protocol, {})}
    return [root for root in roots if root not in known]
