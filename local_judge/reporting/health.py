"""Words and tables for how much of the reports' citations was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from local_judge.base.output import Table, count, shorten
from local_judge.documents.health import Problem, ProblemKind, ReportHealth
from local_judge.terminal import safe


class CheckedReport(NamedTuple):
    """Report with its health."""

    id: str
    format: str
    """Ending of the file that it comes from."""
    health: ReportHealth


_NAMES: dict[ProblemKind, str] = {
    "uncited_list": "list entries without a mark",
    "dangling_marks": "marks without a list entry",
    "marks_without_address": "marks of list entries without an address",
    "unread_marks": "marks of an unknown style",
    "entries_in_text": "list entries at the end of the text",
}


def problem_text(problem: Problem) -> str:
    """Return a problem in words, such as `marks without a list entry: 2 of 314`."""
    of = f" of {problem.of:,}" if problem.of else ""
    return f"{_NAMES[problem.kind]}: {problem.n:,}{of}"


_COLUMNS: dict[str, Callable[[ReportHealth], int]] = {
    "sentences": lambda health: health.n_sentences,
    "marks": lambda health: sum(health.marks.values()),
    "resolved": lambda health: health.n_resolved,
    "no list entry": lambda health: sum(health.dangling.values()),
    "no address": lambda health: health.n_without_address,
    "unknown style": lambda health: sum(health.unread.values()),
    "list entries": lambda health: health.n_entries,
    "never cited": lambda health: health.n_uncited,
    "in the text": lambda health: health.n_entries_in_text,
}


def health_table(reports: Sequence[CheckedReport]) -> Table:
    """Return one row for each report and, for several, their sums."""
    found = Table("", ("report", "format", "language"), tuple(_COLUMNS))

    def add(names: Sequence[str], own: Sequence[CheckedReport], *, bold: bool = False) -> None:
        numbers = (sum(of(one.health) for one in own) for of in _COLUMNS.values())
        found.add_row(*names, *map("{:,}".format, numbers), bold=bold)

    for one in reports:
        add((shorten(one.id, 40), one.format, one.health.language), [one])
    if len(reports) > 1:
        found.add_section()
        add((count(len(reports), "report"), "", ""), reports, bold=True)
    return found


def health_lines(reports: Sequence[CheckedReport]) -> Iterator[str]:
    """Yield formats, languages and marks of all reports, counted, and a line for each report with problems."""
    counts: dict[str, Counter[str]] = {
        "format": Counter(one.format for one in reports),
        "language": Counter(one.health.language for one in reports),
    }
    for name in ("marks", "dangling", "unread"):
        counts[name] = Counter()
        for one in reports:
            counts[name].update(getattr(one.health, name))
    for name, found in counts.items():
        if found:
            yield f"{name}: " + ", ".join(f"{key} {n:,}" for key, n in sorted(found.items()))
    for one in reports:
        if one.health.problems:
            yield f"{safe(one.id, 40)}: {'; '.join(map(problem_text, one.health.problems))}"
