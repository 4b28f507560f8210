"""Which tasks stay: pure functions of what judges said.

Invariants: a task is dropped only by a rule with a name, on values that are kept with it; what a judge did not say is
never taken for something else.
"""

from __future__ import annotations

from typing import NamedTuple

from local_judge.lab.task_construction.model import Assessment, Qualification
from local_judge.lab.task_construction.settings import BuildConfig


class Verdict(NamedTuple):
    """Why a task is dropped; no reasons where it is kept."""

    reasons: tuple[str, ...]
    says: str
    values: dict[str, object]

    @property
    def kept(self) -> bool:
        """Whether no rule drops it."""
        return not self.reasons


def qualified(found: Qualification, config: BuildConfig) -> Verdict:
    """Filter 1 (DeepResearchEval): it needs deep research, and the judge is sure enough of it.

    Confidence c and threshold t: `paper` keeps c > t, `upstream` c >= t.
    """
    sure = (
        found.confidence > config.confidence
        if config.profile == "paper"
        else found.confidence >= config.confidence
    )
    rule = "above" if config.profile == "paper" else "at least"
    reasons = {
        "needs_no_deep_research": (not found.needs_deep_research, "needs no deep research"),
        "not_confident": (not sure, f"confidence {found.confidence:g} is not {rule} {config.confidence:g}"),
    }
    values: dict[str, object] = {
        "needs_deep_research": found.needs_deep_research,
        "confidence": found.confidence,
        "threshold": config.confidence,
        "profile": config.profile,
    }
    return _verdict(reasons, values)


def necessary(found: Assessment, config: BuildConfig) -> Verdict:
    """Filter 2: what a judge answers from memory is poor, and searching is what it lacks.

    Kept if the quality is one of `necessity.qualities`, search is required, and the score is at most `necessity.score`.
    """
    limits = config.necessity
    wanted = " or ".join(limits.qualities)
    reasons = {
        "answered_without_search": (
            found.quality not in limits.qualities,
            f"the answer without search is of {found.quality} quality, not {wanted}",
        ),
        "needs_no_search": (not found.requires_search, "a better answer needs no search"),
        "score_too_high": (
            found.score > limits.score,
            f"the answer without search scores {found.score:g}, above {limits.score:g}",
        ),
    }
    values: dict[str, object] = {
        "quality": found.quality,
        "score": found.score,
        "requires_search": found.requires_search,
        "qualities": list(limits.qualities),
        "threshold": limits.score,
    }
    return _verdict(reasons, values)


def _verdict(rules: dict[str, tuple[bool, str]], values: dict[str, object]) -> Verdict:
    broken = {name: says for name, (breaks, says) in rules.items() if breaks}
    return Verdict(tuple(broken), "; ".join(broken.values()), values)
