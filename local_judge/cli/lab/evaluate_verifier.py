"""`local-judge lab evaluate-verifier`: a judge measured against annotated reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.options import (
    AsJson,
    BaseUrlsByName,
    ConfigFile,
    JudgeName,
    Method,
    Offline,
    Terse,
    View,
    claims_settings,
)
from local_judge.cli.output import print_json
from local_judge.errors import ConfigError
from local_judge.lab.annotations.evaluate import Measure, Part, VerifierScores, evaluate, steps
from local_judge.lab.annotations.extraction import THRESHOLDS, Name, similarity_named
from local_judge.lab.annotations.load import load_annotations, sample_folder, snapshot_beside
from local_judge.lab.annotations.model import AnnotatedReport
from local_judge.lab.annotations.recall import RecallJudge
from local_judge.lab.annotations.tables import verifier_tables
from local_judge.reporting.progress import RunProgress
from local_judge.runs.config import RunConfig, load_config
from local_judge.runs.judges import JudgeSpec, judge_specs_of, open_judges
from local_judge.runs.store import RunStore
from local_judge.terminal import count, stdout

PARTS: tuple[Part, ...] = ("extraction", "backtracking", "verification", "coverage")


def evaluate_verifier(
    judge: JudgeName,
    ledger: Annotated[Path, typer.Option("--ledger", help="Where the judge's replies are kept.")],
    annotations: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files NAME.claims.jsonl, each beside its report, or folders of them; default: the sample."
        ),
    ] = None,
    snapshot: Annotated[
        Path | None,
        typer.Option(
            "--snapshot",
            help="Snapshot of the cited pages; by default it is made from `pages` beside the annotations.",
        ),
    ] = None,
    base_url: BaseUrlsByName = None,
    config: ConfigFile = None,
    method: Method = None,
    view: View = None,
    terse: Terse = False,
    part: Annotated[
        list[str] | None, typer.Option("--part", help=f"Measure this alone: {', '.join(PARTS)}; repeatable.")
    ] = None,
    similarity: Annotated[
        Name, typer.Option("--similarity", help="By which claims count as the same.")
    ] = "lexical",
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=0.0, max=1.0, help="From which similarity on they do.")
    ] = None,
    recall_judge: Annotated[
        str | None,
        typer.Option(
            "--recall-judge",
            help="A judge preset or file that also decides which annotated claims the extracted ones state.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write all figures and answers here as JSON.")
    ] = None,
    offline: Offline = True,
    as_json: AsJson = False,
) -> None:
    """Measure a judge against annotated reports: extraction, back-tracking, verification, coverage."""
    paths = annotations or [sample_folder()]
    reports = load_annotations(paths)
    judge_specs = judge_specs_of(
        [judge] if recall_judge in (None, judge) else [judge, recall_judge], base_url or ()
    )
    settings = load_config(config, {"claims": claims_settings(method, view, terse)})
    limit = THRESHOLDS[similarity] if threshold is None else threshold
    measure = Measure(similarity, similarity_named(similarity), limit)
    parts = _parts(part)
    with _pages(snapshot, paths) as frozen, stoppable(ledger):
        scores = asyncio.run(
            _evaluate(
                reports,
                frozen,
                judge_specs,
                recall_judge is not None,
                settings,
                ledger,
                offline,
                measure,
                parts,
            )
        )
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


def _parts(named: Sequence[str] | None) -> list[Part]:
    unknown = [name for name in named or () if name not in PARTS]
    if unknown:
        raise ConfigError(f"--part {unknown[0]}: no such part; there are {', '.join(PARTS)}")
    return [part for part in PARTS if not named or part in named]


@contextlib.contextmanager
def _pages(snapshot: Path | None, paths: Sequence[Path]) -> Generator[Snapshot]:
    """The snapshot given, or one of the pages beside the annotations that lasts as long as the block."""
    if snapshot is not None:
        yield Snapshot.open(snapshot)
        return
    with snapshot_beside(paths) as beside:
        yield beside


async def _evaluate(
    reports: Sequence[AnnotatedReport],
    snapshot: Snapshot,
    judge_specs: Sequence[JudgeSpec],
    by_recall_judge: bool,
    config: RunConfig,
    ledger: Path,
    offline: bool,
    measure: Measure,
    parts: Sequence[Part],
) -> VerifierScores:
    async with open_judges(judge_specs, ledger=ledger, reasks=config.reasks, only_engine=offline) as judges:
        judge, last = judges[judge_specs[0].name], judge_specs[-1].name
        with RunProgress(judges, steps(reports, parts), unit="steps") as progress:
            return await evaluate(
                reports,
                snapshot,
                judge,
                config.claims,
                measure,
                parts,
                progress.one_done,
                RecallJudge(last, judges[last]) if by_recall_judge else None,
            )
