"""A rubric of nine items, one or two for each dimension, with texts short enough to be read in a prompt."""

from __future__ import annotations

from local_judge.protocols.deer.rubric.model import (
    Band,
    Criterion,
    Dimension,
    Item,
    Rubric,
    Subdimension,
)

BANDS = ((9, 10, "all"), (7, 8, "most"), (5, 6, "half"), (3, 4, "little"), (1, 2, "nothing"))


def dimension(id: str, label: str, *parts: Subdimension) -> Dimension:
    return Dimension(id=id, label=label, description=f"{label} is good.", subdimensions=parts)


def part(id: str, *criteria: Criterion) -> Subdimension:
    return Subdimension(id=id, label=id.title(), criteria=criteria)


def criterion(id: str, *items: Item) -> Criterion:
    return Criterion(id=id, title=f"Matter {id}", items=items)


RUBRIC = Rubric(
    dimensions=(
        dimension(
            "request_fulfillment",
            "Request Fulfillment",
            part(
                "completeness",
                criterion("1", Item(id="C1-1", text="Is all there?"), Item(id="Q1-1", text="Is it deep?")),
                criterion("2", Item(id="C2-1", text="Is the rest there?")),
            ),
        ),
        dimension(
            "analytical_soundness",
            "Analytical Soundness",
            part(
                "quantification",
                criterion("1", Item(id="C1-1", text="Do sums add up?", not_applicable="it has no sums")),
            ),
        ),
        dimension(
            "structural_coherence",
            "Structural Coherence",
            part("body", criterion("1", Item(id="C1-1", text="Has it a body?"))),
        ),
        dimension(
            "format_style",
            "Format & Style",
            part("report_format", criterion("1", Item(id="C1-1", text="Has it parts?"))),
            part("readability", criterion("1", Item(id="C1-1", text="Is it legible?"))),
        ),
        dimension(
            "information_integrity",
            "Information Integrity",
            part(
                "recency", criterion("1", Item(id="C1-1", text="Is it new?", not_applicable="it is timeless"))
            ),
        ),
        dimension(
            "ethics_compliance",
            "Ethics Compliance",
            part("perspective_balance", criterion("1", Item(id="C1-1", text="Is it fair?"))),
        ),
    ),
    coverage=tuple(Band(low=low, high=high, meaning=f"{text} of it") for low, high, text in BANDS),
    quality=tuple(Band(low=low, high=high, meaning=f"{text} done well") for low, high, text in BANDS),
)
