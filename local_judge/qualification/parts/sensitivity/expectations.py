"""What each flaw should do to each score.

Invariant: every row says why; a score that a flaw may move either way has none, and is not asked for that flaw.

A change is counted so that a fall is a report that got worse, also where a score counts errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from local_judge.planting.model import FlawKind
from local_judge.qualification.parts.sensitivity.settings import PROBES, ProbeName

Truth = Literal[-1, 0]
"""-1: the score falls. 0: it does not rise."""


class Place(NamedTuple):
    """Where a score stands."""

    probe: ProbeName
    path: str
    """In the tree of the probe's protocol, `a/b/c`."""
    scale: float
    """The most that it can be; the least is 0."""
    better: Literal["more", "less"] = "more"

    @property
    def protocol(self) -> str:
        """Whose score it is."""
        return PROBES[self.probe].protocol


class Expectation(NamedTuple):
    """One row of the table."""

    place: Place
    flaw: FlawKind
    truth: Truth
    reason: str


RACE = Place("whole", "overall", 100.0)
FACT = Place("fact", "citation_accuracy", 1.0)
SUPPORT = Place("verification", "information_integrity/citation_support", 10.0)
FAITHFULNESS = Place("citation", "citation/faithfulness", 100.0)
ERRORS = Place("accuracy", "accuracy/e3_rate", 1.0, "less")
COVERAGE = Place("coverage", "coverage", 100.0)
CONSISTENCY = Place("consistency", "consistency", 100.0)
REASONING = Place("reasoning", "reasoning", 100.0)
KEY_INFORMATION = Place("key_information", "key_information", 100.0)
WRITING = Place("writing", "writing", 100.0)
REQUEST = Place("rubric", "request_fulfillment", 10.0)
SOUNDNESS = Place("rubric", "analytical_soundness", 10.0)
COHERENCE = Place("rubric", "structural_coherence", 10.0)
QUALITY = Place("quality", "quality", 10.0)

_BY_PAGES = (FACT, SUPPORT, FAITHFULNESS, ERRORS)
_BY_READING = (
    COVERAGE,
    CONSISTENCY,
    REASONING,
    KEY_INFORMATION,
    WRITING,
    REQUEST,
    SOUNDNESS,
    COHERENCE,
    QUALITY,
)

_GONE = "a section that was asked for is gone"
_TWO = "the report says two things of one matter"
_FALLACY = "conclusions are drawn that do not follow"
_CLEANED = "citations are taken out before the judge reads"
_ELSEWHERE = "cited pages do not say what they are cited for"
_UNCITED = "what is put in cites nothing"
_WORDS = "more words, and nothing more is said"


def _rows() -> Iterator[Expectation]:
    for place in (RACE, REQUEST, QUALITY, COVERAGE, KEY_INFORMATION):
        yield Expectation(place, "dropped", -1, _GONE)
    for place in (RACE, CONSISTENCY, SOUNDNESS, COHERENCE, QUALITY):
        yield Expectation(place, "contradiction", -1, _TWO)
    for place in (RACE, REASONING, SOUNDNESS, QUALITY):
        yield Expectation(place, "reasoning", -1, _FALLACY)
    for place in _BY_PAGES:
        yield Expectation(place, "moved_citations", -1, _ELSEWHERE)
        yield Expectation(place, "shuffled_references", -1, _ELSEWHERE)
        for flaw in ("contradiction", "reasoning"):
            yield Expectation(place, flaw, 0, _UNCITED)
    for flaw in ("moved_citations", "shuffled_references"):
        yield Expectation(RACE, flaw, 0, _CLEANED)
    for place in (RACE, *_BY_PAGES, *_BY_READING):
        yield Expectation(place, "padding", 0, _WORDS)


EXPECTATIONS: tuple[Expectation, ...] = tuple(_rows())


def expected(probe: ProbeName, flaws: Sequence[FlawKind]) -> list[Expectation]:
    """The rows of a probe and some flaws, in the order of the flaws."""
    chosen = [one for one in EXPECTATIONS if one.place.probe == probe and one.flaw in flaws]
    return sorted(chosen, key=lambda one: flaws.index(one.flaw))
