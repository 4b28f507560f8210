"""One perturbed report for each flaw.

Invariant: the same report, settings and seed give the same perturbed reports; a flaw that finds no place is named with
the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import get_args

from pydantic import Field

from local_judge.documents import Document
from local_judge.lab.planting.flaws.citations import moved, shuffled
from local_judge.lab.planting.flaws.dropping import dropped
from local_judge.lab.planting.flaws.insertions import contradictions, padding, reasoning
from local_judge.lab.planting.flaws.perturbed import Impossible, PerturbedReport, Plan, planted
from local_judge.lab.planting.model import LANGUAGES, Language
from local_judge.protocols.probes import FlawKind
from serving.types import Frozen

FLAWS: tuple[FlawKind, ...] = get_args(FlawKind)
_TRIES = 5


class FlawSettings(Frozen):
    """What to plant in reports."""

    kinds: tuple[FlawKind, ...] = FLAWS
    places: int = Field(default=3, ge=1, le=8)
    """Contradictions in a perturbed report, and fallacies in another; fewer where there is no room."""
    share: float = Field(default=0.5, gt=0, le=1)
    """Of the citations that can be moved, how many are."""
    padding: float = Field(default=0.5, gt=0, le=2)
    """Words put in, over words of the body."""
    seed: int = 0


def perturbed_reports(
    report: str, document: Document, settings: FlawSettings, requirements: Sequence[str] = ()
) -> list[PerturbedReport | Impossible]:
    """A perturbed report for each kind of flaw, or why there is none.

    Args:
        report: id of the report.
        document: its parse.
        settings: what to plant, and how much of it.
        requirements: what the report has to deliver, such as the items of its checklist.
    """
    language: Language | None = next((one for one in LANGUAGES if one == document.language), None)
    if language is None:
        reason = f"the report's language is {document.language!r}; there are {', '.join(LANGUAGES)}"
        return [Impossible(kind, reason) for kind in settings.kinds]
    return [_perturbed(report, document, kind, language, settings, requirements) for kind in settings.kinds]


def _perturbed(
    report: str,
    document: Document,
    kind: FlawKind,
    language: Language,
    settings: FlawSettings,
    requirements: Sequence[str],
) -> PerturbedReport | Impossible:
    plans: dict[FlawKind, Callable[[Random], Plan | str]] = {
        "contradiction": lambda rng: contradictions(document, language, settings.places, rng),
        "moved_citations": lambda rng: moved(document, settings.share, rng),
        "shuffled_references": lambda rng: shuffled(document, rng),
        "dropped": lambda rng: dropped(document, requirements, rng),
        "reasoning": lambda rng: reasoning(document, language, settings.places, rng),
        "padding": lambda rng: padding(document, language, settings.padding, rng),
    }
    made: PerturbedReport | Impossible = Impossible(kind, "not tried")
    for attempt in range(_TRIES):
        plan = plans[kind](Random(f"{settings.seed}:{report}:{kind}:{attempt}"))
        if isinstance(plan, str):
            return Impossible(kind, plan)
        made = planted(document, report, kind, plan, settings.seed, language)
        if isinstance(made, PerturbedReport):
            return made
    return made
