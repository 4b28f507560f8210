"""One perturbed report for each flaw.

Invariants: the same report, settings and seed give the same perturbed reports; a flaw that fits nowhere is listed with
the reason. A perturbed report equals the report byte for byte outside its changes. Its parse has the same sentences and
citations, except those that the changes concern, or it is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple, get_args

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.documents import Document, Sentence, parse_report
from local_judge.lab.planting.flaws.citations import moved, shuffled
from local_judge.lab.planting.flaws.dropping import dropped
from local_judge.lab.planting.flaws.insertions import contradictions, padding, reasoning
from local_judge.lab.planting.flaws.places import Cut, Plan
from local_judge.lab.planting.model import LANGUAGES, Change, Language, PlantedFlaw
from local_judge.protocols.probes import FlawKind

FLAWS: tuple[FlawKind, ...] = get_args(FlawKind)
_TRIES = 5


class FlawSettings(Frozen):
    """Flaws to plant in reports."""

    kinds: tuple[FlawKind, ...] = FLAWS
    places: int = Field(default=3, ge=1, le=8)
    """Number of contradictions in a perturbed report, and of fallacies in another; fewer if there is no room."""
    share: float = Field(default=0.5, gt=0, le=1)
    """Share of the movable citations that are moved."""
    padding: float = Field(default=0.5, gt=0, le=2)
    """Words added, as a share of the words in the body."""
    seed: int = 0


class PerturbedReport(NamedTuple):
    """A report with one flaw."""

    text: str
    document: Document
    flaw: PlantedFlaw


class Impossible(NamedTuple):
    """A flaw that fits nowhere in a report."""

    kind: FlawKind
    reason: str


def perturbed_reports(
    report: str, document: Document, settings: FlawSettings, requirements: Sequence[str] = ()
) -> list[PerturbedReport | Impossible]:
    """Return a perturbed report for each kind of flaw, or why there is none.

    Args:
        report: Id of the report.
        document: Parsed report.
        settings: Flaws to plant, and how much of each.
        requirements: Requirements on the report, such as the items of its checklist.
    """
    language: Language | None = next((one for one in LANGUAGES if one == document.language), None)
    if language is None:
        reason = f"the report's language is {document.language!r}; there are {', '.join(LANGUAGES)}"
        return [Impossible(kind, reason) for kind in settings.kinds]
    plans: dict[FlawKind, Callable[[Random], Plan | str]] = {
        "contradiction": lambda rng: contradictions(document, language, settings.places, rng),
        "moved_citations": lambda rng: moved(document, settings.share, rng),
        "shuffled_references": lambda rng: shuffled(document, rng),
        "dropped": lambda rng: dropped(document, requirements, rng),
        "reasoning": lambda rng: reasoning(document, language, settings.places, rng),
        "padding": lambda rng: padding(document, language, settings.padding, rng),
    }

    def perturbed(kind: FlawKind) -> PerturbedReport | Impossible:
        made: PerturbedReport | Impossible = Impossible(kind, "not tried")
        for attempt in range(_TRIES):
            plan = plans[kind](Random(f"{settings.seed}:{report}:{kind}:{attempt}"))
            if isinstance(plan, str):
                return Impossible(kind, plan)
            made = _planted(document, report, kind, plan, settings.seed, language)
            if isinstance(made, PerturbedReport):
                break
        return made

    return [perturbed(kind) for kind in settings.kinds]


def digest(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def applied(text: str, cuts: Iterable[Cut]) -> tuple[str, tuple[Change, ...]]:
    """Return the text with its cuts, and the cuts as changes."""
    pieces: list[str] = []
    changes: list[Change] = []
    end = length = 0
    for cut in sorted(cuts):
        pieces += [text[end : cut.start], cut.after]
        length += cut.start - end
        changes.append(
            Change(start=cut.start, before=text[cut.start : cut.end], perturbed_start=length, after=cut.after)
        )
        length += len(cut.after)
        end = cut.end
    return "".join(pieces) + text[end:], tuple(changes)


def undone(perturbed: str, changes: Iterable[Change]) -> str:
    """Return the report that a perturbed report was made from."""
    back = [Cut(one.perturbed_start, one.perturbed_start + len(one.after), one.before) for one in changes]
    return applied(perturbed, back)[0]


def _planted(
    document: Document, report: str, kind: FlawKind, plan: Plan, seed: int, language: Language
) -> PerturbedReport | Impossible:
    """Carry out a plan, and check that it changes nothing else in the parse of the report."""
    text, changes = applied(document.text, plan.cuts)
    perturbed = parse_report(text)
    labels = _ALLOWED[kind](document, perturbed, plan)
    if labels is None:
        return Impossible(kind, "the places that were tried change how the rest of the report is read")
    flaw = PlantedFlaw(
        id=f"{report}~{kind}",
        report=report,
        kind=kind,
        language=language,
        report_digest=digest(document.text),
        perturbed_digest=digest(text),
        changes=changes,
        sentences=labels,
        about=plan.about,
        detail=plan.detail,
        seed=seed,
    )
    return PerturbedReport(text, perturbed, flaw)


def _cited(document: Document, sentence: Sentence) -> tuple[tuple[str, str | None], ...]:
    return tuple((one.key, one.url) for one in map(document.citation, sentence.citations))


def _read(document: Document) -> list[tuple[str, tuple[tuple[str, str | None], ...], str]]:
    """Return text, citations and label of each sentence."""
    return [(one.text, _cited(document, one), one.label) for one in document.sentences]


def _entries(document: Document) -> list[tuple[str | None, str, str | None]]:
    return [(one.key, one.text, one.url) for one in document.references]


def _put_in(report: Document, perturbed: Document, plan: Plan) -> tuple[str, ...] | None:
    """Return the labels of the added sentences; None if anything else differs."""
    if _entries(report) != _entries(perturbed):
        return None
    rest = _read(report)[::-1]
    more: list[str] = []
    for text, cited, label in _read(perturbed):
        if rest and rest[-1][:2] == (text, cited):
            rest.pop()
        elif cited:
            return None
        else:
            more.append(label)
    return tuple(more) if more and not rest else None


def _taken_out(report: Document, perturbed: Document, plan: Plan) -> tuple[str, ...] | None:
    """Return no labels if the perturbed report has exactly the other sentences; otherwise None."""
    left = [row[:2] for row in _read(report) if row[2] not in plan.about]
    same = left == [row[:2] for row in _read(perturbed)] and _entries(report) == _entries(perturbed)
    return () if same else None


def _recited(report: Document, perturbed: Document, plan: Plan) -> tuple[str, ...] | None:
    """Return the labels of the sentences with other sources; None if these are unplanned, or one keeps a source."""
    if [one.label for one in report.sentences] != [one.label for one in perturbed.sentences]:
        return None
    if sorted(one.style for one in report.citations) != sorted(one.style for one in perturbed.citations):
        return None
    changed: list[str] = []
    for (_, before, label), (_, after, _) in zip(_read(report), _read(perturbed), strict=True):
        if before != after:
            changed.append(label)
            if {url for _, url in before} & {url for _, url in after}:
                return None
    return tuple(changed) if changed and set(changed) == set(plan.about) else None


def _reordered(report: Document, perturbed: Document, plan: Plan) -> tuple[str, ...] | None:
    """Return the labels of the sentences with other sources; None unless every reference has another address."""
    addresses = [{one.key: one.url for one in document.references} for document in (report, perturbed)]
    if [one.label for one in report.sentences] != [one.label for one in perturbed.sentences]:
        return None
    if [one.key for one in report.citations] != [one.key for one in perturbed.citations]:
        return None
    listed = [reference for reference in report.references if reference.key and reference.url]
    if any(addresses[1].get(one.key) in (None, one.url) for one in listed):
        return None
    pairs = zip(_read(report), _read(perturbed), strict=True)
    return (
        tuple(row[2] for row, other in pairs if {url for _, url in row[1]} != {url for _, url in other[1]})
        or None
    )


_ALLOWED = {
    "contradiction": _put_in,
    "reasoning": _put_in,
    "padding": _put_in,
    "dropped": _taken_out,
    "moved_citations": _recited,
    "shuffled_references": _reordered,
}
