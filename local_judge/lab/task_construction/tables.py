"""Tables of builds for the terminal.

Invariant: all tasks of every domain are counted; texts of judges and people are printed as plain text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.base.errors import plain
from local_judge.base.output import NONE, count
from local_judge.lab.task_construction.model import AuditRow
from local_judge.lab.task_construction.outcome import DomainCounts, Outcome
from local_judge.terminal import safe

_COLUMNS = ("expected", "made", "qualified", "necessary", "unique", "kept", "dropped", "failed")


def build_table(counts: Sequence[DomainCounts]) -> Table:
    """Return the table of domains and stages, in numbers of tasks."""
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("domain", no_wrap=True)
    columns = [*_COLUMNS, *(["open"] if any(row.open for row in counts) else [])]
    for name in columns:
        table.add_column(name, justify="right")
    for row in counts:
        numbers = [str(getattr(row, name)) for name in columns]
        table.add_row(safe(row.domain, 40) or NONE, *numbers)
    table.add_section()
    table.add_row("all", *(str(sum(getattr(row, name) for row in counts)) for name in columns), style="bold")
    return table


def build_notes(outcome: Outcome) -> Iterator[str]:
    """Yield notes on the table, one line each."""
    if not outcome.counts:
        yield "nothing is made yet: the build was stopped in its first stage; run the same command again to continue"
    reasons: dict[tuple[str, str, str], int] = {}
    for row in outcome.audit:
        key = row.outcome, row.stage, ", ".join(row.reasons)
        reasons[key] = reasons.get(key, 0) + row.n_tasks
    for (ended, stage, why), number in reasons.items():
        yield plain(f"{count(number, 'task')} {ended} in {stage}: {why}")
    for one in outcome.conditions:
        yield f"{one.met} of {one.of} {one.says}"
    n_open = sum(row.open for row in outcome.counts)
    if n_open:
        yield f"{count(n_open, 'task')} undecided: the build was stopped; run the same command again to continue"
    if outcome.n_voters:
        yield f"ranked by {count(outcome.n_voters, 'person', 'people')}"
    n_judged = sum(one.tasks for one in outcome.approvals)
    for one in outcome.approvals:
        share = f"{one.tasks} of {count(n_judged, 'task')} ({100 * one.tasks / n_judged:.0f} %)"
        yield f"approved by {one.approvals} of {count(one.of, 'person', 'people')}: {share}"
    if n_judged:
        n_most = sum(one.tasks for one in outcome.approvals if 2 * one.approvals > one.of)
        share = f"{n_most} of {count(n_judged, 'task')} ({100 * n_most / n_judged:.0f} %)"
        yield f"approved by most of the people who judged them: {share}"


def audit_lines(audit: Sequence[AuditRow]) -> Iterator[str]:
    """Yield every task that is not kept, with its stage and reasons."""
    for row in audit:
        several = f" ({count(row.n_tasks, 'task')})" if row.n_tasks > 1 else ""
        yield plain(f"{row.id}{several}: {row.outcome} in {row.stage}: {', '.join(row.reasons)}: {row.says}")
