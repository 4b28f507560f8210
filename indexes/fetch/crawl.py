"""Many cited addresses fetched: each once, politely, into a sink.

Invariant: what reaches the sink is whole, and is committed when the sink returns; between two captures there is no
state that a kill could lose. The order of asking follows from the addresses alone: hosts in turn, each host's addresses
sorted. What is stored for an address does not depend on when its turn came, but for time stamps.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import get_args
from urllib.parse import urlsplit

from indexes.archive.model import Capture, Outcome
from indexes.fetch.client import Client, utc_now
from indexes.fetch.faults import one_line
from indexes.fetch.page import PageFetcher, Previous, Renderer
from indexes.fetch.politeness import Asker
from indexes.fetch.render import open_renderer
from indexes.fetch.resolver import Resolver, SystemResolver
from indexes.fetch.robots import Robots
from indexes.fetch.settings import FetchSettings
from indexes.urls import UrlError, normalise_url
from local_judge.base.model import Frozen

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Store = Callable[[Capture], None]
"""Keeps a capture; it is committed when this returns. Called in the event loop's thread, one at a time."""


@dataclass
class HostTally:
    """Progress of one host."""

    planned: int = 0
    ended: Counter[Outcome] = field(default_factory=Counter[Outcome])

    @property
    def n_ended(self) -> int:
        """Addresses that have an outcome."""
        return sum(self.ended[outcome] for outcome in OUTCOMES)


class Tally:
    """Progress of a run by host, in alphabetical order."""

    def __init__(self, planned: Mapping[str, int]) -> None:
        self.hosts = {host: HostTally(planned[host]) for host in sorted(planned)}

    @property
    def planned(self) -> int:
        """Addresses to be asked for in this run."""
        return sum(tally.planned for tally in self.hosts.values())

    @property
    def ended(self) -> dict[Outcome, int]:
        """Addresses by outcome, so far; every outcome is there. May be read from another thread."""
        return {outcome: sum(tally.ended[outcome] for tally in self.hosts.values()) for outcome in OUTCOMES}


Progress = Callable[[Tally], None]
"""Called at the start and after each capture was stored."""


class NotFetched(Frozen):
    """An address without a capture, and why."""

    url: str
    reason: str


class FetchReport(Frozen):
    """Result of a run. Counts refer to this run only."""

    n_given: int
    """Addresses given, however often."""
    n_different: int
    """After normalisation."""
    n_done_before: int
    n_requests: int
    """Sent, with redirects, repetitions and robots.txt; without what a browser loads."""
    outcomes: dict[str, int]
    hosts: dict[str, dict[str, int]]
    """Outcomes by host, in alphabetical order."""
    not_addresses: tuple[NotFetched, ...]
    """Texts that are no http or https address."""
    failed: tuple[NotFetched, ...]
    """Addresses on which the fetcher itself failed; nothing is stored for them, so another run tries again."""


@dataclass(frozen=True)
class Plan:
    """Addresses to request."""

    by_host: dict[str, list[str]]
    """Addresses as they will be asked for, sorted, by host in alphabetical order."""
    n_given: int
    n_different: int
    n_done: int
    not_addresses: tuple[NotFetched, ...]


def plan(urls: Iterable[str], done: Container[str] = ()) -> Plan:
    """One address for all that are the same once normalised: the shortest, https before http.

    Args:
        urls: as cited.
        done: normalised addresses that are not to be asked for.
    """
    spellings: dict[str, str] = {}
    wrong: dict[str, NotFetched] = {}
    n_given = 0
    for url in urls:
        n_given += 1
        try:
            key = normalise_url(url)
        except UrlError as error:
            wrong[url] = NotFetched(url=url[:300], reason=one_line(str(error)))
            continue
        spellings[key] = min(url.strip(), spellings.get(key, url.strip()), key=_preference)
    wanted = sorted(key for key in spellings if key not in done)
    by_host: dict[str, list[str]] = {}
    for key in wanted:
        by_host.setdefault(urlsplit(key).hostname or "", []).append(spellings[key])
    return Plan(
        by_host={host: by_host[host] for host in sorted(by_host)},
        n_given=n_given,
        n_different=len(spellings),
        n_done=len(spellings) - len(wanted),
        not_addresses=tuple(wrong[url] for url in sorted(wrong)),
    )


def _preference(url: str) -> tuple[bool, int, str]:
    return url[:5].lower() == "http:", len(url), url


async def fetch_pages(
    urls: Iterable[str],
    settings: FetchSettings,
    *,
    store: Store,
    done: Container[str] = (),
    previous: Previous = lambda _: None,
    progress: Progress = lambda _: None,
    resolver: Resolver | None = None,
    now: Callable[[], datetime] = utc_now,
) -> FetchReport:
    """Fetch addresses, each once, and hand every capture to `store`.

    Cancelling it (Ctrl-C) ends the requests under way; what was stored is whole, and the same call with `done`
    goes on with the rest.

    Args:
        urls: as cited, in any order, with any repetitions.
        settings: bounds and manners.
        store: keeps a capture durably.
        done: normalised addresses (`indexes.urls.normalise_url`) that have a capture already.
        previous: the exchanges of an earlier snapshot, for conditional requests (see `page.Previous`).
        progress: told how far it is.
        resolver: looks names up; by default the operating system.
        now: the clock of the time stamps.

    Returns:
        Counts, and what could not be asked for.

    Raises:
        FetchError: the browser of `settings.render` cannot be used.
        Exception: what `store` or `progress` raised; nothing is asked for after that.
    """
    planned = plan(urls, done)
    tally = Tally({host: len(cited) for host, cited in planned.by_host.items()})
    failed: list[NotFetched] = []
    resolver = resolver or SystemResolver()
    async with open_renderer(settings, resolver, now) as renderer:
        client = Client(settings, resolver, now)
        asker = Asker(client, settings)
        try:
            progress(tally)
            fetcher = _fetcher(asker, settings, previous, renderer, now)
            await _run(planned, settings.per_host, fetcher, _sink(store, tally, progress), failed)
        finally:
            await client.aclose()
    ended = tally.ended
    return FetchReport(
        n_given=planned.n_given,
        n_different=planned.n_different,
        n_done_before=planned.n_done,
        n_requests=asker.n_requests,
        outcomes={outcome: ended[outcome] for outcome in OUTCOMES if ended[outcome]},
        hosts={
            host: {outcome: one.ended[outcome] for outcome in OUTCOMES if one.ended[outcome]}
            for host, one in tally.hosts.items()
        },
        not_addresses=planned.not_addresses,
        failed=tuple(sorted(failed, key=lambda one: one.url)),
    )


def _fetcher(
    asker: Asker,
    settings: FetchSettings,
    previous: Previous,
    renderer: Renderer | None,
    now: Callable[[], datetime],
) -> PageFetcher:
    return PageFetcher(asker, Robots(asker, settings), settings, previous, renderer, now)


def _sink(store: Store, tally: Tally, progress: Progress) -> Callable[[str, Capture], None]:
    def keep(host: str, capture: Capture) -> None:
        store(capture)
        tally.hosts[host].ended[capture.outcome] += 1
        progress(tally)

    return keep


async def _run(
    planned: Plan,
    per_host: int,
    fetcher: PageFetcher,
    keep: Callable[[str, Capture], None],
    failed: list[NotFetched],
) -> None:
    """A few workers a host; between hosts, the places are given out in the order of asking, so in turn."""

    async def work(host: str, queue: deque[str]) -> None:
        while queue:
            url = queue.popleft()
            try:
                capture = await fetcher.fetch(url)
            except (
                Exception
            ) as error:  # one strange page must not end a run of thousands; it is named in the report
                failed.append(NotFetched(url=url, reason=one_line(f"{type(error).__name__}: {error}")))
                continue
            keep(host, capture)

    try:
        async with asyncio.TaskGroup() as group:
            for host, cited in planned.by_host.items():
                queue = deque(cited)
                for _ in range(min(per_host, len(cited))):
                    group.create_task(work(host, queue))
    except BaseExceptionGroup as several:
        # All come from the sink; its first one says what is wrong, to those who know its errors.
        raise several.exceptions[0] from None
