"""Does the judge find what a report claims, and nothing where it claims nothing?

Reports are composed of sentences of the snapshot's pages, with sentences between them that claim nothing
(`planting.composed`), and their claims are extracted as a run does it.

Invariant: each sentence of a composed report is one item for each form that it was asked in.

    truth    1 of a planted sentence, 0 of a filler
    called   a claim was found: of a planted sentence any, of a filler one of class A, B, C or F, which a source would
             have to bear out; D and E, which nobody verifies, fit an announcement
    said     of a planted sentence 1 if one of its claims says the same (`annotations.similarity.lexical`), else 0,
             since small judges write one sentence's claim under another's number; of a filler as `called`

    recall = said / planted      precision = said of planted / called      F1 = 2 said of planted / (planted + called)

A sentence that carries a citation gets a claim from code where the judge finds none (`claims.extract`), so that recall
on the uncited ones is the judge's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from pydantic import Field

from local_judge.claims.config import ClaimsConfig
from local_judge.claims.extract import Extraction, extract_claims
from local_judge.claims.model import ClaimType
from local_judge.judge.failures import FailureKind
from local_judge.lab.annotations.similarity import THRESHOLDS, lexical
from local_judge.lab.planting.composed import Composed, ComposeSettings, LabelledSentence, compose
from local_judge.lab.planting.pages import usable
from local_judge.lab.qualification.figures import Measure, share, steps, where
from local_judge.lab.qualification.model import Item, PartName
from local_judge.lab.qualification.part_context import Found, PartContext
from serving.types import Frozen

Form = Literal["terse", "full"]
FORMS: Final[tuple[Form, ...]] = ("terse", "full")

CLAIMING: Final[tuple[ClaimType, ...]] = ("A", "B", "C", "F")
"""Classes of claims that need a source, whether the report gives one or not."""


class ExtractionSettings(Frozen):
    """How much is asked."""

    reports: int = Field(default=4, ge=1)
    """Composed, in the languages of the snapshot by turns."""
    sentences: int = Field(default=30, ge=4)
    """In each."""
    batch_sentences: int = Field(default=10, ge=1, le=50)
    """In one call, which is the unit of the intervals; a run has 20, and a report of 20 would be one unit."""
    forms: tuple[Form, ...] = FORMS


class Read(NamedTuple):
    """One claim that a judge gave, with its class."""

    text: str
    type: ClaimType
    judged: ClaimType
    """Before code settled it."""


class SentenceAnswer(NamedTuple):
    """What came of one sentence."""

    said: bool
    called: bool
    type: ClaimType | None
    """As the judge said, of the claim that says the same, else of the first."""


def answer_of(sentence: LabelledSentence, claims: Sequence[Read]) -> SentenceAnswer:
    """A sentence of which something is known, and what the judge made of it."""
    first = claims[0].judged if claims else None
    if not sentence.planted:
        false = any(one.type in CLAIMING for one in claims)
        return SentenceAnswer(false, false, first)
    for one in claims:
        if lexical([sentence.text], [one.text])[0][0] >= THRESHOLDS["lexical"]:
            return SentenceAnswer(True, True, one.judged)
    return SentenceAnswer(False, bool(claims), first)


class ExtractionPart:
    """The part."""

    name: PartName = "extraction"

    def __init__(self, settings: ExtractionSettings) -> None:
        self.settings = settings

    async def ask(self, context: PartContext) -> Found:
        """The claims of each composed report, in each form."""
        settings = self.settings
        reports = compose(
            usable(context.snapshot.pages()),
            ComposeSettings(reports=settings.reports, sentences=settings.sentences, seed=context.seed),
        )
        items: list[Item] = []
        for form in settings.forms:
            config = ClaimsConfig(form=form, batch_sentences=settings.batch_sentences)
            for report in reports:
                extraction = await extract_claims(report.document, context.judge, config)
                items += _items(report, extraction, form, settings.batch_sentences)
        return Found(tuple(items), tuple(_notes(reports, settings)))

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Over everything that was asked, then by form, language and whether the sentence bears a citation."""
        found = _measures({})
        for facet in ("form", "language"):
            for value in sorted({item.facets[facet] for item in items}):
                found += _measures({facet: value})
        for value in ("yes", "no"):
            cited = {"cited": value}
            found.append(Measure(f"extraction/recall{steps(cited)}", where(cited), share(_right), "more"))
        return found


def _notes(reports: Sequence[Composed], settings: ExtractionSettings) -> list[str]:
    """What could not be composed."""
    notes: list[str] = []
    if len(reports) < settings.reports:
        notes.append(
            f"{len(reports)} of {settings.reports} reports composed: the pages have no more sentences that stand alone"
        )
    lost, known = sum(one.n_lost for one in reports), sum(len(one.sentences) for one in reports)
    if reports and known + lost < settings.sentences * len(reports):
        notes.append(f"{known + lost} sentences composed instead of {settings.sentences * len(reports)}")
    if lost:
        notes.append(f"{lost} sentences are read otherwise than they were written, and are not counted")
    return notes


def _items(report: Composed, extraction: Extraction, form: Form, size: int) -> list[Item]:
    """All sentences of a report, in reading order."""
    failures: dict[str, FailureKind] = {
        label: one.failure.kind for one in extraction.failures for label in one.sentences
    }
    document = report.document
    body = [one.label for one in document.sentences if document.blocks[one.block].role == "body"]
    batch = {label: place // size for place, label in enumerate(body)}
    found: list[Item] = []
    for sentence in report.sentences:
        claims = [
            Read(one.text, one.type, one.type_judged)
            for one in extraction.claims
            if one.sentence == sentence.label
        ]
        failure = failures.get(sentence.label)
        made = None if failure else answer_of(sentence, claims)
        facets = {
            "form": form,
            "language": report.language,
            "cited": ("yes" if sentence.cited else "no") if sentence.planted else "filler",
        }
        if made is not None and made.type is not None:
            facets["type"] = made.type
        found.append(
            Item(
                id=f"{report.id}:{sentence.label}:{form}",
                unit=f"{report.id}:{batch[sentence.label]}",
                facets=facets,
                truth=float(sentence.planted),
                said=None if made is None else float(made.said),
                called=None if made is None else made.called,
                failure=failure,
            )
        )
    return found


def _measures(only: dict[str, str]) -> list[Measure]:
    end, of = steps(only), where(only)
    return [
        Measure(f"extraction/recall{end}", of, share(_right), "more"),
        Measure(f"extraction/precision{end}", of, _precision, "more"),
        Measure(f"extraction/f1{end}", of, _f1, "more"),
        Measure(
            f"extraction/false_claims{end}",
            of,
            share(lambda item: None if item.truth else item.called),
            "less",
        ),
        Measure(f"extraction/typed{end}", of, share(_typed), "more"),
    ]


def _right(item: Item) -> bool | None:
    """Whether a planted sentence was found."""
    return item.said == 1 if item.truth else None


def _typed(item: Item) -> bool | None:
    """Of what was found, whether the judge says A where there is a citation, and another class where there is none."""
    if not item.truth or item.said != 1:
        return None
    return (item.facets.get("type") == "A") == (item.facets["cited"] == "yes")


def _precision(items: Sequence[Item]) -> float | None:
    called = sum(item.called is True for item in items)
    return sum(_right(item) is True for item in items) / called if called else None


def _f1(items: Sequence[Item]) -> float | None:
    whole = sum(item.truth == 1 for item in items) + sum(item.called is True for item in items)
    return 2 * sum(_right(item) is True for item in items) / whole if whole else None
