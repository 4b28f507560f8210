"""Terminal tables of LiveResearchBench: requirements with what decided them, issues with their fate, cited pages.

Invariant: as in `reporting.tables`; a quotation that the report does not have is shown as such, and so is each place
that code found.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from local_judge.protocols.items import Item
from local_judge.protocols.liveresearchbench import LrbFindings
from local_judge.protocols.liveresearchbench.accuracy.findings import AccuracyFindings
from local_judge.protocols.liveresearchbench.issues.findings import Issue, IssueFindings
from local_judge.reporting.depth import depth_line, depth_table
from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe

SHOWN_PLACES = 20
"""Places of one requirement that are listed; the others are counted."""


def lrb_lines(findings: LrbFindings) -> Iterator[str]:
    """What was found by each metric, one line each."""
    if findings.presentation is not None:
        checks = findings.presentation.checks
        coded = sum(check.by == "code" for check in checks)
        yield f"presentation: {_statuses(checks)}; {coded} of {len(checks)} decided by code"
    if findings.coverage is not None:
        found = findings.coverage
        yield f"coverage: {_statuses(found.items)}; checklist {found.status}, joined by {found.joined}"
    for issues in (findings.consistency, findings.citation):
        if issues is not None:
            yield f"{issues.metric}: {_fates(issues)}"
    if findings.accuracy is not None:
        yield f"accuracy: {_pages(findings.accuracy)}"
    if findings.depth is not None:
        yield depth_line(findings.depth)


def lrb_tables(findings: LrbFindings) -> Iterator[Table]:
    """All that the scores rest on."""
    items = [
        *(findings.presentation.checks if findings.presentation else ()),
        *(findings.coverage.items if findings.coverage else ()),
    ]
    if items:
        yield _item_table(items)
    for issues in (findings.consistency, findings.citation):
        if issues is not None and issues.issues:
            yield _issue_table(issues)
    if findings.accuracy is not None and findings.accuracy.pages:
        yield _page_table(findings.accuracy)
    if findings.depth is not None and findings.depth.pairs:
        yield depth_table(findings.depth)


def _statuses(items: tuple[Item, ...]) -> str:
    names = ("met", "unmet", "not_applicable", "failed")
    counts = {name: sum(item.status == name for item in items) for name in names}
    parts = [f"{n} {name.replace('_', ' ')}" for name, n in counts.items() if n]
    rejected = sum(item.quote_rejected is not None for item in items)
    return ", ".join(parts) + (f"; {count(rejected, 'quotation')} not in the report" if rejected else "")


def _fates(found: IssueFindings) -> str:
    if found.failure is not None:
        return f"failed: {found.failure.kind}"
    fates = [f"{found.count(fate)} {fate}" for fate in ("counted", "rejected", "covered", "repeated")]
    misplaced = f"; {count(found.n_misplaced, 'misplaced citation')}" if found.n_misplaced else ""
    full = f"; the list is full at {found.limit}" if found.full else ""
    return f"{count(len(found.issues), 'issue')} listed ({', '.join(fates)}){misplaced}{full}"


def _pages(found: AccuracyFindings) -> str:
    statuses = [page.status for page in found.pages]
    by_status = [f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses)]
    off = sum(page.on_topic is False for page in found.pages)
    return f"{count(len(statuses), 'cited page')} ({', '.join(by_status) or 'none'}), {off} off topic"


def _table(*columns: str) -> Table:
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _item_table(items: list[Item]) -> Table:
    table = _table("id", "requirement", "found", "why")
    for item in items:
        found = item.status.replace("_", " ") + (" (code)" if item.by == "code" else "")
        table.add_row(safe(item.id), safe(item.text), found, _why(item))
    return table


def _why(item: Item) -> str:
    if item.failure is not None:
        return f"failed: {item.failure.kind}"
    lines = [safe(item.rationale)] if item.rationale else []
    lines += [f"{place.label}: {safe(place.what)}" for place in item.places[:SHOWN_PLACES]]
    if len(item.places) > SHOWN_PLACES:
        lines.append(f"and {len(item.places) - SHOWN_PLACES} more")
    if item.quote is not None:
        lines.append(f'"{safe(item.quote.text)}"')
    if item.quote_rejected is not None:
        lines.append(f'not in the report: "{safe(item.quote_rejected)}"')
    return "\n".join(lines)


def _issue_table(found: IssueFindings) -> Table:
    table = _table(found.metric, "fate", "quoted", "reason")
    for number, issue in enumerate(found.issues, 1):
        quoted = "\n".join(f'"{safe(words)}"' for words in issue.quoted)
        if issue.cited:
            quoted += f"\nmisplaced: {safe(issue.cited)}"
        table.add_row(str(number), _fate(issue), quoted, safe(issue.reason))
    return table


def _fate(issue: Issue) -> str:
    if issue.of is not None:
        return f"{issue.fate}: as {issue.of + 1}"
    return f"{issue.fate}: {', '.join(issue.covered_by)}" if issue.covered_by else issue.fate


def _page_table(found: AccuracyFindings) -> Table:
    table = _table("cited page", "status", "on topic", "claims")
    for page in found.pages:
        own = [claim.label or "no verdict" for claim in found.claims if claim.url == page.url]
        topic = NONE if page.on_topic is None else "yes" if page.on_topic else "no"
        failed = f"failed: {page.failure.kind}" if page.failure is not None else topic
        claims = ", ".join(f"{own.count(label)} {label}" for label in dict.fromkeys(own))
        table.add_row(safe(page.url), page.status, failed, claims or NONE)
    return table
