"""`local-judge judge qualify`: reliability of a judge, by kind of judgement."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import ConfigError, RunError
from local_judge.base.output import count
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.judging import JUDGE_HELP, ServerOptions, TaskFileOptions
from local_judge.cli.modified import AllowModified, marked, print_marks, write_marks
from local_judge.cli.options import AsJson, ConfigFile, Reports, SomeSnapshotDir
from local_judge.cli.output import print_json
from local_judge.judge.judge import Judge
from local_judge.judge.qualification_record import Scale, remember
from local_judge.lab.qualification.comparing.comparison import compare as compare_judges
from local_judge.lab.qualification.comparing.comparison import load_finished, write_comparison
from local_judge.lab.qualification.comparing.page import comparison_page
from local_judge.lab.qualification.config import load_qualify_config
from local_judge.lab.qualification.model import PartName
from local_judge.lab.qualification.page import page_of, summary_of
from local_judge.lab.qualification.qualify import DATA, PAGE, Qualification
from local_judge.lab.qualification.qualify import qualify as examine
from local_judge.reporting.progress import RunProgress
from local_judge.runs.planning.inputs import RawReport, load_reports
from local_judge.runs.storage.store import RunStore
from local_judge.tasks.files import TaskFiles


def qualify(
    judge: Annotated[list[str], typer.Argument(help=JUDGE_HELP)],
    servers: ServerOptions,
    material: TaskFileOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            show_default="qualifications/JUDGE",
            help="Directory for all files, with --compare one folder per judge; the same command continues it.",
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Qualify several judges one after another, and compare them. Instead of a judge, the folder of its "
            "finished qualification is taken as it is.",
        ),
    ] = False,
    scored: Annotated[
        list[Path] | None,
        typer.Option(
            "--scored",
            help="With --compare: finished run in which the compared judges scored reports; repeatable.",
        ),
    ] = None,
    snapshot: SomeSnapshotDir = None,
    reports: Reports = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            "--labels",
            help="Labelled claims (JSONL, CSV or Parquet; or `sample`), which outrank planted claims; repeatable.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Ask fewer questions: about 15 minutes on two cores.")
    ] = False,
    config: ConfigFile = None,
    parts: Annotated[
        str | None,
        typer.Option(
            "--parts", help="Run only these parts: names separated by commas, such as verification."
        ),
    ] = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Measure on items with known answers which of a judge's judgements are reliable.

    Without --snapshot and --reports, the command uses the packaged pages and reports.
    """
    _check_comparing(judge, compare, scored)
    finished = {name: Path(name) for name in judge if (Path(name) / DATA).is_file()} if compare else {}
    names = [name for name in judge if name not in finished]
    specs = dict(zip(names, servers.specs(*names), strict=True)) if names else {}
    scale: Scale = "quick" if quick else "full"
    chosen = None if parts is None else tuple(name.strip() for name in parts.split(","))
    ask = partial(
        examine,
        config=load_qualify_config(scale, config, chosen, labels or ()),
        scale=scale,
        snapshot=snapshot,
        reports=_reports(reports, material.files()),
        offline=servers.offline,
        persistence=servers.persistence,
    )
    root = out or Path("qualifications")
    folders = finished | {
        name: root / spec.name if compare or out is None else root for name, spec in specs.items()
    }
    n_unanswered = 0
    for name, spec in specs.items():
        folder = folders[name]
        with stoppable(folder):
            found = asyncio.run(ask(spec, out=folder, watch=_watch))
        n_unanswered += found.n_unanswered
        _keep(found, folder, compare, as_json)
    if compare:
        _compare([folders[name] for name in judge], scored or (), root if specs else out, as_json)
    if n_unanswered:
        leave_missing(count(n_unanswered, "answer"))


def _compare(folders: Sequence[Path], scored: Sequence[Path], out: Path | None, as_json: bool) -> None:
    """Print the comparison of finished qualifications, and write it to `out` unless that is None."""
    found = compare_judges([load_finished(folder) for folder in folders], scored)
    if out is not None:
        write_comparison(out, found)
        write_marks(out)
    if as_json:
        print_json(marked(found.model_dump(mode="json")))
        return
    print_marks()
    print(comparison_page(found), end="")


def _watch(part: PartName, judges: Mapping[str, Judge]) -> RunProgress:
    """Return a progress display for the calls of one part, whose number is not known in advance."""
    return RunProgress(judges, None, unit=part)


def _check_comparing(judges: Sequence[str], compare: bool, scored: Sequence[Path] | None) -> None:
    if compare != (len(judges) > 1):
        said = "--compare needs at least two judges" if compare else "several judges need --compare"
        raise ConfigError(f"{' '.join(judges)}: {said}")
    if scored and not compare:
        raise ConfigError("--scored needs --compare")


def _reports(paths: Sequence[Path] | None, files: TaskFiles) -> list[RawReport] | None:
    """Return the user's reports with their task files, or None for the packaged reports."""
    if paths is not None:
        return load_reports(paths, files)
    if files != TaskFiles():
        raise ConfigError("--tasks and task files need reports; give --reports")
    return None


def _keep(found: Qualification, folder: Path, compare: bool, as_json: bool) -> None:
    """Write the page and store the verdict; without --compare, also print one of them."""
    RunStore(folder).write_text(PAGE, page_of(found))
    record = found.record()
    try:
        kept = remember(record)
    except OSError as error:
        raise RunError(f"{error.filename}: the verdict cannot be stored ({error.strerror})") from None
    if as_json and not compare:
        print_json(record)
    elif not compare:
        print(summary_of(found))
        print(f"{folder / PAGE} has all details.")
    if kept != record:
        sys.stderr.write(
            f"Results keep showing an earlier, larger qualification of this judge; `--qualification "
            f"{folder / DATA}` shows this one.\n"
        )
