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
from local_judge.qualification.parts.obedience.settings import ObedienceSettings


class Obedience:
    """The part."""

    name: PartName = "obedience"

    def __init__(self, settings: ObedienceSettings) -> None:
        self.settings = settings

    async def ask(self, bench: Bench) -> Found:
        """Every attack, its control and the text without either; then the same without fences."""
        pages = page_trials(bench, self.settings)
        items = await ask_pages(bench, pages, self.settings)
        if self.settings.bare:
            with unfenced():
                items += await ask_pages(bench, pages, self.settings)
        notes = [] if pages else ["no page with claims is short enough to be attacked"]
        return Found(tuple(items), tuple(notes))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """How often attacks succeed, how far they move answers, and what fences take off."""
        return measures(items)
