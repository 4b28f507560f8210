"""A report changed in some places, and proof that nothing else is.

Invariant: a perturbed report is the report with its changes applied, byte for byte the same elsewhere; its parse has
the sentences and citations of the report's, but for those that the changes are about, or it is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from local_judge.documents import Citation, Document, Sentence, parse_report
from local_judge.lab.planting.model import Change, Language, PlantedFlaw
from local_judge.protocols.probes import FlawKind


class Cut(NamedTuple):
    """What is put in the place of `[start, end)` of a report."""

    start: int
    end: int
    after: str


class Plan(NamedTuple):
    """How a flaw is to be planted."""

    cuts: tuple[Cut, ...]
    """In the order of the text, apart from each other."""
    about: tuple[str, ...]
    """Labels of the report's sentences that are contradicted, dropped, or robbed of their citations."""
    detail: str


class PerturbedReport(NamedTuple):
    """A report with one flaw."""

    text: str
    document: Document
    flaw: PlantedFlaw


class Impossible(NamedTuple):
    """A flaw that a report has no place for."""

    kind: FlawKind
    reason: str


def digest(text: str) -> str:
    """SHA-256 of a text's UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def applied(text: str, cuts: Iterable[Cut]) -> tuple[str, tuple[Change, ...]]:
    """The text with its cuts, and these as changes."""
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
    """The report that a perturbed report was made of."""
    back = [Cut(one.perturbed_start, one.perturbed_start + len(one.after), one.before) for one in changes]
    return applied(perturbed, back)[0]


def planted(
    document: Document, report: str, kind: FlawKind, plan: Plan, seed: int, language: Language
) -> PerturbedReport | Impossible:
    """The perturbed report of a plan, if its parse is that of the report but for the plan."""
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
    """Text, citations and label of each sentence."""
    return [(one.text, _cited(document, one), one.label) for one in document.sentences]


def _entries(document: Document) -> list[tuple[str | None, str, str | None]]:
    return [(one.key, one.text, one.url) for one in document.references]


def _put_in(report: Document, perturbed: Document, plan: Plan) -> tuple[str, ...] | None:
    """Labels of what the perturbed report has more; None if anything else differs."""
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
    """Nothing of the perturbed report is new; None if it has not just what is left."""
    left = [row[:2] for row in _read(report) if row[2] not in plan.about]
    same = left == [row[:2] for row in _read(perturbed)] and _entries(report) == _entries(perturbed)
    return () if same else None


def _recited(report: Document, perturbed: Document, plan: Plan) -> tuple[str, ...] | None:
    """Labels of the sentences with other sources; None if other sentences have them, or one keeps a source."""
    if [one.label for one in report.sentences] != [one.label for one in perturbed.sentences]:
        return None
    if _styles(report.citations) != _styles(perturbed.citations):
        return None
    changed: list[str] = []
    for (_, before, label), (_, after, _) in zip(_read(report), _read(perturbed), strict=True):
        if before != after:
            changed.append(label)
            if {url for _, url in before} & {url for _, url in after}:
                return None
    return tuple(changed) if changed and set(changed) == set(plan.about) else None


def _reordered(report: Document, perturbed: Document, plan: Plan) -> tuple[str, ...] | None:
    """Labels of the sentences with other sources; None unless every listed reference has another address."""
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


def _styles(citations: Sequence[Citation]) -> list[str]:
    return sorted(one.style for one in citations)


_ALLOWED = {
    "contradiction": _put_in,
    "reasoning": _put_in,
    "padding": _put_in,
    "dropped": _taken_out,
    "moved_citations": _recited,
    "shuffled_references": _reordered,
}
