"""Part `extraction`: does the judge extract the claims of a report, and none from sentences that claim nothing?

Reports are composed of sentences of the snapshot's pages, with sentences that claim nothing between them
(`planting.composed`). Their claims are extracted as in a run.

Invariant: each sentence of a composed report is one item for each form of the question.

    truth    1 for a planted sentence, 0 for a filler
    called   a claim was extracted: any from a planted sentence; from a filler one of class A, B, C or F, which needs a
             source (D and E, which are not verified, suit an announcement)
    said     for a planted sentence 1 if one of its claims says the same (`annotations.extraction.lexical`), else 0,
             because small judges write the claim of a sentence under another number; for a filler as `called`

    recall = said / planted      precision = said of planted / called      F1 = 2 said of planted / (planted + called)

Code adds a claim to every cited sentence for which the judge extracts none (`claims.extract`), so that only the recall
on uncited sentences is the judge's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.extract import Extraction as Extracted
from local_judge.claims.extract import extract_claims
from local_judge.claims.model import ClaimType
from local_judge.lab.annotations.extraction import THRESHOLDS, lexical
from local_judge.lab.planting.composed import Composed, ComposeSettings, LabelledSentence, compose
from local_judge.lab.planting.pages import usable
from local_judge.lab.qualification.figures import (
    Measure,
    MeasureRow,
    Ratio,
    facet_values,
    measures,
    share,
    steps,
    where,
)
from local_judge.lab.qualification.model import Item, JudgeAnswer
from local_judge.lab.qualification.part import Found, Part, PartContext

Form = Literal["terse", "full"]
FORMS: Final[tuple[Form, ...]] = ("terse", "full")

CLAIMING: Final[tuple[ClaimType, ...]] = ("A", "B", "C", "F")
"""Classes of claims that need a source, whether the report gives one or not."""


class ExtractionSettings(Frozen):
    """Sizes of the part."""

    reports: int = Field(default=4, ge=1)
    """Number of composed reports, alternating between the languages of the snapshot."""
    sentences: int = Field(default=30, ge=4)
    """Sentences per report."""
    batch_sentences: int = Field(default=10, ge=1, le=50)
    """Sentences per call, which is the unit of the intervals. A run uses 20, which would make a report one unit."""
    forms: tuple[Form, ...] = FORMS
    """Forms of extraction to measure."""


class Read(NamedTuple):
    """An extracted claim with its class."""

    text: str
    type: ClaimType


class SentenceAnswer(NamedTuple):
    """Result for one sentence."""

    said: bool
    called: bool
    type: ClaimType | None
    """Class that the judge gave the claim that says the same, or else the first claim."""


def answer_of(sentence: LabelledSentence, claims: Sequence[Read]) -> SentenceAnswer:
    """Compare the claims extracted from a sentence with what is known of the sentence."""
    first = claims[0].type if claims else None
    if not sentence.planted:
        false = any(one.type in CLAIMING for one in claims)
        return SentenceAnswer(false, false, first)
    for one in claims:
        if lexical([sentence.text], [one.text])[0][0] >= THRESHOLDS["lexical"]:
            return SentenceAnswer(True, True, one.type)
    return SentenceAnswer(False, bool(claims), first)


def _found(item: Item) -> bool | None:
    """Check whether a planted sentence was extracted."""
    return item.said == 1 if item.truth else None


def _typed(item: Item) -> bool | None:
    """Check whether an extracted claim has class A exactly if its sentence has a citation."""
    if not item.truth or item.said != 1:
        return None
    return (item.facets.get("type") == "A") == (item.facets["cited"] == "yes")


RECALL: Final = share(_found)
ROWS: Final[Sequence[MeasureRow]] = (
    ("recall", RECALL, "more"),
    ("precision", Ratio(lambda item: (_found(item) is True, item.called is True)), "more"),
    (
        "f1",
        Ratio(lambda item: (2 * (_found(item) is True), (item.truth == 1) + (item.called is True))),
        "more",
    ),
    ("false_claims", share(lambda item: None if item.truth else item.called), "less"),
    ("typed", share(_typed), "more"),
)


class Extraction(Part[ExtractionSettings]):
    """The part."""

    name = "extraction"
    legend = (
        "The judge extracts claims from reports that code composed of sentences with known claims.\n\n"
        "- `recall`: share of the sentences whose claim the judge extracts;\n"
        "- `precision`: share of the extracted claims that are one of these;\n"
        "- `f1`: harmonic mean of the two;\n"
        "- `false claims`: share of the sentences without a claim from which the judge extracts one;\n"
        "- `typed`: share of the claims with the right type."
    )

    figures = r"(recall|precision|f1|false_claims|typed)(/\w+=[^/]+)*"

    async def ask(self, context: PartContext) -> Found:
        """Extract the claims of each composed report, in each form."""
        settings = self.settings
        reports = compose(
            usable(context.snapshot.pages()),
            ComposeSettings(reports=settings.reports, sentences=settings.sentences, seed=context.seed),
        )
        items: list[Item] = []
        for form in settings.forms:
            config = ClaimsConfig(form=form, batch_sentences=settings.batch_sentences)
            for report in reports:
                extracted = await extract_claims(report.document, context.judge, config)
                items += _items(report, extracted, form, settings.batch_sentences)
        return Found(tuple(items), tuple(_notes(reports, settings)))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Return the measures over all items, then by form, by language, and by whether a sentence has a citation."""
        found: list[Measure] = []
        for only in ({}, *facet_values(items, "form", "language")):
            found += measures(self.name, steps(only), where(only), ROWS)
        for only in ({"cited": "yes"}, {"cited": "no"}):
            found += measures(self.name, steps(only), where(only), ROWS[:1])
        return found


def _notes(reports: Sequence[Composed], settings: ExtractionSettings) -> list[str]:
    """Describe what could not be composed."""
    notes: list[str] = []
    if len(reports) < settings.reports:
        notes.append(
            f"{len(reports)} of {settings.reports} reports composed: the pages have no more sentences that stand alone"
        )
    lost, known = sum(one.n_lost for one in reports), sum(len(one.sentences) for one in reports)
    if reports and known + lost < settings.sentences * len(reports):
        notes.append(f"{known + lost} sentences composed instead of {settings.sentences * len(reports)}")
    if lost:
        notes.append(
            f"{lost} sentences are parsed differently from how they were written, and are not counted"
        )
    return notes


def _items(report: Composed, extracted: Extracted, form: Form, size: int) -> list[Item]:
    """Return the items of all sentences of a report, in reading order."""
    failures = {label: one.failure for one in extracted.failures for label in one.sentences}
    document = report.document
    body = [one.label for one in document.sentences if document.blocks[one.block].role == "body"]
    batch = {label: place // size for place, label in enumerate(body)}
    found: list[Item] = []
    for sentence in report.sentences:
        cited = ("yes" if sentence.cited else "no") if sentence.planted else "filler"
        facets = {"form": form, "language": report.language, "cited": cited}
        if (failure := failures.get(sentence.label)) is not None:
            answer = JudgeAnswer.failed(failure)
        else:
            claims = [Read(one.text, one.type) for one in extracted.claims if one.sentence == sentence.label]
            made = answer_of(sentence, claims)
            answer = JudgeAnswer(float(made.said), made.called)
            if made.type is not None:
                facets["type"] = made.type
        id, unit = f"{report.id}:{sentence.label}:{form}", f"{report.id}:{batch[sentence.label]}"
        found.append(answer.item(id, unit, facets, float(sentence.planted)))
    return found
