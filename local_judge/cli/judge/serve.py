"""`local-judge judge serve`: a vLLM server from a preset."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from local_judge.cli.options import DryRun
from local_judge.terminal import safe
from serving.errors import LaunchFailed
from serving.launch import command_line, launch
from serving.presets import load_preset


def serve(
    judge: Annotated[
        str, typer.Argument(metavar="JUDGE", help="Judge preset (`local-judge judge list`) or preset file.")
    ],
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    log: Annotated[Path | None, typer.Option("--log", help="Keep the server's output in this file.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Start vLLM with a preset's settings and wait until it is healthy. Ctrl-C stops it."""
    preset = load_preset(judge)
    if dry_run:
        print(command_line(preset, port=port, host=host))
        return
    console = Console(stderr=True)
    try:
        with console.status(f"starting {preset.name}") as status:

            def tell(seconds: float, line: str) -> None:
                status.update(f"starting {preset.name}, {seconds:.0f} s: {safe(line, 80)}")

            with launch(preset, port=port, host=host, log=log, progress=tell) as server:
                status.stop()
                sys.stderr.write(
                    f"{preset.name} answers at {server.base_url}; Ctrl-C stops it. Log: {server.log}\n"
                )
                # `launch` reaps the process and ends the rest of its process group.
                os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
                raise LaunchFailed(f"{preset.name}: the server has stopped by itself (log: {server.log})")
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
