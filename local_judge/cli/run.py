"""`local-judge run`: evaluate reports."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from local_judge.base.errors import ConfigError, plain
from local_judge.base.output import is_quiet
from local_judge.cli.ending import leave, stoppable
from local_judge.cli.help import ADVANCED, TASK_FILES
from local_judge.cli.judging import (
    CalibrationFiles,
    PrintConfig,
    QualificationFiles,
    Replay,
    RunJudges,
    TaskFileOptions,
    run_option,
)
from local_judge.cli.options import (
    AllowPrompts,
    AsJson,
    ClaimOptions,
    Day,
    DryRun,
    Limit,
    PromptsFrom,
    Protocols,
    Settings,
    SomeSnapshotDir,
    SystemName,
    said,
)
from local_judge.cli.output import print_json, print_left_out
from local_judge.cli.planned import print_plan
from local_judge.cli.run_output import (
    Results,
    WithAllScores,
    WithBounds,
    WithProfile,
    WithReports,
    print_results,
)
from local_judge.judge.judge import Judge
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.run_tables import TableOptions
from local_judge.runs.execution.job import job_of, run_job
from local_judge.runs.planning.config import OPTION_NAMES, parse_prompts, parse_settings
from local_judge.runs.planning.run_file import RunFile, is_run_file, load_run_file

RUBRIC = "rubric"
"""Protocol that `--rubric` selects."""


def run(
    context: typer.Context,
    judge: RunJudges,
    how: ClaimOptions,
    material: TaskFileOptions,
    reports: Annotated[
        list[Path] | None,
        typer.Argument(
            help="A run file (YAML); or reports: Markdown files, folders of them, or JSONL files."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The run directory; the same command continues it.")
    ] = None,
    snapshot: SomeSnapshotDir = None,
    system: SystemName = None,
    protocol: Protocols = None,
    rubric: Annotated[
        Path | None,
        typer.Option(
            "--rubric",
            help="Rubric to judge the reports by: TOML, JSON or JSONL.",
            rich_help_panel=TASK_FILES,
        ),
    ] = None,
    date: Day = None,
    setting: Settings = None,
    prompts: PromptsFrom = None,
    allow_prompts: AllowPrompts = None,
    calibration: CalibrationFiles = None,
    qualification: QualificationFiles = None,
    extractor: Annotated[
        str | None,
        run_option("extractor", ADVANCED, metavar="NAME", show_default="the first"),
    ] = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    replay: Replay = False,
    print_config: PrintConfig = False,
    with_reports: WithReports = False,
    all_scores: WithAllScores = False,
    bounds: WithBounds = False,
    profile: WithProfile = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate reports with one or more protocols and print their scores.

    A run file contains the same settings as the options. Options on the command line override it.
    """
    file = _run_file(context, how, setting or (), rubric)
    if print_config:
        print(file.as_yaml(), end="")
        return
    for name, option in (("reports", "REPORTS"), ("judges", "--judge"), ("out", "--out")):
        if not getattr(file, name):
            context.fail(f"Give {option}, or a run file with the key `{name}`.")
    _check_reports(reports or (), file)
    job = job_of(file, replay=replay, allow_preset_code=judge.allow_preset_code)
    print_left_out(file.reports)
    if dry_run:
        print_plan(job, as_json)
        return
    shown: list[RunProgress] = []

    def watch(judges: Mapping[str, Judge], total: int) -> RunProgress:
        shown.append(RunProgress(judges, total))
        return shown[-1]

    with stoppable(job.ledger):
        records = asyncio.run(run_job(job, watch))
    if not shown and not is_quiet():
        sys.stderr.write(f"{plain(str(job.store.root))} is finished; 0 calls\n")
    found = Results.load(job.store, records)
    if as_json:
        print_json(found.as_json(every_judge=True))
    else:
        print_results(found, TableOptions(profile or "paper", with_reports, all_scores, bounds))
    leave(records, job.store.root, job.replay)


def _check_reports(given: Sequence[Path], file: RunFile) -> None:
    """Check that the reports named by a run file exist, unless the command line names others.

    Raises:
        ConfigError: one does not; the message names the run file.
    """
    if len(given) == 1 and is_run_file(given[0]):
        for path in file.reports:
            if not path.exists():
                raise ConfigError(f"{given[0]}: reports: {path}: no such file or folder")


def given_keys(context: typer.Context) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keys of a run file that the command line sets, and those that the environment sets."""
    given: dict[str, dict[str, Any]] = {"COMMANDLINE": {}, "ENVIRONMENT": {}}
    keys = {option: key for key, option in OPTION_NAMES.items()}
    for name, value in context.params.items():
        source, key = context.get_parameter_source(name), keys.get(name, name)
        if source is not None and source.name in given and key in RunFile.model_fields:
            given[source.name][key] = value
    return given["COMMANDLINE"], given["ENVIRONMENT"]


def _run_file(
    context: typer.Context, how: ClaimOptions, setting: Sequence[str], rubric: Path | None
) -> RunFile:
    """Return the settings of the run file, the options and the environment, combined."""
    given, environment = given_keys(context)
    if rubric is not None:
        setting = [*setting, f"{RUBRIC}.file={json.dumps(str(rubric), ensure_ascii=False)}"]
        given["protocols"] = list(dict.fromkeys([*given.get("protocols", ()), RUBRIC]))
    options: dict[str, Any] = {
        **given,
        "claims": how.changes(),
        "settings": parse_settings(setting),
        "prompts": parse_prompts(context.params["prompts"] or (), context.params["allow_prompts"] or ()),
    }
    reports: list[Path] = options.get("reports") or []
    paths = [one for one in reports if is_run_file(one)]
    if len(paths) > 1:
        raise ConfigError(f"{paths[1]}: a second run file; give one run file per command")
    path = paths[0] if paths else None
    if path is not None:
        options["reports"] = [one for one in reports if one != path] or None
    if options.get("system") is not None:
        options["system"] = said("--system", options["system"])
    return load_run_file(path, options, environment)
