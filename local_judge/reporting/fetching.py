"""Progress and final table of a fetch, by host.

Invariant: drawing costs the same however many pages are under way: the display reads counters twice a second. Host
names come from reports and are printed as plain text.
"""

from __future__ import annotations

import contextlib
from types import TracebackType

from rich.console import Console
from rich.live import Live

from indexes.fetch.crawl import OUTCOMES, FetchReport, Tally
from local_judge.base.output import Table, is_quiet, shorten
from local_judge.reporting.progress import Lines
from local_judge.terminal import render_table

SHOWN_HOSTS = 10
"""Most hosts with a row: those with the most left to do."""


class FetchProgress:
    """Context manager that shows how far a fetch is: hosts in a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._tally: Tally | None = None
        console = Console(stderr=True)
        self._shown: Live | Lines = (
            Live(
                console=console,
                get_renderable=lambda: render_table(self.table()),
                refresh_per_second=2,
                transient=True,
            )
            if console.is_terminal and not is_quiet()
            else Lines(self.line)
        )
        self._display = contextlib.ExitStack()

    def __call__(self, tally: Tally) -> None:
        """Take the counters to show."""
        self._tally = tally

    def __enter__(self) -> FetchProgress:
        self._display.enter_context(self._shown)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the display away, so that another one can be shown. Idempotent."""
        self._display.close()

    def line(self) -> str:
        """Return `12/60 pages fetched: page 11, dead 1`."""
        if self._tally is None:
            return "0 pages fetched"
        ended = self._tally.ended
        outcomes = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in ended.items() if n)
        return (
            f"{sum(ended.values())}/{self._tally.planned} pages fetched{': ' if outcomes else ''}{outcomes}"
        )

    def table(self) -> Table:
        """Return the hosts with the most left to do, and the sum over all."""
        table = _table()
        if self._tally is None:
            return table
        hosts = sorted(
            self._tally.hosts.items(), key=lambda entry: (entry[1].n_ended - entry[1].planned, entry[0])
        )
        for host, one in hosts[:SHOWN_HOSTS]:
            counts = [str(one.ended[outcome] or "") for outcome in OUTCOMES]
            table.add_row(shorten(host, 40), f"{one.n_ended}/{one.planned}", *counts)
        ended = self._tally.ended
        table.add_section()
        table.add_row(
            f"{len(hosts)} hosts",
            f"{sum(ended.values())}/{self._tally.planned}",
            *(str(ended[outcome] or "") for outcome in OUTCOMES),
        )
        return table


def fetch_table(report: FetchReport) -> Table:
    """Return the outcomes of a fetch by host, those with most addresses first."""
    table = _table()
    hosts = sorted(report.hosts.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))
    for host, ended in hosts[:SHOWN_HOSTS]:
        table.add_row(shorten(host, 40), str(sum(ended.values())), *_cells(ended))
    if len(hosts) > SHOWN_HOSTS:
        rest = [ended for _, ended in hosts[SHOWN_HOSTS:]]
        summed = {outcome: sum(ended.get(outcome, 0) for ended in rest) for outcome in OUTCOMES}
        table.add_row(f"{len(rest)} more hosts", str(sum(summed.values())), *_cells(summed))
    table.add_section()
    table.add_row("all", str(sum(report.outcomes.values())), *_cells(report.outcomes))
    return table


def _table() -> Table:
    return Table("", ("host",), ("done", *(outcome.replace("_", " ") for outcome in OUTCOMES)))


def _cells(ended: dict[str, int]) -> list[str]:
    return [str(ended.get(outcome) or "") for outcome in OUTCOMES]
