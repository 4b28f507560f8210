"""`local-judge lab benchmark-verifier`: a judge's verdicts and extracted claims against annotations by people."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import typer

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError
from local_judge.base.output import count
from local_judge.claims.config import ClaimsConfig
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.help import ADVANCED
from local_judge.cli.judging import OptionalJudge
from local_judge.cli.options import (
    SAMPLE,
    AllowPrompts,
    AsJson,
    ConfigFile,
    PromptsFrom,
    Resamples,
    Seed,
    SomeSnapshotDir,
    chosen,
)
from local_judge.cli.output import print_json
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.evaluate import Measure, Part, ReportScores, evaluate
from local_judge.lab.annotations.extraction import THRESHOLDS, Name, similarity_named
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.annotations.model import annotated_set
from local_judge.lab.annotations.recall import RecallJudge
from local_judge.lab.annotations.tables import report_tables
from local_judge.lab.labelled.answers import Verifier, by_page
from local_judge.lab.labelled.load import load_sets, snapshot_of, with_pages
from local_judge.lab.labelled.model import LabelledSet, sampled
from local_judge.lab.verifier_benchmark.answers import Answers, ask, record, word_overlap
from local_judge.lab.verifier_benchmark.evidence import EvidenceFigures, evidence_figures
from local_judge.lab.verifier_benchmark.measure import (
    ComparedVerifiers,
    Partial,
    SetFigures,
    compared_verifiers,
    figures_of,
)
from local_judge.lab.verifier_benchmark.tables import benchmark_notes, benchmark_tables
from local_judge.lab.verifier_benchmark.verifiers import VERIFIERS, gives_probabilities, verifiers_of
from local_judge.protocols.base import OriginalVerifier
from local_judge.protocols.originals import Original, PromptSource, prompt_words
from local_judge.reporting.progress import RunProgress
from local_judge.runs.planning.config import parse_prompts, validated
from local_judge.runs.planning.run_file import load_config
from local_judge.runs.storage.store import RunStore
from local_judge.stats.calibration.assess import DRAWS, Settings
from local_judge.terminal import stdout

VERIFICATION = "verification"
PARTS: tuple[str, ...] = (VERIFICATION, *get_args(Part))


def benchmark_verifier(
    judge: OptionalJudge,
    sets: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Labelled claims: JSONL, CSV or Parquet, also of LLM-AggreFact, WiCE, ExpertQA, "
            "Factcheck-Bench or RAGTruth; or `sample`."
        ),
    ] = None,
    annotated: Annotated[
        list[str] | None,
        typer.Option(
            "--annotated",
            help="Annotated reports: NAME.claims.jsonl beside reports, folders of them, or `sample`; repeatable.",
        ),
    ] = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(
            "--verifier",
            help=f"Verifier to measure: {', '.join(VERIFIERS)}, also with settings (near:evidence_tokens=1000), a run "
            "file with `claims`, or fact or deer (with --prompts); repeatable.",
            show_default="scored",
        ),
    ] = None,
    prompts: PromptsFrom = None,
    allow_prompts: AllowPrompts = None,
    snapshot: SomeSnapshotDir = None,
    partial: Annotated[
        Partial,
        typer.Option(
            "--partial",
            help="Count partial claims as unsupported, or leave them out.",
            rich_help_panel=ADVANCED,
        ),
    ] = "unsupported",
    calibrate_with: Annotated[
        list[Path] | None,
        typer.Option(
            "--calibrate-with",
            help="Labelled or planted claims (`lab plant`) that calibrations for the other sets are also fitted on; "
            "no figure measures them; repeatable.",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    sample: Annotated[int | None, SAMPLE] = None,
    seed: Seed = 0,
    resamples: Resamples = DRAWS,
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            help=f"Measure only this part of --annotated: {', '.join(PARTS)}; repeatable.",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    similarity: Annotated[
        Name,
        typer.Option(
            "--similarity", help="Similarity measure for matching extracted claims.", rich_help_panel=ADVANCED
        ),
    ] = "lexical",
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0.0,
            max=1.0,
            help="Minimum similarity of two matching claims.",
            show_default="that of the measure",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    recall_judge: Annotated[
        str | None,
        typer.Option(
            "--recall-judge",
            help="Judge that decides which annotated claims the extracted claims cover.",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    config: ConfigFile = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Also print the judge's figures by group of claims, and all labels.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write all figures and answers to this JSON file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure verdicts against labels by people, next to a baseline and to published verifiers.

    Of annotated reports, also measure extraction, back-tracking and coverage, with the claims settings of --config.
    Without --judge, the command makes no model calls: it prints the baseline, and whether the evidence contains the
    sentences that people say prove a claim.
    """
    if details and not judge.judge:
        raise ConfigError("--details: the figures are of a judge's verdicts; give --judge")
    if not sets and not annotated:
        raise ConfigError("no labelled claims; name files of them, or annotated reports with --annotated")
    parts = chosen("--part", part, PARTS) or PARTS
    to_read = [one for one in get_args(Part) if one in parts]
    if part and to_read and not judge.judge:
        raise ConfigError(f"--part {to_read[0]}: needs a judge; give --judge")
    rows, fitting = (sampled(load_sets(given or []), sample, seed) for given in (sets, calibrate_with))
    paths = [annotation_path(given) for given in annotated or ()]
    reports = load_annotations(paths)
    spec, ledger = judge.spec(), judge.ledger_beside(out) if judge.judge else None
    settings = Settings(objective="balanced_accuracy", seed=seed, draws=resamples)
    run = load_config(config, {})
    source = parse_prompts(prompts or (), allow_prompts or ())
    checkouts = None if source is None else validated(PromptSource, source, "--prompts")
    verifiers = verifiers_of(verifier or ["scored"], checkouts)
    limit = THRESHOLDS[similarity] if threshold is None else threshold
    measure = Measure(similarity, similarity_named(similarity), limit)

    with contextlib.ExitStack() as stack:
        # Before the evidence is imported, because a missing snapshot costs nothing to notice here.
        frozen = Snapshot.open(snapshot) if snapshot and reports else snapshot_of(snapshot, [*rows, *fitting])
        fitted = stack.enter_context(with_pages(fitting, frozen))
        claims = stack.enter_context(with_pages(rows, frozen))
        beside = stack.enter_context(snapshot_beside(paths)) if reports and frozen is None else frozen
        if beside is not None and VERIFICATION in parts and reports:
            claims.append(LabelledSet(annotated_set(reports), beside))
        overlap = word_overlap(claims)._replace(fitting=word_overlap(fitted).answers)
        evidence = [
            one
            for name, how in verifiers.items()
            if isinstance(how, ClaimsConfig)
            for known in claims
            for one in evidence_figures(*known, name, how)
        ]
        found, scores = [overlap], None
        if spec is not None and ledger is not None:
            stack.enter_context(stoppable(ledger))
            specs = judge.specs(*dict.fromkeys((str(judge.judge), recall_judge or str(judge.judge))))

            async def ask_all() -> tuple[list[Answers], ReportScores | None]:
                async with judge.open_all(specs, ledger, run.reasks) as judges:
                    asked, recall = judges[specs[0].name], None
                    if recall_judge:
                        recall = RecallJudge(specs[-1].name, judges[specs[-1].name])
                    n_steps = _n_pages(claims) * len(verifiers) + len(reports) * bool(to_read)
                    n_steps += _n_pages(fitted) * sum(map(gives_probabilities, verifiers.values()))
                    with RunProgress(judges, n_steps, unit="steps") as progress:
                        answers = await _ask(claims, fitted, verifiers, asked, progress)
                        if beside is None or not to_read:
                            return answers, None
                        return answers, await evaluate(
                            reports, beside, asked, run.claims, measure, to_read, progress.one_done, recall
                        )

            answers, scores = asyncio.run(ask_all())
            found += answers
    figures = _Figures(
        [one for answers in found for one in figures_of(answers, settings, partial)],
        list(compared_verifiers(found, settings, partial)),
        evidence,
        {name: one.prompts for name, one in verifiers.items() if isinstance(one, OriginalVerifier)},
        scores,
    )
    _write(figures, found, out)
    if as_json:
        print_json(figures.dumped())
    else:
        _show(figures, details)
    failed = sum(one.failed for one in figures.sets)
    failed += sum(one.failure is not None for answers in found for one in answers.fitting)
    missing = {"verdict": failed}
    if scores is not None:
        missing |= {"sentence": scores.sentences_failed, "answer of the recall judge": scores.recalls_failed}
    if any(missing.values()):
        leave_missing(", ".join(count(n, what) for what, n in missing.items() if n))


class _Figures(NamedTuple):
    """All figures of a benchmark."""

    sets: Sequence[SetFigures]
    compared: Sequence[ComparedVerifiers]
    evidence: Sequence[EvidenceFigures]
    originals: Mapping[str, Original]
    """Published prompts by the verifier that asks with them."""
    reports: ReportScores | None
    """Scores of the other parts of annotated reports."""

    def dumped(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        reports = {} if self.reports is None else self.reports.model_dump(mode="json")
        return {
            "figures": [one.model_dump(mode="json") for one in self.sets],
            "compared": [one.model_dump(mode="json") for one in self.compared],
            "evidence": [one.model_dump(mode="json") for one in self.evidence],
            "original_prompts": {name: one.recorded for name, one in self.originals.items()},
            **reports,
        }


def _n_pages(sets: Sequence[LabelledSet]) -> int:
    return sum(len(by_page(known.claims, versions_apart=True)) for known in sets)


async def _ask(
    claims: Sequence[LabelledSet],
    fitting: Sequence[LabelledSet],
    verifiers: Mapping[str, Verifier],
    judge: Judge,
    progress: RunProgress,
) -> list[Answers]:
    """Ask the judge about all claims by each verifier, and by those with probabilities about the claims to fit on."""
    answers: list[Answers] = []
    for name, how in verifiers.items():
        found = await ask(claims, judge, name, how, progress.one_done)
        if found.probabilities:
            more = await ask(fitting, judge, name, how, progress.one_done)
            found = found._replace(fitting=more.answers)
        answers.append(found)
    return answers


def _write(figures: _Figures, found: Sequence[Answers], out: Path | None) -> None:
    if out is None:
        return
    answers = {one.verifier: list(map(record, one.answers)) for one in found}
    fitting = {one.verifier: list(map(record, one.fitting)) for one in found}
    data = {**figures.dumped(), "answers": answers, "fitting": fitting}
    text = json.dumps(data, ensure_ascii=False, indent=1)
    RunStore(out.parent).write_text(out.name, text + "\n")


def _show(figures: _Figures, details: bool) -> None:
    """Print the tables and the notes."""
    stdout().print(benchmark_tables(figures.sets, figures.evidence, figures.compared, details))
    if figures.reports is not None:
        stdout().print(report_tables(figures.reports))
    notes = (
        f"{name}: published prompt of {prompt_words(one.recorded)}" for name, one in figures.originals.items()
    )
    for line in (*notes, *benchmark_notes(figures.sets, figures.evidence)):
        stdout().print(line, markup=False, soft_wrap=True)
