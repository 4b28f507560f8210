"""`local-judge qualify`: what a judge may be believed for."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.ending import stoppable
from local_judge.cli.options import (
    AsJson,
    BaseUrls,
    ChecklistsFile,
    CriteriaFile,
    DimensionsFile,
    GuidanceFile,
    Offline,
    PlansFile,
    References,
    SomeSnapshotDir,
    TasksFile,
)
from local_judge.errors import ConfigError, RunError
from local_judge.judge.standing import Scale, remember
from local_judge.qualification.config import load_qualify_config
from local_judge.qualification.page import page_of, summary_of
from local_judge.qualification.qualify import DATA, PAGE
from local_judge.qualification.qualify import qualify as examine
from local_judge.reporting.numbers import count
from local_judge.reporting.progress import PartProgress
from local_judge.runs.inputs import load_reports
from local_judge.runs.seats import Seat
from local_judge.runs.store import RunStore
from serving.presets import load_preset


def qualify(
    judge: Annotated[str, typer.Argument(help="A judge preset (`local-judge judges`) or a preset file.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Where all is kept; the same command continues it. [qualifications/JUDGE]"
        ),
    ] = None,
    snapshot: SomeSnapshotDir = None,
    reports: Annotated[
        list[Path] | None,
        typer.Option("--reports", help="Reports instead of the packaged ones; repeat for several."),
    ] = None,
    tasks: TasksFile = None,
    guidance: GuidanceFile = None,
    criteria: CriteriaFile = None,
    dimensions: DimensionsFile = None,
    checklists: ChecklistsFile = None,
    plans: PlansFile = None,
    references: References = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Ask less: a quarter of an hour on two cores.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", help="A YAML file of sizes and thresholds that differ.")
    ] = None,
    parts: Annotated[
        str | None, typer.Option("--parts", help="These alone, with commas: verification,obedience.")
    ] = None,
    base_url: BaseUrls = None,
    offline: Offline = True,
    as_json: AsJson = False,
) -> None:
    """Ask a judge about things of which the answer is known, and say what it may be believed for."""
    preset = load_preset(judge)
    scale: Scale = "quick" if quick else "full"
    chosen = None if parts is None else tuple(name.strip() for name in parts.split(","))
    settings = load_qualify_config(scale, config, chosen)
    joined = (tasks, guidance, criteria, dimensions, checklists, plans, references)
    if reports is None and any(one is not None for one in joined):
        raise ConfigError("tasks and what belongs to them are of reports; give these with --reports")
    loaded = None
    if reports is not None:
        loaded = load_reports(
            reports,
            tasks,
            guidance,
            criteria,
            references or (),
            checklists,
            dimensions=dimensions,
            plans=plans,
        )
    folder = out or Path("qualifications") / preset.name
    with stoppable(folder):
        found = asyncio.run(
            examine(
                Seat(preset, tuple(base_url or ())),
                settings,
                scale,
                folder,
                snapshot=snapshot,
                reports=loaded,
                offline=offline,
                watch=PartProgress,
            )
        )
    RunStore(folder).write_text(PAGE, page_of(found))
    standing = found.standing()
    try:
        kept = remember(standing)
    except OSError as error:
        raise RunError(f"{error.filename}: the verdict cannot be kept ({error.strerror})") from None
    if as_json:
        print(standing.model_dump_json())
    else:
        print(summary_of(found))
        print(f"{folder / PAGE} has all of it.")
    if kept != standing:
        sys.stderr.write(
            f"Reports go on to show an earlier qualification of this judge, which examined more; `--qualification "
            f"{folder / DATA}` shows this one.\n"
        )
    if found.n_unanswered:
        sys.stderr.write(
            f"Missing: {count(found.n_unanswered, 'answer')}. The same command asks again for them.\n"
        )
        raise SystemExit(3)
