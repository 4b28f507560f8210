"""`local-judge lab evaluate-verifier`: accuracy of a judge on annotated reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from indexes.snapshot import Snapshot
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.judging import OneJudge
from local_judge.cli.options import AsJson, ClaimOptions, ConfigFile, Settings, SomeSnapshotDir, chosen
from local_judge.cli.output import print_json
from local_judge.lab.annotations.evaluate import Measure, Part, VerifierScores, evaluate, steps
from local_judge.lab.annotations.extraction import THRESHOLDS, Name, similarity_named
from local_judge.lab.annotations.load import load_annotations, sample_folder, snapshot_beside
from local_judge.lab.annotations.recall import RecallJudge
from local_judge.lab.annotations.tables import verifier_tables
from local_judge.reporting.progress import RunProgress
from local_judge.runs.planning.config import parse_settings
from local_judge.runs.planning.run_file import load_config
from local_judge.runs.storage.store import RunStore
from local_judge.terminal import count, stdout

PARTS: tuple[Part, ...] = get_args(Part)


def evaluate_verifier(
    judge: OneJudge,
    how: ClaimOptions,
    annotations: Annotated[
        list[Path] | None,
        typer.Argument(
            help="NAME.claims.jsonl files, each next to its report, or folders of such files.",
            show_default="the packaged sample",
        ),
    ] = None,
    snapshot: SomeSnapshotDir = None,
    config: ConfigFile = None,
    setting: Settings = None,
    part: Annotated[
        list[str] | None,
        typer.Option("--part", help=f"Measure only this part: {', '.join(PARTS)}; repeatable."),
    ] = None,
    similarity: Annotated[
        Name, typer.Option("--similarity", help="Similarity measure for matching claims.")
    ] = "lexical",
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0.0,
            max=1.0,
            help="Minimum similarity of two matching claims.",
            show_default="that of the measure",
        ),
    ] = None,
    recall_judge: Annotated[
        str | None,
        typer.Option(
            "--recall-judge",
            help="Judge that decides which annotated claims the extracted claims cover.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write all figures and answers to this JSON file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a judge against annotated reports: extraction, back-tracking, verification, coverage.

    Without --snapshot, the command uses the pages in the folder `pages` next to the annotations.
    """
    paths = annotations or [sample_folder()]
    reports = load_annotations(paths)
    specs = judge.specs(*dict.fromkeys((judge.judge, recall_judge or judge.judge)))
    settings = load_config(config, {"claims": how.changes(), "settings": parse_settings(setting or ())})
    limit = THRESHOLDS[similarity] if threshold is None else threshold
    measure = Measure(similarity, similarity_named(similarity), limit)
    parts, ledger = chosen("--part", part, PARTS) or PARTS, judge.ledger_beside(out)

    async def measured(frozen: Snapshot) -> VerifierScores:
        async with judge.open_all(specs, ledger, settings.reasks) as judges:
            first, last = judges[specs[0].name], judges[specs[-1].name]
            recall = None if recall_judge is None else RecallJudge(specs[-1].name, last)
            with RunProgress(judges, steps(reports, parts), unit="steps", at_once=1) as progress:
                return await evaluate(
                    reports, frozen, first, settings.claims, measure, parts, progress.one_done, recall
                )

    with _pages(snapshot, paths) as frozen, stoppable(ledger):
        scores = asyncio.run(measured(frozen))
    if out is not None:
        text = json.dumps(scores.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
        RunStore(out.parent).write_text(out.name, text)
    if as_json:
        print_json(scores)
    else:
        stdout().print(verifier_tables(scores))
    if scores.sentences_failed or scores.verdicts_failed or scores.recalls_failed:
        recalls = f", {count(scores.recalls_failed, 'answer')} of the recall judge" if recall_judge else ""
        leave_missing(
            f"the claims of {count(scores.sentences_failed, 'sentence')}, "
            f"{count(scores.verdicts_failed, 'verdict')}{recalls}"
        )


@contextlib.contextmanager
def _pages(snapshot: Path | None, paths: Sequence[Path]) -> Generator[Snapshot]:
    """Yield the given snapshot, or a temporary one of the pages next to the annotations."""
    if snapshot is not None:
        yield Snapshot.open(snapshot)
        return
    with snapshot_beside(paths) as beside:
        yield beside
