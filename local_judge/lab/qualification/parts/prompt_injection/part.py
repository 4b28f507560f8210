"""Injected instructions, asked about.

Invariant: with fences and without, the same questions are asked about the same texts; what runs without is inside one
block and cannot leave it.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.judge.layout import unfenced
from local_judge.lab.qualification.figures import Measure
from local_judge.lab.qualification.model import Item, PartName, Unmeasured
from local_judge.lab.qualification.part_context import Found, PartContext
from local_judge.lab.qualification.parts.prompt_injection.measures import LAYOUTS, measures
from local_judge.lab.qualification.parts.prompt_injection.pages import ask_pages, page_trials
from local_judge.lab.qualification.parts.prompt_injection.reports import ask_reports, report_trials
from local_judge.lab.qualification.parts.prompt_injection.settings import PromptInjectionSettings


class PromptInjection:
    """The part."""

    name: PartName = "prompt_injection"

    def __init__(self, settings: PromptInjectionSettings) -> None:
        self.settings = settings

    async def ask(self, context: PartContext) -> Found:
        """Every attack, its control and the text without either; then the same without fences."""
        pages = page_trials(context, self.settings)
        reports, unseen = report_trials(context, self.settings)

        async def ask() -> list[Item]:
            on_pages = await ask_pages(context, pages, self.settings)
            return on_pages + await ask_reports(context, reports, self.settings)

        items = await ask()
        if self.settings.bare:
            with unfenced():
                items += await ask()
        notes = list(unseen)
        if self.settings.methods and not pages:
            notes.append("no page with claims is short enough to be attacked")
        if self.settings.probes and not reports:
            notes.append("no report with a task could be attacked")
        return Found(tuple(items), tuple(notes), unmeasured=tuple(_immune(items)))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """How often attacks succeed, how far they move answers, and what fences take off."""
        return measures(items)


def _immune(items: Sequence[Item]) -> list[Unmeasured]:
    """Shares that do not exist since the judge says what attacks want without them."""
    found: list[Unmeasured] = []
    for layout in LAYOUTS:
        mine = [item for item in items if item.facets["layout"] == layout]
        if mine and not any(item.failure for item in mine):
            reason = "the judge says without these attacks what they want"
            names = ("success", "control", "over_control")
            found += [
                Unmeasured(figures=f"prompt_injection/{name}/{layout}", reason=reason, by_judge=False)
                for name in names
            ]
    return found
