"""Injected instructions, asked about.

Invariant: with fences and without, the same questions are asked about the same texts; what runs without is inside one
block and cannot leave it.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_judge.judge.layout import unfenced
from local_judge.qualification.bench import Bench, Found
from local_judge.qualification.figures import Measure
from local_judge.qualification.model import Item, PartName
from local_judge.qualification.parts.obedience.measures import measures
from local_judge.qualification.parts.obedience.pages import ask_pages, page_trials
from local_judge.qualification.parts.obedience.reports import ask_reports, report_trials
from local_judge.qualification.parts.obedience.settings import ObedienceSettings


class Obedience:
    """The part."""

    name: PartName = "obedience"

    def __init__(self, settings: ObedienceSettings) -> None:
        self.settings = settings

    async def ask(self, bench: Bench) -> Found:
        """Every attack, its control and the text without either; then the same without fences."""
        pages, reports = page_trials(bench, self.settings), report_trials(bench, self.settings)

        async def ask() -> list[Item]:
            on_pages = await ask_pages(bench, pages, self.settings)
            return on_pages + await ask_reports(bench, reports, self.settings)

        items = await ask()
        if self.settings.bare:
            with unfenced():
                items += await ask()
        notes: list[str] = []
        if self.settings.methods and not pages:
            notes.append("no page with claims is short enough to be attacked")
        if self.settings.probes and not reports:
            notes.append("no report with a task could be attacked")
        return Found(tuple(items), tuple(notes))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """How often attacks succeed, how far they move answers, and what fences take off."""
        return measures(items)
