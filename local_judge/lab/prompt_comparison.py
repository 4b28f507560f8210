"""Two runs of one judge on the same reports with different prompts, such as published ones and this package's.

    scores       paired differences, as `results diff` computes them
    answers      agreement on the items that both runs have, each run in the place of a judge
    tokens       of the replies that each run used: prompt - cached, and generated
    flaws        of the copies with one flaw, in how many a score moved as the protocol expects
    labels       verdicts on claims that people have labelled (`lab.prompt_people`)
    ratings      agreement of a score with people's ratings of the reports, as `results agree` computes it

Invariants: a figure covers what both runs have, and says how much that is. A flaw counts for the comparison only if
both runs have both scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from rich.console import RenderableType
from rich.table import Table

from local_judge.base.errors import InputError, RunError
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.claims.model import ClaimSet
from local_judge.lab.planting.model import PlantedFlaw
from local_judge.lab.prompt_people import LabelledPrompts, RatedPrompts, labelled_prompts
from local_judge.lab.qualification.parts.sensitivity import (
    Scored,
    SensitivitySettings,
    change,
    direction,
    scored,
)
from local_judge.lab.tables import figure
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.protocols.probes import FlawKind
from local_judge.reporting.differences import difference_text
from local_judge.reporting.summary import estimate_text, unknown_lines
from local_judge.runs.proof.costs import Tokens
from local_judge.runs.results.attributes import OpenRun, open_runs
from local_judge.runs.results.comparison import RunDifference, run_difference
from local_judge.runs.results.labels import ClaimLabel
from local_judge.runs.results.matching import MatchedReports, matched_reports
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.manifest import judges_of, prompts_of
from local_judge.runs.storage.records import failures_in
from local_judge.runs.storage.rescoring import AgreementRecord, agreement_rows
from local_judge.scoring.node import Profile
from local_judge.stats.estimate import DRAWS
from local_judge.terminal import plain_table, safe

OWN = "this package"


class PromptRun(Frozen):
    """One of the runs."""

    run: str
    prompts: dict[str, str]
    """Origin of the prompts, by protocol."""
    failures: dict[str, int]
    """Number of failures by kind, in claims and findings."""
    tokens: Tokens | None
    tokens_unknown: str = ""
    """Reason why the tokens are not known."""


class AnswerComparison(AgreementRecord):
    """Agreement of the runs on the items of one metric."""

    n_not_asked: dict[str, int]
    """Number of the missing items that the run's prompts do not have; the others were asked and have no answer."""


class FlawComparison(Frozen):
    """Reactions of one score to flaws of one kind."""

    protocol: str
    path: str
    flaw: FlawKind
    expected: Literal[-1, 0]
    """-1: the score gets worse. 0: it does not get better."""
    n: int
    """Reports with all four scores."""
    n_unknown: int
    """Reports without one of them."""
    right: tuple[int, int]
    """Number of expected reactions, by run."""
    only: tuple[int, int]
    """Number of expected reactions that only this run has."""


class PromptComparison(Frozen):
    """Comparison of two runs."""

    runs: tuple[PromptRun, PromptRun]
    scores: RunDifference
    agreement: tuple[AnswerComparison, ...]
    flaws: tuple[FlawComparison, ...]
    labels: LabelledPrompts | None = None
    """None if no labels are given."""
    ratings: tuple[RatedPrompts, ...] = ()


def compare_prompts(
    paths: tuple[Path, Path],
    tokens: Sequence[Tokens | str],
    flaws: Sequence[PlantedFlaw] = (),
    labels: Sequence[ClaimLabel] = (),
    ratings: tuple[RatedPrompts, ...] = (),
    *,
    profile: Profile = "paper",
    seed: int = 0,
    draws: int = DRAWS,
) -> PromptComparison:
    """Compare two finished runs of one judge.

    Args:
        paths: run directories.
        tokens: tokens of each run, or the reason why they are not known.
        flaws: labels of perturbed reports of the runs.
        labels: people's labels of claims of the runs.
        ratings: agreement of the runs with people's ratings.
        profile: profile of the scores; flaws are judged by that of the paper.
        seed: random seed of the bootstrap.
        draws: number of resamples.

    Raises:
        RunError: a directory contains no finished run, a run has several judges, or no protocol is in both.
        InputError: no report of one run is in the other, or no label is of a claim of either.
    """
    difference = run_difference(paths, profile=profile, all_scores=False, seed=seed, draws=draws)
    first, second = opened = open_runs(paths)
    for run in opened:
        if len(judges_of(run.store)) > 1:
            raise RunError(f"{run.store.root}: has several judges; compare runs of one judge")
    names = list(dict.fromkeys(one.protocol for one in difference.scores))
    if not names:
        raise RunError(f"{paths[0]} and {paths[1]} have no protocol in common; compare runs of one protocol")
    matched = matched_reports(first, second)
    protocols = [load_protocol(name) for name in names]
    sides = [_side(run, protocols, told) for run, told in zip(opened, tokens, strict=True)]
    labelled = None
    if labels:
        labelled = labelled_prompts(labels, protocols, (first, second), matched, seed=seed, draws=draws)
        if not labelled.kinds:
            raise InputError(
                f"none of {count(len(labels), 'label')} is of a claim of {first.store.root} or {second.store.root}"
            )
    return PromptComparison(
        runs=(sides[0], sides[1]),
        scores=difference,
        agreement=tuple(row for one in protocols for row in _agreement(one, first, second, matched)),
        flaws=tuple(row for one in protocols for row in _flaws(one, first, second, flaws)),
        labels=labelled,
        ratings=ratings,
    )


def _side(run: OpenRun, protocols: Sequence[AnyProtocol], tokens: Tokens | str) -> PromptRun:
    published = prompts_of(run.store)
    failures: Counter[str] = Counter()
    for record in run.records:
        files = [(claims_file(None), ClaimSet)]
        files += [(findings_file(one.name, None), one.findings_type) for one in protocols]
        for name, model in files:
            found = run.store.find_item(name, record.key, model) if record.status == "done" else None
            failures.update(failure.kind for failure in failures_in(found))
    return PromptRun(
        run=run.name,
        prompts={one.name: published.get(one.name, OWN) for one in protocols},
        failures=dict(sorted(failures.items())),
        tokens=tokens if isinstance(tokens, Tokens) else None,
        tokens_unknown="" if isinstance(tokens, Tokens) else tokens,
    )


def _agreement(
    protocol: AnyProtocol, first: OpenRun, second: OpenRun, matched: MatchedReports
) -> Iterator[AnswerComparison]:
    """Yield the agreement of the runs on the items of each metric; verdicts on claims are left out."""
    file = findings_file(protocol.name, None)
    found = {
        one.id: [
            first.store.read_item(file, one.key, protocol.findings_type),
            second.store.read_item(file, other.key, protocol.findings_type),
        ]
        for one, other in matched.pairs
        if one.status == other.status == "done"
    }
    metrics = {row.metric for pair in found.values() for own in pair for row in protocol.items(own)}
    asked: dict[str, list[set[tuple[str, str]]]] = {}
    for case, pair in found.items():
        for place, own in enumerate(pair):
            for decision in protocol.decisions(own):
                if decision.by == "code":
                    continue
                items = asked.setdefault(decision.metric, [set(), set()])
                items[place].add((case, decision.item))
    for row in agreement_rows(protocol, found.items(), (first.name, second.name)):
        if not protocol.needs_claims or row.metric in metrics:
            ones, others = asked[row.metric]
            absent = {first.name: len(others - ones), second.name: len(ones - others)}
            yield AnswerComparison(**dict(row), n_not_asked=absent)


class _Reaction(NamedTuple):
    first: bool
    second: bool


def _flaws(
    protocol: AnyProtocol, first: OpenRun, second: OpenRun, flaws: Sequence[PlantedFlaw]
) -> Iterator[FlawComparison]:
    expected = [row for probe in protocol.sensitivity_probes for row in probe.expectations]
    runs = [scored(run.store, protocol.name) for run in (first, second)] if flaws else []
    for row in expected:
        about = [flaw for flaw in flaws if flaw.kind == row.flaw and _has(runs, flaw, row.path)]
        if not about:
            continue
        said = [[_as_expected(run, flaw, row.path, row.truth) for run in runs] for flaw in about]
        known = [_Reaction(one, other) for one, other in said if one is not None and other is not None]
        yield FlawComparison(
            protocol=protocol.name,
            path=row.path,
            flaw=row.flaw,
            expected=row.truth,
            n=len(known),
            n_unknown=len(about) - len(known),
            right=(sum(one.first for one in known), sum(one.second for one in known)),
            only=(
                sum(one.first and not one.second for one in known),
                sum(one.second and not one.first for one in known),
            ),
        )


def _has(runs: Iterable[Scored], flaw: PlantedFlaw, path: str) -> bool:
    """Check whether both runs score a report and its perturbed version by this score, with or without a value."""
    return all((report, path) in run.scores for run in runs for report in (flaw.report, flaw.id))


def _as_expected(run: Scored, flaw: PlantedFlaw, path: str, expected: int) -> bool | None:
    still = SensitivitySettings().still
    moved = change(run, path, flaw.report, flaw.id, still)
    if moved is None or moved.value is None:
        return None
    went = direction(moved.value, still)
    return went < 0 if expected < 0 else went <= 0


def comparison_parts(found: PromptComparison) -> Iterator[RenderableType]:
    """Yield the table of a comparison, and lines on what it covers."""
    for one in found.runs:
        origins = dict.fromkeys(one.prompts.values())
        yield f"{safe(one.run)}: prompts of {safe('; '.join(origins))}"
    yield _table(found)
    scores = found.scores
    yield f"{count(scores.n_reports, 'report')} matched by {scores.matched_by}; ( ) 95 % bootstrap intervals"
    if scores.n_first or scores.n_second:
        yield f"without a match: {scores.n_first} of {safe(scores.first)}, {scores.n_second} of {safe(scores.second)}"
    yield from _label_lines(found)
    yield from unknown_lines((one.measure, one.difference) for one in found.ratings)
    yield "what differs: " + (", ".join(map(safe, scores.inputs)) or "nothing in the inputs")
    for one in found.runs:
        if one.tokens_unknown:
            yield f"tokens of {safe(one.run)} are unknown: {safe(one.tokens_unknown)}"
        elif one.tokens is not None and not one.tokens.cache_reported:
            yield f"computed tokens of {safe(one.run)} include cached ones, which the engine does not report"


def _table(found: PromptComparison) -> Table:
    first, second = found.runs
    table = plain_table("", ("",), (safe(first.run), safe(second.run), "difference or agreement"))
    for one in found.scores.scores:
        own = one.difference
        values = figure(own.first, ".2f"), figure(own.second, ".2f")
        table.add_row(safe(f"{one.protocol}: {one.label}"), *values, f"{difference_text(own)}, n = {own.n}")
    table.add_section()
    for row in found.agreement:
        equal = f"equal {estimate_text(row.alike, 2)}"
        apart = "" if row.difference is None else f", apart by {estimate_text(row.difference, 2)}"
        table.add_row(
            safe(f"{row.metric}: answers"),
            *(_missing(row, run.run) for run in found.runs),
            f"{equal}{apart}, n = {row.n_items}",
        )
    table.add_section()
    for flaw in found.flaws:
        effect = "falls" if flaw.expected < 0 else "does not rise"
        table.add_row(
            safe(f"{flaw.path} {effect} after {flaw.flaw}"),
            *(f"{right} of {flaw.n}" for right in flaw.right),
            f"only first {flaw.only[0]}, only second {flaw.only[1]}"
            + (f", {flaw.n_unknown} unknown" if flaw.n_unknown else ""),
        )
    table.add_section()
    _add_people(table, found)
    table.add_section()
    for label, name in (
        ("replies", "replies"),
        ("tokens computed", "computed"),
        ("tokens generated", "generated"),
    ):
        values = [None if one.tokens is None else int(getattr(one.tokens, name)) for one in found.runs]
        table.add_row(label, *(figure(value, ",") for value in values), _ratio(values))
    table.add_row("failures", *(_failures(one) for one in found.runs), "")
    return table


def _missing(row: AnswerComparison, run: str) -> str:
    absent = row.n_not_asked[run]
    counts = {"failed": row.n_missing[run] - absent, "not asked": absent}
    return ", ".join(f"{n} {what}" for what, n in counts.items() if n)


def _add_people(table: Table, found: PromptComparison) -> None:
    """Add the rows of labels and ratings."""
    for one in found.labels.kinds if found.labels else ():
        of = one.found
        title = safe(f"{one.verdicts}: right about labelled claims")
        if not of.n:
            table.add_row(title, *(f"{n} with a label" for n in one.n_matched), "none answered in both")
            continue
        table.add_row(
            title,
            *(f"{right} of {of.n}" for right in of.right),
            f"only first {of.only[0]}, only second {of.only[1]}",
        )
        if of.balanced_difference.value is not None:
            table.add_row(
                safe(f"{one.verdicts}: balanced accuracy on them"),
                *(figure(value, ".2f") for value in of.balanced_accuracy),
                estimate_text(of.balanced_difference, 2, "+"),
            )
    for one in found.ratings:
        table.add_row(
            safe(f"{one.protocol}: {one.score}, people: {one.measure}"),
            *(estimate_text(side, 2) for side in (one.first, one.second)),
            estimate_text(one.difference, 2, "+"),
        )


def _label_lines(found: PromptComparison) -> Iterator[str]:
    """Yield what the rows of labels cover."""
    if (labels := found.labels) is None:
        return
    left = {
        "unclear": labels.n_unclear,
        "without text": labels.n_without_text,
        "of other reports": labels.n_elsewhere,
    }
    out = "".join(f"; {n} {what}" for what, n in left.items() if n)
    out += f"; annotators are divided about {count(labels.n_divided, 'claim')}" if labels.n_divided else ""
    yield f"{count(labels.n_labels, 'label')} of {count(labels.n_statements, 'claim')}{out}"
    for one in labels.kinds:
        sides = (
            f"{n} in {safe(run.run)}{f' ({left} without an answer)' if left else ''}"
            for run, n, left in zip(found.runs, one.n_matched, one.n_unanswered, strict=True)
        )
        yield f"{safe(one.verdicts)}: same report, page and words {', '.join(sides)}; {one.found.n} answered in both"


def _ratio(values: Sequence[int | None]) -> str:
    first, second = values
    return f"{second / first:.2f} times" if first and second is not None else ""


def _failures(run: PromptRun) -> str:
    return "; ".join(f"{n} {kind}" for kind, n in run.failures.items()) or "0"
