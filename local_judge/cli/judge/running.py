"""`local-judge judge up`, `status` and `down`: judges on vLLM servers of this machine."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console

from local_judge.base.errors import ConfigError, plain
from local_judge.base.output import NONE
from local_judge.cli.faults import collect_loops
from local_judge.cli.judge.presets import JudgeName, fetched
from local_judge.cli.judging import AllowPresetCode
from local_judge.cli.options import AsJson, DryRun
from local_judge.cli.output import print_json
from local_judge.runs.execution.judges import say
from local_judge.terminal import plain_table, safe, stdout
from serving.gpus import check_accelerator, visible_gpus
from serving.judge_records import recorded, sharing, status
from serving.launch import Wanted, check_served, command_line, plan_replicas
from serving.presets import Preset, load_preset
from serving.processes import stopping_on_signals
from serving.running import Started, down, hold, server_name, up
from serving.weights import has_weights


def up_(
    judge: JudgeName,
    gpus: Annotated[
        str | None,
        typer.Option(
            "--gpus",
            metavar="N|IDS",
            show_default="all that no judge uses",
            help="Number of GPUs, or their ids with commas, such as 0,1; `2,` is GPU 2 alone.",
        ),
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave the servers running and return when they are healthy.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = Wanted().host,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            show_default="the first free ports from 8000 on",
            help="Port of the first server; each further server gets the next port.",
        ),
    ] = None,
    start_within: Annotated[
        float, typer.Option("--start-within", min=0.1, help="Time limit of the start in minutes.")
    ] = Wanted().seconds / 60,
    allow_preset_code: AllowPresetCode = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Start a judge's vLLM servers, one per group of GPUs, and fetch its weights if need be. Ctrl-C stops them.

    Prints the URL of each server when all are healthy. Commands with --judge find the servers by themselves.
    """
    preset = load_preset(judge).allowing_code(allow_preset_code)
    wanted = Wanted(gpus, host, port, 60 * start_within)
    if dry_run:
        lines = [command_line(preset, place) for place in plan_replicas(preset, wanted)]
        if as_json:
            print_json({"judge": preset.name, "commands": lines})
        else:
            print("\n".join(lines))
        return
    check_served(preset)
    if not has_weights(preset):
        check_accelerator(preset, visible_gpus())
        fetched(preset)
    try:
        asyncio.run(_up(preset, wanted, detach, as_json))
        return
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    collect_loops()


async def _up(preset: Preset, wanted: Wanted, detach: bool, as_json: bool) -> None:
    name = server_name(preset)
    console = Console(stderr=True)
    with stopping_on_signals():
        async with sharing(name):
            with console.status(f"starting {safe(name)}") as shown:

                def progress(seconds: float, line: str) -> None:
                    shown.update(f"starting {safe(name)}, {seconds:.0f} s: {safe(line, 80)}")

                started = await up(
                    preset,
                    wanted,
                    detached=detach,
                    progress=progress,
                    tell=say,
                )
            _say(started, detach, as_json)
            if detach or started.reused:
                return
            try:
                await hold(started.judge)
            finally:
                down(name)


def _say(started: Started, detach: bool, as_json: bool) -> None:
    judge = started.judge
    if as_json:
        print_json({"reused": started.reused, **judge.model_dump(mode="json")})
        sys.stdout.flush()
    for one in judge.replicas:
        if not as_json:
            print(one.place.base_url, flush=True)
        gpus = f"GPU {','.join(one.place.gpus)}, " if one.place.gpus else ""
        sys.stderr.write(f"{plain(judge.name)}: {one.place.base_url} ({gpus}log: {plain(str(one.log))})\n")
    stop = f"`local-judge judge down {plain(judge.name)}` stops it"
    how = f"ran already; {stop}" if started.reused else f"is ready; {stop if detach else 'Ctrl-C stops it'}"
    sys.stderr.write(f"{plain(judge.name)} {how}. Use it with --judge {plain(judge.name)}\n")


def status_(as_json: AsJson = False) -> None:
    """List the running judges: health, GPUs, requests and KV cache of each server."""
    found = status()
    if as_json:
        print_json(found)
        return
    if not found:
        sys.stderr.write("no judge is running; start one: local-judge judge up NAME\n")
        return
    table = plain_table(
        texts=("judge", "server", "state", "GPUs"), numbers=("running", "waiting", "KV cache", "up", "pid")
    )
    for judge in found:
        minutes = int((datetime.now(UTC) - judge.since).total_seconds() // 60)
        for one in judge.replicas:
            table.add_row(
                safe(judge.name),
                one.base_url,
                one.state if one.state != "ended" else f"ended (log: {safe(str(one.log))})",
                ",".join(one.gpus),
                NONE if one.running is None else str(one.running),
                NONE if one.waiting is None else str(one.waiting),
                NONE if one.kv_usage is None else f"{100 * one.kv_usage:.0f} %",
                f"{minutes // 60}:{minutes % 60:02d} h",
                str(one.pid),
            )
    stdout().print(table)


def down_(
    judge: Annotated[
        str | None, typer.Argument(metavar="JUDGE", help="Running judge (`local-judge judge status`).")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Stop all running judges.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop the servers of a judge that `judge up` or --serve started on this machine."""
    running = [one.name for one in recorded()]
    if (judge is None) == (not every):
        raise ConfigError("name one judge to stop, or give --all; `local-judge judge status` lists them")
    name = judge if judge is None or judge in running else server_name(load_preset(judge))
    if name is not None and name not in running:
        there = f"running are: {', '.join(running)}" if running else "no judge is running"
        raise ConfigError(f"{name} is not running on this machine; {there}")
    stopped = {one: down(one) for one in (running if name is None else [name])}
    if as_json:
        print_json([{"judge": one, "ran": lived} for one, lived in stopped.items()])
    for one, lived in stopped.items():
        sys.stderr.write(f"{plain(one)} {'is stopped' if lived else 'had ended already'}\n")
