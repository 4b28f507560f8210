"""What is asked about reports and their twins.

Invariant: a probe is one run over reports and twins, with settings of its own that are recorded in the run's manifest;
no two probes score the same path of a protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field

from local_judge.claims.config import ClaimsConfig
from local_judge.planting.flaws.flaws import FLAWS
from local_judge.planting.model import FlawKind
from serving.types import Frozen

ProbeName = Literal[
    "whole",
    "pages",
    "coverage",
    "consistency",
    "reasoning",
    "key_information",
    "writing",
    "rubric",
    "quality",
]
"""From the cheapest to the dearest, but for `pages`."""


class Probe(NamedTuple):
    """What is run."""

    protocols: tuple[str, ...]
    settings: Mapping[str, dict[str, Any]]
    reads_pages: bool = False


PROBES: Mapping[ProbeName, Probe] = {
    # One token a report.
    "whole": Probe(("race",), {"race": {"mode": "vanilla", "scoring": "expected"}}),
    # One or two tokens a cited sentence, and one a page: four protocols read the same claim set.
    "pages": Probe(
        ("fact", "deer", "liveresearchbench", "dream"),
        {
            "deer": {"parts": ["verification"]},
            "liveresearchbench": {"parts": ["accuracy"]},
            "dream": {"parts": ["citation"]},
        },
        reads_pages=True,
    ),
    "coverage": Probe(("liveresearchbench",), {"liveresearchbench": {"parts": ["coverage"]}}),
    "consistency": Probe(("liveresearchbench",), {"liveresearchbench": {"parts": ["consistency"]}}),
    "reasoning": Probe(("dream",), {"dream": {"parts": ["reasoning"], "reasoning": {"search": False}}}),
    "key_information": Probe(("dream",), {"dream": {"parts": ["key_information"]}}),
    "writing": Probe(("dream",), {"dream": {"parts": ["writing"]}}),
    "rubric": Probe(("deer",), {"deer": {"parts": ["rubric"]}}),
    "quality": Probe(("deepresearcheval",), {"deepresearcheval": {"parts": ["quality"]}}),
}

CLAIMS = ClaimsConfig(extraction="sentences", method="scored", reliability=False)
"""The sentences are the claims, so that nothing but the answers about pages can move a score."""


class SensitivitySettings(Frozen):
    """How much is asked."""

    probes: tuple[ProbeName, ...] = get_args(ProbeName)
    flaws: tuple[FlawKind, ...] = FLAWS
    reports: int | None = Field(default=None, ge=1)
    """The first so many; None for all."""
    places: int = Field(default=3, ge=1, le=8)
    """Contradictions in a twin, and fallacies in another."""
    share: float = Field(default=0.5, gt=0, le=1)
    """Of the citations, how many are moved."""
    padding: float = Field(default=0.5, gt=0, le=2)
    """Words without content, over words of the report."""
    still: float = Field(default=0.005, ge=0, lt=1)
    """A change of at most this part of the scale is none: 0.5 points of 100."""
