"""`local-judge serve`: a vLLM server from a preset."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer
from serving.launch import command, launch
from serving.presets import load_preset


def serve(
    judge: Annotated[str, typer.Argument(help="A judge preset or a preset file.")],
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command line and stop.")] = False,
) -> None:
    """Start vLLM with a preset's settings and wait until it is healthy; stop it with Ctrl-C."""
    preset = load_preset(judge)
    if dry_run:
        print(shlex.join(command(preset, port=port, host=host)))
        return
    with launch(preset, port=port, host=host) as server:
        typer.echo(f"{preset.name} is ready at {server.base_url}; Ctrl-C stops it", err=True)
        server.wait()
