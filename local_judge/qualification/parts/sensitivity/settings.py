"""What is asked about reports and their twins.

Invariant: a probe is one protocol's run over reports and twins, with settings that are recorded in the run's manifest;
no two probes score the same path of a protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from local_judge.claims.config import ClaimsConfig
from local_judge.planting.flaws.flaws import FLAWS
from local_judge.planting.model import FlawKind
from serving.types import Frozen

ProbeName = Literal[
    "whole",
    "fact",
    "verification",
    "citation",
    "accuracy",
    "coverage",
    "consistency",
    "reasoning",
    "key_information",
    "writing",
    "rubric",
    "quality",
]


class Probe(NamedTuple):
    """What is run."""

    protocol: str
    settings: Mapping[str, Any]
    reads_pages: bool = False


PROBES: Mapping[ProbeName, Probe] = {
    # One token a report.
    "whole": Probe("race", {"mode": "vanilla", "scoring": "expected"}),
    # One or two tokens a cited sentence; all four read the same claim set, which the ledger answers but once.
    "fact": Probe("fact", {}, reads_pages=True),
    "verification": Probe("deer", {"parts": ["verification"]}, reads_pages=True),
    "citation": Probe("dream", {"parts": ["citation"]}, reads_pages=True),
    # One token more for each cited page.
    "accuracy": Probe("liveresearchbench", {"parts": ["accuracy"]}, reads_pages=True),
    # Judges that write: the shorter the reply, the earlier.
    "coverage": Probe("liveresearchbench", {"parts": ["coverage"]}),
    "consistency": Probe("liveresearchbench", {"parts": ["consistency"]}),
    "reasoning": Probe("dream", {"parts": ["reasoning"], "reasoning": {"search": False}}),
    "key_information": Probe("dream", {"parts": ["key_information"]}),
    "writing": Probe("dream", {"parts": ["writing"]}),
    "rubric": Probe("deer", {"parts": ["rubric"]}),
    "quality": Probe("deepresearcheval", {"parts": ["quality"]}),
}

CLAIMS = ClaimsConfig(extraction="sentences", method="scored", reliability=False)
"""The sentences are the claims, so that nothing but the answers about pages can move a score."""


class SensitivitySettings(Frozen):
    """How much is asked."""

    probes: dict[ProbeName, Annotated[int, Field(ge=0)] | None] = Field(
        default_factory=lambda: dict.fromkeys(PROBES)
    )
    """On how many reports each is run, the first ones; None for all."""
    flaws: tuple[FlawKind, ...] = FLAWS
    places: int = Field(default=3, ge=1, le=8)
    """Contradictions in a twin, and fallacies in another."""
    share: float = Field(default=0.5, gt=0, le=1)
    """Of the citations, how many are moved."""
    padding: float = Field(default=0.5, gt=0, le=2)
    """Words without content, over words of the report."""
    still: float = Field(default=0.005, ge=0, lt=1)
    """A change of at most this part of the scale is none: 0.5 points of 100."""
