"""Planted claims and perturbed reports as files, and tables of them.

    claims.jsonl     claims from a snapshot, as `verify` reads them, without labels
    reports.jsonl    reports and their perturbed reports, as `run` reads them
    planted.jsonl    label and origin of each: `PlantedClaim` or `PlantedFlaw`
    summary.json     settings, and numbers of planted and missing claims or flaws

Invariant: `planted.jsonl` is written last, so that the other files are complete when it exists; the same inputs,
settings and replies give the same bytes. Missing claims are shown next to planted ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field
from rich.table import Table

from indexes.snapshot import Snapshot
from local_judge.base.errors import InputError, plain
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.base.rows import read_models, write_jsonl
from local_judge.documents import UnreadableReport
from local_judge.lab.planting.claims import Cell, Draw, DrawSettings, draw_claims
from local_judge.lab.planting.flaws.flaws import FlawSettings, PerturbedReport, perturbed_reports
from local_judge.lab.planting.model import LANGUAGES, LENGTHS, PerturbedRow, PlantedClaim, PlantedFlaw
from local_judge.lab.planting.pages import PlantPage, plant_pages, usable
from local_judge.protocols.probes import FlawKind
from local_judge.runs.execution.verify import ClaimRow
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.store import RunStore

CLAIMS, REPORTS, PLANTED, SUMMARY = "claims.jsonl", "reports.jsonl", "planted.jsonl", "summary.json"


class ClaimsSummary(Frozen):
    """Summary of the claims planted in a snapshot."""

    snapshot: str
    """Digest of the snapshot."""
    settings: DrawSettings
    n_pages: int
    """Number of pages in a supported language."""
    n_sentences: int
    """Number of their sentences that stand alone and admit an alteration."""
    other_languages: dict[str, int]
    """Number of pages in unsupported languages."""
    cells: tuple[Cell, ...]
    rejected: dict[str, int] = Field(default_factory=dict)
    """Number of claims that the judge did not restate, by reason."""


class NotPlanted(Frozen):
    """A flaw that fits nowhere in a report."""

    report: str
    kind: FlawKind
    reason: str


class ReportsSummary(Frozen):
    """Summary of the flaws planted in reports."""

    settings: FlawSettings
    perturbed_reports: dict[str, int]
    """Number of perturbed reports by kind of flaw."""
    not_planted: tuple[NotPlanted, ...]
    unreadable: dict[str, str]
    """Problem of each unreadable report."""


class PlantedReports(Frozen):
    """Reports, their perturbed reports, and the planted flaws."""

    rows: tuple[PerturbedRow, ...]
    flaws: tuple[PlantedFlaw, ...]
    summary: ReportsSummary


def plant_snapshot(snapshot: Snapshot, settings: DrawSettings) -> tuple[Draw, list[PlantPage], ClaimsSummary]:
    """Plant claims in the pages of a snapshot.

    Raises:
        InputError: No page has a sentence that can be a claim, in one of the requested languages.
    """
    languages = Counter(record.language for record in snapshot.records() if record.status == "ok")
    pages = plant_pages(usable(snapshot.pages(), settings.languages), settings.seed)
    n_sentences = sum(len(page.candidates) for page in pages)
    draw = draw_claims(pages, settings)
    if not draw.claims:
        raise InputError(
            f"{snapshot.path}: nothing can be planted in its pages: none in {' or '.join(settings.languages)} has "
            "sentences that stand alone and can be altered"
        )
    summary = ClaimsSummary(
        snapshot=snapshot.digest,
        settings=settings,
        n_pages=len(pages),
        n_sentences=n_sentences,
        other_languages={name: n for name, n in sorted(languages.items()) if name not in LANGUAGES},
        cells=draw.cells,
    )
    return draw, pages, summary


def plant_reports(reports: Sequence[RawReport], settings: FlawSettings) -> PlantedReports:
    """Return the perturbed reports of reports, each after its report."""
    rows: list[PerturbedRow] = []
    flaws: list[PlantedFlaw] = []
    not_planted: list[NotPlanted] = []
    unreadable: dict[str, str] = {}
    for raw in reports:
        try:
            document = raw.parse()
        except UnreadableReport as error:
            unreadable[raw.id] = str(error)
            continue
        rows.append(_row(raw, raw.id, document.text))
        for made in perturbed_reports(raw.id, document, settings, _requirements(raw)):
            if isinstance(made, PerturbedReport):
                rows.append(_row(raw, made.flaw.id, made.text))
                flaws.append(made.flaw)
            else:
                not_planted.append(NotPlanted(report=raw.id, kind=made.kind, reason=made.reason))
    counts = Counter(flaw.kind for flaw in flaws)
    summary = ReportsSummary(
        settings=settings,
        perturbed_reports={kind: counts[kind] for kind in settings.kinds},
        not_planted=tuple(not_planted),
        unreadable=unreadable,
    )
    return PlantedReports(rows=tuple(rows), flaws=tuple(flaws), summary=summary)


def _requirements(raw: RawReport) -> list[str]:
    checklist = raw.task.checklist if raw.task is not None else None
    return [item.text for item in checklist.items] if checklist is not None else []


def _row(raw: RawReport, identity: str, text: str) -> PerturbedRow:
    task_id = raw.task_id or (raw.task.id if raw.task is not None else raw.id)
    prompt = raw.task.prompt if raw.task is not None else None
    return PerturbedRow(
        id=identity, report=text, task=prompt, task_id=task_id, system=raw.system, sources=raw.sources
    )


def write_claims(out: Path, draw: Draw, summary: ClaimsSummary) -> None:
    """Write the files of planted claims. Raises InputError or RunError if one cannot be written."""
    rows = [ClaimRow(id=claim.id, claim=claim.claim, url=claim.url) for claim in draw.claims]
    _forget(out)
    write_jsonl(out / CLAIMS, rows)
    RunStore(out).write_json(SUMMARY, summary)
    write_jsonl(out / PLANTED, draw.claims)


def write_reports(out: Path, made: PlantedReports) -> None:
    """Write the files of planted flaws. Raises InputError or RunError if one cannot be written."""
    _forget(out)
    write_jsonl(out / REPORTS, made.rows)
    RunStore(out).write_json(SUMMARY, made.summary)
    write_jsonl(out / PLANTED, made.flaws)


def _forget(out: Path) -> None:
    """Delete the labels of an earlier command before its claims or reports are replaced."""
    try:
        (out / PLANTED).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{out / PLANTED}: cannot be written ({error.strerror or error})") from None


def read_planted_claims(out: Path) -> list[PlantedClaim]:
    """Read the claims that `write_claims` wrote. Raises InputError."""
    return [claim for _, claim in read_models(out / PLANTED, PlantedClaim)]


def read_planted_flaws(out: Path) -> list[PlantedFlaw]:
    """Read the flaws that `write_reports` wrote. Raises InputError."""
    return [flaw for _, flaw in read_models(out / PLANTED, PlantedFlaw)]


def claims_table(summary: ClaimsSummary) -> Table:
    """Return the table of kinds and languages: filled of wanted, and the lengths of the pages."""
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    languages = summary.settings.languages
    for language in languages:
        table.add_column(language, justify="right")
        for length in LENGTHS:
            table.add_column(length, justify="right")
    cells = {(cell.kind, cell.language): cell for cell in summary.cells}
    for kind in (*summary.settings.kinds, None):
        row: list[str] = []
        for language in languages:
            cell = cells[kind, language]
            row += [f"{cell.filled}/{cell.wanted}", *(str(n or "") for n in cell.by_length.values())]
        if kind is None:
            table.add_section()
        table.add_row(kind or "true", *row)
    return table


def claims_notes(summary: ClaimsSummary) -> Iterator[str]:
    """Yield notes on the table."""
    yield f"{count(summary.n_sentences, 'sentence')} to plant in on {count(summary.n_pages, 'page')}"
    others = ", ".join(f"{plain(name)} {n}" for name, n in summary.other_languages.items())
    if others:
        yield f"passed over, in other languages: {others}"
    missing: Counter[str] = Counter()
    for cell in summary.cells:
        missing[cell.language] += cell.wanted - cell.filled
    if missing.total():
        where = ", ".join(f"{language} {n}" for language, n in sorted(missing.items()) if n)
        yield f"not filled: {count(missing.total(), 'claim')} ({where}); the pages admit no more of these kinds"
    if summary.rejected:
        reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(summary.rejected.items()))
        yield f"left word for word: {reasons}"


def reports_table(summary: ReportsSummary) -> Table:
    """Return the table of perturbed reports by kind of flaw."""
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    table.add_column("perturbed", justify="right")
    table.add_column("no place", justify="right")
    refused = Counter(one.kind for one in summary.not_planted)
    for kind in summary.settings.kinds:
        table.add_row(kind, str(summary.perturbed_reports[kind]), str(refused[kind] or ""))
    return table


def reports_notes(summary: ReportsSummary) -> Iterator[str]:
    """Yield the reasons for missing perturbed reports."""
    for one in summary.not_planted:
        yield plain(f"{one.report}: no {one.kind}: {one.reason}")
    for report, reason in summary.unreadable.items():
        yield plain(f"{report}: {reason}")
