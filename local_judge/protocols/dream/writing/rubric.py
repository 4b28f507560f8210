"""The ten sub-dimensions with their weights (DREAM, Table 3); what each asks is in our own words.

Invariant: the weights of a dimension sum to 1; ids are unique over all dimensions.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

DimensionId = Literal["ideas", "organization", "fluency"]

DIMENSIONS: tuple[DimensionId, ...] = get_args(DimensionId)

LABELS: dict[DimensionId, str] = {
    "ideas": "Ideas and content",
    "organization": "Organization",
    "fluency": "Sentence fluency",
}


class Subdimension(NamedTuple):
    """One thing that is scored."""

    id: str
    dimension: DimensionId
    label: str
    weight: float
    text: str
    """What a judge is asked."""


SUBDIMENSIONS: tuple[Subdimension, ...] = (
    Subdimension(
        "main_idea",
        "ideas",
        "Main idea",
        0.25,
        "Main idea: the report says early and plainly what it is about and what it comes to, and keeps to it.",
    ),
    Subdimension(
        "detail_relevance",
        "ideas",
        "Detail relevance",
        0.25,
        "Relevance of details: the facts, figures and examples that are given bear on what the report sets out to say.",
    ),
    Subdimension(
        "information_density",
        "ideas",
        "Information density",
        0.25,
        "Density of information: sentences tell the reader something; there is little filler, repetition or empty "
        "praise, and nothing is so packed that it cannot be followed.",
    ),
    Subdimension(
        "conceptual_synthesis",
        "ideas",
        "Conceptual synthesis",
        0.25,
        "Synthesis: what comes from different places is put together into insights, comparisons and conclusions, and "
        "not merely listed.",
    ),
    Subdimension(
        "headings",
        "organization",
        "Headings",
        0.30,
        "Headings: they tell what stands below them, are on the right level, and together show how the report is "
        "built.",
    ),
    Subdimension(
        "bullet_grouping",
        "organization",
        "Bullet grouping",
        0.40,
        "Grouping of lists: points that belong together stand together, points of one list are of one kind, and lists "
        "stand where a list is clearer than prose.",
    ),
    Subdimension(
        "coherence",
        "organization",
        "Coherence",
        0.30,
        "Coherence: sections and paragraphs follow one another for a reason, and each follows from what came before.",
    ),
    Subdimension(
        "rhythm",
        "fluency",
        "Rhythm",
        0.30,
        "Rhythm: sentences differ in length and form, and read well aloud.",
    ),
    Subdimension(
        "transitions",
        "fluency",
        "Transitions",
        0.30,
        "Transitions: words and sentences lead from one thought to the next, so that the reader never has to guess "
        "how two are related.",
    ),
    Subdimension(
        "readability",
        "fluency",
        "Readability",
        0.40,
        "Readability: wording is plain and precise, terms are explained where they are needed, and a sentence is "
        "understood at the first reading.",
    ),
)

IDS: tuple[str, ...] = tuple(one.id for one in SUBDIMENSIONS)


def of_dimension(dimension: DimensionId) -> tuple[Subdimension, ...]:
    """The sub-dimensions of one dimension, in order."""
    return tuple(one for one in SUBDIMENSIONS if one.dimension == dimension)
