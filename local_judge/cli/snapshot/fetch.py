"""`local-judge snapshot fetch`: the pages that reports cite, asked for once.

Invariant: what the command was told, and nothing of the environment, decides what is asked for; whoever stops it is
told that the same command goes on. There is no switch that passes robots.txt over: who may have a page all the same
saves it by other means, and brings it in with `snapshot import`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from indexes.fetch.settings import USER_AGENT, FetchSettings
from indexes.making.fetching import Fetched, fetch_snapshot
from indexes.snapshot import Snapshot
from local_judge import __version__
from local_judge.cli.options import AsJson, Reports
from local_judge.cli.output import print_json
from local_judge.cli.snapshot.make import Workers, page_bar
from local_judge.errors import ConfigError, plain
from local_judge.reporting.fetching import FetchProgress, fetch_table
from local_judge.runs.cited import Cited, collect_urls
from local_judge.terminal import stdout

_DEFAULTS = FetchSettings()
_NAMED = USER_AGENT.replace("local_judge", f"local_judge/{__version__}", 1)


Out = Annotated[Path, typer.Argument(help="The snapshot directory to make; the same command continues it.")]
Tasks = Annotated[
    list[Path] | None,
    typer.Option("--tasks", help="Fetch all addresses in this JSON or JSONL file; repeatable."),
]
Lists = Annotated[
    list[Path] | None,
    typer.Option("--urls", help="Fetch the addresses in this file, one a line, # for comments; repeatable."),
]
Wishes = Annotated[
    list[Path] | None,
    typer.Option(
        "--evidence-gaps",
        help="Fetch the pages that agents missed: an evidence-gaps file, or a run's directory; repeatable.",
    ),
]
Base = Annotated[
    Path | None,
    typer.Option("--base", help="An earlier snapshot: pages that did not change are not sent again."),
]
UserAgent = Annotated[
    str, typer.Option("--user-agent", help="Starts with the name that robots.txt is searched for.")
]
Delay = Annotated[
    float, typer.Option("--delay", help="Seconds between the starts of two requests to a host.")
]
PerHost = Annotated[int, typer.Option("--per-host", help="Requests under way to one host.")]
Concurrency = Annotated[int, typer.Option("--concurrency", help="Requests under way in all.")]
MaxBytes = Annotated[
    int, typer.Option("--max-bytes", help="Most bytes of one page, as sent and as unpacked.")
]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds for one request with its whole answer.")]
AllowHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host", help="A test host (or host:port) that may have a private address; repeatable."
    ),
]
Render = Annotated[
    str | None,
    typer.Option("--render", help="Run scripts that write a page in this Chromium; `auto` finds one."),
]
Sandbox = Annotated[
    bool, typer.Option("--render-sandbox/--no-render-sandbox", help="Chromium's own sandbox.")
]


def fetch(
    out: Out,
    reports: Reports = None,
    tasks: Tasks = None,
    urls: Lists = None,
    evidence_gaps: Wishes = None,
    base: Base = None,
    user_agent: UserAgent = _NAMED,
    delay: Delay = _DEFAULTS.delay,
    per_host: PerHost = _DEFAULTS.per_host,
    concurrency: Concurrency = _DEFAULTS.concurrency,
    max_bytes: MaxBytes = _DEFAULTS.max_bytes,
    timeout: Timeout = _DEFAULTS.total_seconds,
    allow_host: AllowHosts = None,
    render: Render = None,
    render_sandbox: Sandbox = True,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Fetch the pages that reports cite, politely and once, into a snapshot."""
    settings = make_settings(
        user_agent=user_agent,
        delay=delay,
        per_host=per_host,
        concurrency=concurrency,
        max_bytes=max_bytes,
        max_decoded_bytes=max_bytes,
        total_seconds=timeout,
        allow_hosts=tuple(allow_host or ()),
        render=render,
        render_sandbox=render_sandbox,
    )
    cited = collect_urls(reports or (), tasks or (), urls or (), evidence_gaps or ())
    earlier = None if base is None else Snapshot.open(base)
    try:
        done = _fetched(cited, out, settings, earlier, workers)
    except KeyboardInterrupt:
        sys.stderr.write(f"Stopped. Every finished page is kept beside {out}; the same command goes on.\n")
        raise SystemExit(130) from None
    _show(done, cited, out, as_json)


def make_settings(**chosen: Any) -> FetchSettings:
    """Settings from options.

    Raises:
        ConfigError: a value that is none for its option.
    """
    try:
        return FetchSettings.model_validate(chosen)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        option = {"total_seconds": "timeout", "allow_hosts": "allow-host"}.get(field, field.replace("_", "-"))
        raise ConfigError(f"--{option}: {first['msg']}, not {first['input']!r}") from None


def _fetched(
    cited: Cited, out: Path, settings: FetchSettings, base: Snapshot | None, workers: int
) -> Fetched:
    """Fetch and build, showing how far both are."""
    with FetchProgress() as progress, page_bar() as built:

        def tell_built(done: int, total: int) -> None:
            progress.stop()
            built(done, total)

        fetching = fetch_snapshot(
            cited.urls, out, settings, base=base, fetched=progress, built=tell_built, workers=workers
        )
        return asyncio.run(fetching)


def _show(done: Fetched, cited: Cited, out: Path, as_json: bool) -> None:
    """Print what a fetch did; end with 3 if something is left that another run may bring."""
    report = done.report
    for place, reason in cited.unreadable:
        sys.stderr.write(f"Not read: {plain(f'{place}: {reason}')}\n")
    for query in cited.queries:
        sys.stderr.write(f"A query cannot be fetched: {plain(query)}\n")
    for title, wrong in (("No address", report.not_addresses), ("Failed", report.failed)):
        for one in wrong:
            sys.stderr.write(f"{title}: {plain(f'{one.url}: {one.reason}')}\n")
    if as_json:
        digest = None if done.manifest is None else done.manifest.digest
        print_json({"snapshot": digest, **report.model_dump(mode="json")})
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
                print("`snapshot pages` says why; a fetch into another directory with --base asks again")
    if done.manifest is None:
        sys.stderr.write(
            "The rest is kept; the same command tries again those that failed, and makes the snapshot.\n"
        )
        raise SystemExit(3)
