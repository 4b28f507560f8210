"""Tables of planted claims and flaws for the terminal.

Invariant: missing claims are shown next to planted ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.table import Table

from local_judge.base.errors import plain
from local_judge.lab.planting.commands import ClaimsSummary, ReportsSummary
from local_judge.lab.planting.model import LENGTHS
from local_judge.terminal import count


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
