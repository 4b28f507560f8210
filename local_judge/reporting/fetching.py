"""Live progress and the final table of a fetch, by host.

Invariant: drawing costs the same however many pages are under way: the display reads counters twice a second. Host
names come from reports and are printed as plain text.
"""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from indexes.fetch.crawl import OUTCOMES, FetchReport, Tally
from local_judge.terminal import plain_table, safe

SHOWN_HOSTS = 10
"""Of thousands; those with the most left to do."""


class FetchProgress:
    """Context manager that shows how far a fetch is on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._tally: Tally | None = None
        self._console = Console(stderr=True)
        self._live = Live(
            console=self._console, get_renderable=self.table, refresh_per_second=2, transient=True
        )

    def __call__(self, tally: Tally) -> None:
        """Take the counters to show."""
        self._tally = tally

    def __enter__(self) -> FetchProgress:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the display away, so that another one can be shown. Idempotent."""
        if self._live.is_started:
            self._live.stop()

    def table(self) -> Table:
        """The hosts with the most left to do, and the sum over all."""
        table = _table()
        if self._tally is None:
            return table
        hosts = sorted(
            self._tally.hosts.items(), key=lambda entry: (entry[1].n_ended - entry[1].planned, entry[0])
        )
        for host, one in hosts[:SHOWN_HOSTS]:
            counts = [str(one.ended[outcome] or "") for outcome in OUTCOMES]
            table.add_row(safe(host, 40), f"{one.n_ended}/{one.planned}", *counts)
        ended = self._tally.ended
        table.add_section()
        table.add_row(
            f"{len(hosts)} hosts",
            f"{sum(ended.values())}/{self._tally.planned}",
            *(str(ended[outcome] or "") for outcome in OUTCOMES),
        )
        return table


def fetch_table(report: FetchReport) -> Table:
    """What a fetch brought, by host, those with most addresses first."""
    table = _table()
    hosts = sorted(report.hosts.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))
    for host, ended in hosts[:SHOWN_HOSTS]:
        table.add_row(safe(host, 40), str(sum(ended.values())), *_cells(ended))
    if len(hosts) > SHOWN_HOSTS:
        rest = [ended for _, ended in hosts[SHOWN_HOSTS:]]
        summed = {outcome: sum(ended.get(outcome, 0) for ended in rest) for outcome in OUTCOMES}
        table.add_row(f"{len(rest)} more hosts", str(sum(summed.values())), *_cells(summed))
    table.add_section()
    table.add_row("all", str(sum(report.outcomes.values())), *_cells(report.outcomes))
    return table


def _table() -> Table:
    table = plain_table()
    table.add_column("host", overflow="ellipsis")
    table.add_column("done", justify="right")
    for outcome in OUTCOMES:
        table.add_column(outcome.replace("_", " "), justify="right")
    return table


def _cells(ended: dict[str, int]) -> list[str]:
    return [str(ended.get(outcome) or "") for outcome in OUTCOMES]
