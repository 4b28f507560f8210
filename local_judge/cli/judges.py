"""`local-judge judges`: list presets, fetch their weights."""

from __future__ import annotations

import json

import typer
from rich.table import Table
from serving.presets import JudgePreset, list_presets

from local_judge.cli.options import AsJson
from local_judge.reporting.tables import stdout

app = typer.Typer(help="List judge presets and fetch their weights.", invoke_without_command=True)


@app.callback()
def judges(context: typer.Context, as_json: AsJson = False) -> None:
    """List the presets."""
    if context.invoked_subcommand is not None:
        return
    presets = list_presets()
    if as_json:
        print(
            json.dumps(
                [
                    {**preset.model_dump(mode="json"), "weights_here": weights_state(preset)}
                    for preset in presets
                ]
            )
        )
    else:
        stdout().print(_table(presets))


def _table(presets: list[JudgePreset]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for column in ("judge", "model", "engine", "context", "thinking", "revision", "weights"):
        table.add_column(column)
    for preset in presets:
        table.add_row(preset.name)
    return table
