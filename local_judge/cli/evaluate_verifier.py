"""`local-judge evaluate-verifier`: a judge measured against annotated reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.annotations.evaluate import Measure, Part, VerifierScores, evaluate, steps
from local_judge.annotations.load import load_annotations, sample_folder, snapshot_beside
from local_judge.annotations.model import AnnotatedReport
from local_judge.annotations.similarity import THRESHOLDS, Name, similarity_named
from local_judge.cli.ending import stoppable
from local_judge.cli.options import (
    AsJson,
    BaseUrls,
    ConfigFile,
    JudgeName,
    Method,
    Offline,
    Terse,
    View,
    claims_settings,
)
from local_judge.errors import ConfigError
from local_judge.reporting.numbers import count
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.tables import stdout
from local_judge.reporting.verifier import verifier_tables
from local_judge.runs.config import RunConfig, load_config
from local_judge.runs.session import open_judge
from local_judge.runs.store import RunStore
from serving.presets import Preset, load_preset

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
            "--snapshot", help="Of the cited pages; default: made of `pages` beside the annotations."
        ),
    ] = None,
    base_url: BaseUrls = None,
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
    out: Annotated[
        Path | None, typer.Option("--out", help="Write all figures and answers here as JSON.")
    ] = None,
    offline: Offline = True,
    as_json: AsJson = False,
) -> None:
    """Measure a judge against annotated reports: extraction, back-tracking, verification, coverage."""
    paths = annotations or [sample_folder()]
    reports = load_annotations(paths)
    preset = load_preset(judge)
    settings = load_config(config, {"claims": claims_settings(method, view, terse)})
    limit = THRESHOLDS[similarity] if threshold is None else threshold
    measure = Measure(similarity, similarity_named(similarity), limit)
    parts = _parts(part)
    with _pages(snapshot, paths) as frozen, stoppable(ledger):
        scores = asyncio.run(
            _evaluate(reports, frozen, preset, settings, base_url or (), ledger, offline, measure, parts)
        )
    text = json.dumps(scores.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
    if out is not None:
        RunStore(out.parent).write_text(out.name, text)
    if as_json:
        print(text, end="")
    else:
        stdout().print(verifier_tables(scores))
    if scores.sentences_failed or scores.verdicts_failed:
        sys.stderr.write(
            f"Missing: the claims of {count(scores.sentences_failed, 'sentence')} and "
            f"{count(scores.verdicts_failed, 'verdict')}. The same command asks again for them.\n"
        )
        raise SystemExit(3)


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
    preset: Preset,
    config: RunConfig,
    base_urls: Sequence[str],
    ledger: Path,
    offline: bool,
    measure: Measure,
    parts: Sequence[Part],
) -> VerifierScores:
    async with open_judge(
        preset, base_urls=base_urls, ledger=ledger, reasks=config.reasks, only_engine=offline
    ) as judge:
        with RunProgress(judge, steps(reports, parts), unit="steps") as progress:
            return await evaluate(reports, snapshot, judge, config.claims, measure, parts, progress.one_done)
