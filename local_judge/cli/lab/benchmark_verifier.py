"""`local-judge lab benchmark-verifier`: verdicts of a judge against labels by people."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError
from local_judge.claims.config import ClaimsConfig
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.judging import OptionalJudge
from local_judge.cli.options import (
    SAMPLE,
    AllowPrompts,
    AsJson,
    PromptsFrom,
    Resamples,
    Seed,
    SomeSnapshotDir,
)
from local_judge.cli.output import print_json
from local_judge.judge.judge import Judge
from local_judge.lab.verifier_benchmark.answers import Answers, ask, word_overlap
from local_judge.lab.verifier_benchmark.comparing import ComparedVerifiers, compared_verifiers
from local_judge.lab.verifier_benchmark.evidence import EvidenceFigures, evidence_figures
from local_judge.lab.verifier_benchmark.measure import Partial, SetFigures, figures_of
from local_judge.lab.verifier_benchmark.rows import (
    LabelledClaims,
    LabelledRow,
    evidence_snapshot,
    load_sets,
    sampled,
)
from local_judge.lab.verifier_benchmark.tables import benchmark_notes, benchmark_tables
from local_judge.lab.verifier_benchmark.verifiers import (
    VERIFIERS,
    Verifier,
    gives_probabilities,
    verifiers_of,
)
from local_judge.protocols.base import OriginalVerifier
from local_judge.protocols.originals import Original, PromptSource, prompt_words
from local_judge.reporting.progress import RunProgress
from local_judge.runs.planning.config import parse_prompts, validated
from local_judge.runs.storage.store import RunStore
from local_judge.stats.calibration.assess import DRAWS, Settings
from local_judge.terminal import count, stdout


def benchmark_verifier(
    sets: Annotated[
        list[Path],
        typer.Argument(
            help="Labelled claims: JSONL, CSV or Parquet, also of LLM-AggreFact, WiCE, ExpertQA, "
            "Factcheck-Bench or RAGTruth; or `sample`."
        ),
    ],
    judge: OptionalJudge,
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
        typer.Option("--partial", help="Count partial claims as unsupported, or leave them out."),
    ] = "unsupported",
    calibrate_with: Annotated[
        list[Path] | None,
        typer.Option(
            "--calibrate-with",
            help="Labelled or planted claims (`lab plant`) that calibrations for the other sets are also fitted on; "
            "no figure measures them; repeatable.",
        ),
    ] = None,
    sample: Annotated[int | None, SAMPLE] = None,
    seed: Seed = 0,
    resamples: Resamples = DRAWS,
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

    Without --judge, the command makes no model calls: it prints the baseline, and whether the evidence contains the
    sentences that people say prove a claim.
    """
    if details and not judge.judge:
        raise ConfigError("--details: the figures are of a judge's verdicts; give --judge")
    rows, fitting = (sampled(load_sets(given), sample, seed) for given in (sets, calibrate_with or ()))
    spec, ledger = judge.spec(), judge.ledger_beside(out) if judge.judge else None
    settings = Settings(objective="balanced_accuracy", seed=seed, draws=resamples)
    source = parse_prompts(prompts or (), allow_prompts or ())
    checkouts = None if source is None else validated(PromptSource, source, "--prompts")
    verifiers = verifiers_of(verifier or ["scored"], checkouts)

    if snapshot is not None and all(row.evidence is not None for row in (*rows, *fitting)):
        raise ConfigError(
            f"--snapshot: the claim {rows[0].id!r} has its own `evidence`; use rows with `url` only"
        )
    with contextlib.ExitStack() as stack:
        # First, because a snapshot that is missing for the claims to fit on costs nothing to notice here.
        fitted = LabelledClaims(fitting, stack.enter_context(_pages(fitting, snapshot))) if fitting else None
        claims = LabelledClaims(rows, stack.enter_context(_pages(rows, snapshot)))
        overlap = word_overlap(*claims)
        if fitted is not None:
            overlap = overlap._replace(fitting=word_overlap(*fitted).answers)
        evidence = [
            one
            for name, how in verifiers.items()
            if isinstance(how, ClaimsConfig)
            for one in evidence_figures(*claims, name, how)
        ]
        found = [overlap]
        if spec is not None and ledger is not None:
            stack.enter_context(stoppable(ledger))
            found += asyncio.run(_asked(claims, fitted, verifiers, lambda: judge.open(spec, ledger)))
    figures = _Figures(
        [one for answers in found for one in figures_of(answers, settings, partial)],
        list(compared_verifiers(found, settings, partial)),
        evidence,
        {name: one.prompts for name, one in verifiers.items() if isinstance(one, OriginalVerifier)},
    )
    _write(figures, found, out)
    if as_json:
        print_json(figures.dumped())
    else:
        _show(figures, details)
    failed = sum(one.failed for one in figures.sets)
    failed += sum(one.failure is not None for answers in found for one in answers.fitting)
    if failed:
        leave_missing(count(failed, "verdict"))


class _Figures(NamedTuple):
    """All figures of a benchmark."""

    sets: Sequence[SetFigures]
    compared: Sequence[ComparedVerifiers]
    evidence: Sequence[EvidenceFigures]
    originals: Mapping[str, Original]
    """Published prompts by the verifier that asks with them."""

    def dumped(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        return {
            "figures": [one.model_dump(mode="json") for one in self.sets],
            "compared": [one.model_dump(mode="json") for one in self.compared],
            "evidence": [one.model_dump(mode="json") for one in self.evidence],
            "original_prompts": {name: one.recorded for name, one in self.originals.items()},
        }


async def _asked(
    claims: LabelledClaims,
    fitting: LabelledClaims | None,
    verifiers: Mapping[str, Verifier],
    opened: Callable[[], AbstractAsyncContextManager[Judge]],
) -> list[Answers]:
    """Ask the judge about all claims by each verifier, and by those with probabilities about the claims to fit on."""
    pages = len({row.page for row in claims.rows}) * len(verifiers)
    if fitting is not None:
        pages += len({row.page for row in fitting.rows}) * sum(map(gives_probabilities, verifiers.values()))
    answers: list[Answers] = []
    async with opened() as judge:
        with RunProgress(judge, pages, unit="pages") as progress:
            for name, how in verifiers.items():
                one = await ask(*claims, judge, name, how, progress.one_done)
                if fitting is not None and one.probabilities:
                    more = await ask(*fitting, judge, name, how, progress.one_done)
                    one = one._replace(fitting=more.answers)
                answers.append(one)
    return answers


@contextlib.contextmanager
def _pages(rows: Sequence[LabelledRow], snapshot: Path | None) -> Generator[Snapshot]:
    """Yield the given snapshot, or a temporary one of the evidence in the rows."""
    own = [row for row in rows if row.evidence is not None]
    if snapshot is not None and not own:
        yield Snapshot.open(snapshot)
    elif snapshot is not None and len(own) < len(rows):
        raise ConfigError(
            f"--snapshot: the claim {own[0].id!r} has its own `evidence`; use rows with `url` only"
        )
    elif len(own) < len(rows):
        raise ConfigError("claims with `url` need a snapshot of their pages; give --snapshot")
    else:
        with evidence_snapshot(rows) as frozen:
            yield frozen


def _write(figures: _Figures, found: Sequence[Answers], out: Path | None) -> None:
    if out is None:
        return
    answers = {one.verifier: [row.model_dump(mode="json") for row in one.answers] for one in found}
    fitting = {one.verifier: [row.model_dump(mode="json") for row in one.fitting] for one in found}
    data = {**figures.dumped(), "answers": answers, "fitting": fitting}
    text = json.dumps(data, ensure_ascii=False, indent=1)
    RunStore(out.parent).write_text(out.name, text + "\n")


def _show(figures: _Figures, details: bool) -> None:
    """Print the tables and the notes."""
    stdout().print(benchmark_tables(figures.sets, figures.evidence, figures.compared, details))
    notes = (
        f"{name}: published prompt of {prompt_words(one.recorded)}" for name, one in figures.originals.items()
    )
    for line in (*notes, *benchmark_notes(figures.sets, figures.evidence)):
        stdout().print(line, markup=False, soft_wrap=True)
