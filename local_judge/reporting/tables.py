"""Terminal tables of one report's score trees, and of a dry run.

Invariant: everything that came from a report, a page or a judge is printed as plain text (rich markup escaped,
control characters removed).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from local_judge.base.output import NONE, Table, shorten
from local_judge.runs.execution.job import Plan
from local_judge.runs.proof.costs import RunCost
from local_judge.runs.storage.records import ScoreRecord
from local_judge.runs.sweeps.plan import SweepPlan
from local_judge.scoring.node import ScoreNode
from local_judge.scoring.text import bounds, interval, ratio, value
from local_judge.terminal import safe


class _Columns(NamedTuple):
    """Choice of a profile's columns beside its values."""

    undefined: bool
    failures: bool
    intervals: bool

    @property
    def n(self) -> int:
        """Number of columns."""
        return 2 + self.undefined + 2 * self.failures + self.intervals


def score_table(title: str, by_profile: dict[str, Sequence[ScoreNode]], items: bool = False) -> Table:
    """Return the score trees of one report with profiles side by side.

    Profiles have the same tree, except that a score that a published file states may be of one profile only.
    A rubric is shown down to its sub-dimensions, or with `items` down to its items. `N/A` counts the metrics and items
    below a line that have no value by the formula itself; `failed` counts units of a metric, parts of a dimension that
    was verified, and items of one that was judged.
    """
    found = Table(title, ("",))
    trees_of = {
        profile: [entry for root in roots for entry in root.walk()] for profile, roots in by_profile.items()
    }
    columns = {
        profile: _Columns(
            undefined=any(_undefined(node) for _, node in tree),
            failures=any(node.score.n_failed or bounds(node.score) for _, node in tree),
            intervals=any(interval(node.score) for _, node in tree),
        )
        for profile, tree in trees_of.items()
    }
    for profile, shown in columns.items():
        found.add_column(profile)
        found.add_column("n/d")
        more = [*(["N/A"] if shown.undefined else []), *(["failed", "bounds"] if shown.failures else [])]
        for name in (*more, *(["95 % interval"] if shown.intervals else [])):
            found.add_column(name)
    nodes_of = {profile: dict(tree) for profile, tree in trees_of.items()}
    labels = {path: node.label for tree in trees_of.values() for path, node in tree}
    for path, label in labels.items():
        # A sub-dimension of one metric is that metric: one line for both. The criteria of a rubric have numbers.
        if (len(path) > 2 and path[-1] == path[-2]) or (not items and any(step.isdecimal() for step in path)):
            continue
        cells: list[str] = []
        for profile, shown in columns.items():
            node = nodes_of[profile].get(path)
            cells += [""] * shown.n if node is None else _cells(node, shown)
        found.add_row("  " * (len(path) - 1) + label, *cells, bold=len(path) == 1)
    return found


def _cells(node: ScoreNode, shown: _Columns) -> list[str]:
    return [
        value(node.score),
        ratio(node.score),
        *([str(_undefined(node) or "")] if shown.undefined else []),
        *([str(_failed(node) or ""), bounds(node.score)] if shown.failures else []),
        *([interval(node.score)] if shown.intervals else []),
    ]


def _undefined(node: ScoreNode) -> int:
    """Return the number of leaves at or below a node that have no value by the formula itself."""
    if node.children:
        return sum(_undefined(child) for child in node.children)
    return int(node.score.value is None and node.score.n_undefined > 0)


def _failed(node: ScoreNode) -> int:
    """Return the number of a node's own units that failed; of a rubric's node, of the items below it."""
    if not _judged(node):
        return node.score.n_failed
    leaves = [one for _, one in node.walk() if not one.children]
    return sum(leaf.score.n_failed for leaf in leaves)


def _judged(node: ScoreNode) -> bool:
    """Check whether a node belongs to a rubric, whose criteria have numbers as ids."""
    return bool(node.children) and all(child.id.isdecimal() or _judged(child) for child in node.children)


def trees(scores: Sequence[ScoreRecord]) -> dict[str, Sequence[ScoreNode]]:
    """Return the score trees of one report and protocol by profile."""
    return {score.profile: score.scores for score in scores}


def plan_table(plan: Plan) -> Table:
    """Return the calls that a run would make."""
    found = Table("", ("",), ("",), headings=False)
    found.add_row("reports", f"{plan.reports:,}")
    found.add_row("calls to make", f"{plan.calls:,}")
    found.add_row("prompt tokens of these calls", f"{plan.prompt_tokens:,}")
    found.add_row("calls answered by the ledger", f"{plan.replayed:,}")
    for judge, calls in plan.calls_by_judge.items():
        found.add_row(f"of the calls, to {judge}", f"{calls:,}")
    found.add_row("sentences whose claims are not extracted yet", f"{plan.sentences_unread:,}")
    found.add_row("reports that cannot be evaluated", f"{len(plan.unreadable):,}")
    found.add_row("reports too long for the judge", f"{len(plan.too_long):,}")
    return found


def plan_notes(plan: Plan) -> Iterator[str]:
    """Yield a line for each report that will not be evaluated, or only in part."""
    for one in plan.unreadable:
        yield f"cannot be evaluated: {safe(one.id, 60)}: {safe(one.why)}"
    for name in plan.too_long:
        yield f"too long for the judge: {safe(name, 60)}"


def cost_table(costs: Sequence[RunCost]) -> Table:
    """Return calls and tokens by run, beside the settings in which the runs differ."""
    names = list(costs[0].settings) if costs else []
    short = [name.rpartition(".")[2] for name in names]
    heads = short if len(set(short)) == len(short) else names
    numbers = ("calls", "prompt tokens", "computed", "generated tokens")
    settings = (head.replace("_", " ") for head in heads)  # so that long names wrap
    found = Table("cost by run", ("run",), (*settings, *numbers))
    for one in costs:
        tokens = one.tokens
        computed = f"{tokens.computed:,}" if tokens.cache_reported else NONE
        found.add_row(
            one.run,
            *(shorten(one.settings[name], 40) for name in names),
            f"{tokens.replies:,}",
            f"{tokens.prompt:,}",
            computed,
            f"{tokens.generated:,}",
        )
    return found


def sweep_plan_tables(plan: SweepPlan) -> Iterator[Table]:
    """Yield the calls of a sweep by judge and stage, and the time of each judge."""
    calls = Table(
        f"{plan.runs:,} runs, {plan.reports:,} reports in all runs together",
        ("judge", "stage"),
        ("calls", "prompt tokens", "output tokens", "in the ledger"),
    )
    for one in plan.stages:
        about = "about " if one.estimated else ""
        numbers = (f"{about}{number:,}" for number in (one.calls, one.prompt_tokens, one.output_tokens))
        calls.add_row(one.judge, one.stage, *numbers, f"{one.replayed:,}")
    yield calls
    hours = Table("", ("judge",), ("GPUs", "tokens/s", "GPU hours"))
    for name in ("rate from", "output tokens from"):
        hours.add_column(name, number=False)
    for judge in plan.judges:
        rate = NONE if judge.tokens_per_second is None else f"{judge.tokens_per_second:,.0f}"
        time = NONE if judge.gpu_hours is None else f"{judge.gpu_hours:.2f}"
        hours.add_row(judge.judge, str(judge.gpus), rate, time, judge.rate_from, judge.output_from)
    yield hours


def sweep_plan_notes(plan: SweepPlan) -> Iterator[str]:
    """Yield what the tables leave out."""
    if any(one.estimated for one in plan.stages):
        yield "about: one call for each page that a report with unknown claims cites; exact after the extraction"
    for id in plan.unreadable:
        yield f"cannot be evaluated: {safe(id, 60)}"
    for id in plan.too_long:
        yield f"too long for a judge: {safe(id, 60)}"


def score_notes(by_profile: Mapping[str, Sequence[ScoreNode]]) -> Iterator[str]:
    """Yield the notes of the roots and of scores outside the verticals, one line each."""
    profiles: dict[tuple[str, str], list[str]] = {}
    for profile, roots in by_profile.items():
        for root in roots:
            for path, node in root.walk():
                if node.score.note and (len(path) == 1 or node.aside):
                    profiles.setdefault((node.label, node.score.note), []).append(profile)
    for (label, note), names in profiles.items():
        of = "" if len(names) == len(by_profile) else f" ({', '.join(names)})"
        yield f"{safe(label)}{of}: {safe(note)}"
