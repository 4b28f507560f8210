"""`local-judge snapshot fetch`: download of the pages that reports cite.

Invariants: only arguments and options decide which pages are requested, not the environment. A stopped command prints
that the same command continues. No option ignores robots.txt: a user who has permission to use a page saves it with
another tool and adds it with `snapshot import`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from indexes.fetch.settings import USER_AGENT, FetchSettings
from indexes.making.building import Progress
from indexes.making.fetching import Fetched, fetch_snapshot
from indexes.snapshot import Snapshot
from local_judge import __version__
from local_judge.base.errors import ConfigError, plain, problem_of
from local_judge.cli.options import AsJson, Options, Reports
from local_judge.cli.output import print_json, print_left_out
from local_judge.cli.snapshot.make import Workers, page_bar
from local_judge.reporting.fetching import FetchProgress, fetch_table
from local_judge.runs.execution.cited import collect_urls
from local_judge.terminal import stdout

_DEFAULTS = FetchSettings()
_NAMED = USER_AGENT.replace("local_judge", f"local_judge/{__version__}", 1)


Out = Annotated[Path, typer.Argument(help="New snapshot directory; the same command continues it.")]
Tasks = Annotated[
    list[Path] | None,
    typer.Option("--tasks", help="Fetch all addresses in this JSON or JSONL file; repeatable."),
]
Lists = Annotated[
    list[Path] | None,
    typer.Option(
        "--urls", help="Fetch the addresses in this file, one per line; # starts a comment; repeatable."
    ),
]
Wishes = Annotated[
    list[Path] | None,
    typer.Option(
        "--evidence-gaps",
        help="What agents did not find: an evidence-gaps file or a run directory; repeatable.",
    ),
]
Base = Annotated[
    Path | None,
    typer.Option("--base", help="Earlier snapshot; unchanged pages are not downloaded again."),
]


@dataclass(frozen=True, kw_only=True)
class FetchOptions(Options):
    """Options of how pages are requested."""

    user_agent: Annotated[
        str, typer.Option("--user-agent", help="User agent; robots.txt rules apply to the name at its start.")
    ] = _NAMED
    delay: Annotated[
        float, typer.Option("--delay", help="Minimum seconds between the starts of two requests to a host.")
    ] = _DEFAULTS.delay
    per_host: Annotated[
        int, typer.Option("--per-host", help="Maximum number of concurrent requests per host.")
    ] = _DEFAULTS.per_host
    concurrency: Annotated[
        int, typer.Option("--concurrency", help="Maximum number of concurrent requests.")
    ] = _DEFAULTS.concurrency
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", help="Maximum bytes per page, compressed and decompressed.")
    ] = _DEFAULTS.max_bytes
    timeout: Annotated[
        float, typer.Option("--timeout", help="Maximum seconds per request, with the complete response.")
    ] = _DEFAULTS.total_seconds
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", help="Test host (or host:port) that may have a private address; repeatable."
        ),
    ] = None
    render: Annotated[
        str | None,
        typer.Option(
            "--render", help="Render pages that scripts generate with this Chromium; `auto` finds one."
        ),
    ] = None
    render_sandbox: Annotated[
        bool, typer.Option("--render-sandbox/--no-render-sandbox", help="Use Chromium's sandbox.")
    ] = True

    def settings(self) -> FetchSettings:
        """Return the fetch settings for the given options.

        Raises:
            ConfigError: a value is invalid for its option.
        """
        given = {
            "user_agent": self.user_agent,
            "delay": self.delay,
            "per_host": self.per_host,
            "concurrency": self.concurrency,
            "max_bytes": self.max_bytes,
            "max_decoded_bytes": self.max_bytes,
            "total_seconds": self.timeout,
            "allow_hosts": tuple(self.allow_host or ()),
            "render": self.render,
            "render_sandbox": self.render_sandbox,
        }
        try:
            return FetchSettings.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            field = str(first["loc"][0])
            named = {"total_seconds": "timeout", "allow_hosts": "allow-host"}
            option, problem = named.get(field, field.replace("_", "-")), problem_of(first)
            raise ConfigError(f"--{option}{' ' if problem.startswith('must ') else ': '}{problem}") from None


def fetch(
    out: Out,
    options: FetchOptions,
    reports: Reports = None,
    tasks: Tasks = None,
    urls: Lists = None,
    evidence_gaps: Wishes = None,
    base: Base = None,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Fetch the pages that reports cite into a snapshot: each page once, at a polite rate."""
    settings = options.settings()
    cited = collect_urls(reports or (), tasks or (), urls or (), evidence_gaps or ())
    print_left_out(reports or ())
    earlier = None if base is None else Snapshot.open(base)
    with resumable(out), fetch_displays() as (fetched, built):
        done = asyncio.run(
            fetch_snapshot(
                cited.urls, out, settings, base=earlier, fetched=fetched, built=built, workers=workers
            )
        )
    for place, reason in cited.unreadable:
        sys.stderr.write(f"Not read: {plain(f'{place}: {reason}')}\n")
    for query in cited.queries:
        sys.stderr.write(f"A query cannot be fetched: {plain(query)}\n")
    show_fetch(done, out, as_json)


@contextmanager
def resumable(out: Path) -> Generator[None]:
    """Let Ctrl-C end the enclosed work with exit code 130 and a line that says how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(
            f"Stopped. Finished pages are stored next to {out}; run the same command to continue.\n"
        )
        raise SystemExit(130) from None


@contextmanager
def fetch_displays() -> Generator[tuple[FetchProgress, Progress]]:
    """Yield the progress displays of a fetch and of the extraction after it."""
    with FetchProgress() as progress, page_bar() as built:

        def tell_built(done: int, total: int) -> None:
            progress.stop()
            built(done, total)

        yield progress, tell_built


def show_fetch(done: Fetched, out: Path, as_json: bool, **more: object) -> None:
    """Print the results of a fetch. Exit with code 3 if another run may fetch more pages.

    Args:
        done: result of the fetch.
        out: the snapshot.
        as_json: print JSON.
        more: further fields of the JSON.
    """
    report = done.report
    for title, wrong in (("No address", report.not_addresses), ("Failed", report.failed)):
        for one in wrong:
            sys.stderr.write(f"{title}: {plain(f'{one.url}: {one.reason}')}\n")
    if as_json:
        digest = None if done.manifest is None else done.manifest.digest
        print_json({"snapshot": digest, **more, **report.model_dump(mode="json")})
    else:
        stdout().print(fetch_table(report))
        print(
            f"{report.n_given} spellings of {report.n_different} addresses, {report.n_done_before} fetched before; "
            f"{report.n_requests} requests"
        )
        if done.manifest is not None:
            statuses = ", ".join(f"{status} {count}" for status, count in done.manifest.statuses.items())
            print(f"{plain(str(out))}: {statuses} after extraction; digest {done.manifest.digest}")
            if done.manifest.statuses.get("ok", 0) < done.manifest.n_pages:
                print(
                    "`snapshot page` lists the reasons; a fetch to another directory with --base tries again"
                )
    if done.manifest is None:
        sys.stderr.write(
            "All other pages are stored. The same command retries the failed pages and makes the snapshot.\n"
        )
        raise SystemExit(3)
