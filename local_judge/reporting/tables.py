"""Terminal tables of a run.

Invariant: everything that came from a report, a page or a judge is printed as plain text (rich markup escaped,
control characters removed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from local_judge.claims.model import Claim, ClaimSet, Verdict
from local_judge.reporting.summary import (
    MANY_COLUMNS,
    RULE_NOTE,
    add_root_columns,
    root_score,
    root_summaries,
    roots_of,
    with_bounds,
)
from local_judge.runs.job import Plan
from local_judge.runs.records import CaseRecord, RunScoreRecord, ScoreRecord, scores_over_reports
from local_judge.runs.verify import VerifiedRow
from local_judge.scoring.node import Score, ScoreNode
from local_judge.scoring.text import bounds, interval, ratio, value
from local_judge.terminal import NONE, count, item_table, plain_table, safe


class _Columns(NamedTuple):
    """Which columns a profile has beside its values."""

    undefined: bool
    failures: bool
    intervals: bool


def score_table(title: str, by_profile: dict[str, Sequence[ScoreNode]], items: bool = False) -> Table:
    """The score trees of one report, profiles side by side, each with what failed in it. All have the same tree.

    A rubric is shown down to its sub-dimensions, or with `items` down to its items. `N/A` counts the metrics and items
    below a line that have no value by the formula itself; `failed` counts units of a metric, parts of a dimension that
    was verified, and items of one that was judged.
    """
    found = plain_table(title)
    found.add_column("")
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
    for profile, (undefined, failures, intervals) in columns.items():
        found.add_column(profile, justify="right")
        found.add_column("n/d", justify="right", style="dim")
        more = [*(["N/A"] if undefined else []), *(["failed", "bounds"] if failures else [])]
        for name in (*more, *(["95 % interval"] if intervals else [])):
            found.add_column(name, justify="right")
    for entries in zip(*trees_of.values(), strict=True):
        path, first = entries[0]
        # A sub-dimension of one metric is that metric: one line for both. The criteria of a rubric have numbers.
        if (len(path) > 2 and path[-1] == path[-2]) or (not items and any(step.isdecimal() for step in path)):
            continue
        cells: list[str] = []
        for (_, node), (undefined, failures, intervals) in zip(entries, columns.values(), strict=True):
            cells += [value(node.score), ratio(node.score)]
            if undefined:
                cells.append(str(_undefined(node) or ""))
            if failures:
                cells += [str(_failed(node) or ""), bounds(node.score)]
            if intervals:
                cells.append(interval(node.score))
        style = "bold" if len(path) == 1 else None
        found.add_row("  " * (len(path) - 1) + safe(first.label), *cells, style=style)
    return found


def _undefined(node: ScoreNode) -> int:
    """How many leaves at or below a node have no value by the formula itself."""
    if node.children:
        return sum(_undefined(child) for child in node.children)
    return int(node.score.value is None and node.score.n_undefined > 0)


def _failed(node: ScoreNode) -> int:
    """How many of a node's own units failed; of a judged one, how many items below it."""
    if not _judged(node):
        return node.score.n_failed
    leaves = [one for _, one in node.walk() if not one.children]
    return sum(leaf.score.n_failed for leaf in leaves)


def _judged(node: ScoreNode) -> bool:
    """Whether all that is below a node is a rubric's: its criteria have numbers."""
    return bool(node.children) and all(child.id.isdecimal() or _judged(child) for child in node.children)


def trees(scores: Sequence[ScoreRecord]) -> dict[str, Sequence[ScoreNode]]:
    """Score trees of one report and protocol by profile."""
    return {score.profile: score.scores for score in scores}


def run_summary(
    records: Sequence[CaseRecord],
    scores: Sequence[ScoreRecord],
    aggregates: Sequence[RunScoreRecord] = (),
) -> RenderableType:
    """A table over all reports: dimensions by report, and their means with what is missing.

    Where a protocol has a rule of its own for scores over reports, such as pooling, a system's row has that score.
    Below a protocol's tables stand, for each system, all of its scores over all reports that are no means.
    `scores` and `aggregates` are of one judge, or of the ensemble.
    """
    parts: list[RenderableType] = [Text(line) for line in unread_sources(records)]
    for protocol in dict.fromkeys(score.protocol for score in scores):
        for profile in dict.fromkeys(score.profile for score in scores if score.protocol == protocol):
            rows = [score for score in scores if score.protocol == protocol and score.profile == profile]
            parts.append(_profile_table(protocol, profile, rows, records, aggregates))
        parts += aggregate_tables([row for row in aggregates if row.protocol == protocol], records)
    troubled = [record for record in records if record.status != "done"]
    parts += [f"{safe(record.id)}: {record.status}: {safe(record.detail)}" for record in troubled]
    return Group(*parts)


def unread_sources(records: Sequence[CaseRecord]) -> Iterator[str]:
    """One line where the snapshot has the texts of fewer than half of the sources that the reports cite."""
    n_sources = sum(record.n_sources for record in records)
    n_read = sum(record.n_sources_read for record in records)
    if 2 * n_read < n_sources:
        verb = "is" if n_sources == 1 else "are"
        yield (
            f"{n_read:,} of {count(n_sources, 'source')} {verb} in the snapshot with text: run "
            "`local-judge snapshot fetch` for a snapshot of what the reports cite."
        )


def aggregate_tables(rows: Sequence[RunScoreRecord], records: Sequence[CaseRecord]) -> list[Table]:
    """One table for each system's scores over all its reports, profiles side by side."""
    tables: list[Table] = []
    for system in dict.fromkeys(row.system for row in rows if row.scores):
        own = [row for row in rows if row.system == system]
        missing = f", {own[0].n_missing} of them missing" if own[0].n_missing else ""
        of = f" of {safe(system, 40)}" if system is not None else ""
        reports = f"{count(own[0].n_reports, 'report')}{of} together{missing}"
        title = f"{own[0].protocol}{by_whom(records, own[0].judge)}, {reports}"
        tables.append(score_table(title, {row.profile: row.scores for row in own}))
    return tables


def by_whom(records: Sequence[CaseRecord], judge: str | None) -> str:
    """`, judge a` or `, 2 judges together`, for a title; nothing where there is one judge."""
    if judge is not None:
        return f", judge {safe(judge)}"
    n_judges = max((len(record.n_failed_by_judge) for record in records), default=0)
    return f", {n_judges} judges together" if n_judges else ""


def _profile_table(
    protocol: str,
    profile: str,
    rows: Sequence[ScoreRecord],
    records: Sequence[CaseRecord],
    aggregates: Sequence[RunScoreRecord],
) -> Table:
    found = plain_table(f"{protocol} ({profile} profile{by_whom(records, rows[0].judge)})")
    roots = roots_of(rows)
    many = len(roots) > MANY_COLUMNS
    found.add_column("report", min_width=12 if many else None, overflow="fold")
    add_root_columns(found, roots)
    found.add_column("sources read", justify="right")
    found.add_column("calls failed", justify="right")
    by_id = {record.id: record for record in records}
    for row in rows:
        found.add_row(
            safe(row.case, 24 if many else 40),
            *(with_bounds(root_score(row, root), below=many) for root in roots),
            _sources([by_id[row.case]]),
            str(by_id[row.case].calls_failed(row.judge) or ""),
        )
    if len(records) == 1:
        return found
    systems = list(dict.fromkeys(record.system for record in records))
    by_rule = {system: scores_over_reports(aggregates, rows[0], system) for system in systems}
    found.add_section()
    if len(systems) > 1:
        for system in systems:
            own = [record for record in records if record.system == system]
            name = safe(system, 20) if system is not None else "no system named"
            _add_means(found, f"{name}: mean", own, rows, roots, by_rule[system])
        found.add_section()
    # No protocol has a rule for reports of several systems: of these it is the plain mean.
    _add_means(found, "mean", records, rows, roots, by_rule[systems[0]] if len(systems) == 1 else {})
    if any((root,) in own for own in by_rule.values() for root in roots):
        found.caption, found.caption_justify = RULE_NOTE, "left"
    return found


def _add_means(
    found: Table,
    name: str,
    records: Sequence[CaseRecord],
    rows: Sequence[ScoreRecord],
    roots: Mapping[str, str],
    by_rule: Mapping[tuple[str, ...], Score],
) -> None:
    """Scores of several reports: their means, or by the protocol's rule; below them what failures leave open."""
    ids = {record.id for record in records}
    own = [row for row in rows if row.case in ids]
    means = root_summaries(own, roots, len(records), by_rule)
    found.add_row(
        f"{name} of {len(own)} of {count(len(records), 'report')}",
        *(mean.text() for mean in means),
        _sources(records),
        "",
        style="bold",
    )
    if any(bounds(mean.score) or mean.score.n_failed for mean in means):
        open_ends = (bounds(mean.score) or NONE for mean in means)
        found.add_row("bounds by failures", *open_ends, "", "", style="dim")


def _sources(records: Sequence[CaseRecord]) -> str:
    """Sources read of those that the claims lean on; a dash where no claims were verified."""
    n_sources = sum(record.n_sources for record in records)
    return f"{sum(record.n_sources_read for record in records)}/{n_sources}" if n_sources else NONE


def claim_summary(claims: ClaimSet) -> Table:
    """Counts of one claim set: claims by type, sources by status, verdicts by label."""
    found = plain_table(headings=False)
    found.add_column(style="dim")
    found.add_column()
    types = Counter(claim.type for claim in claims.claims)
    found.add_row("claims", _tally(len(claims.claims), types))
    found.add_row("sources", _tally(len(claims.sources), Counter(source.status for source in claims.sources)))
    labels = Counter(
        verdict.label or f"failed: {verdict.failure.kind if verdict.failure else ''}"
        for verdict in claims.verdicts
    )
    found.add_row("verdicts", _tally(len(claims.verdicts), labels))
    quoted = sum(verdict.quote is not None for verdict in claims.verdicts)
    rejected = sum(verdict.quote_rejected is not None for verdict in claims.verdicts)
    found.add_row("quotations", f"{quoted} found in their page, {rejected} rejected")
    if claims.extraction_failures:
        missing = sum(len(failure.sentences) for failure in claims.extraction_failures)
        kinds = Counter(failure.failure.kind for failure in claims.extraction_failures)
        found.add_row(
            "not extracted", f"{missing} of {count(claims.n_sentences, 'sentence')}: {_tally(None, kinds)}"
        )
    return found


def _tally(total: int | None, counts: Counter[str]) -> str:
    listed = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    if total is None:
        return listed
    return f"{total}" + (f" ({listed})" if listed else "")


def verdict_table(claims: ClaimSet) -> Table:
    """Every claim with each of its verdicts and the quotation that it rests on."""
    found = item_table("claim", "type", "text", "source", "verdict", "quotation")
    by_claim: dict[str, list[Verdict]] = {}
    for verdict in claims.verdicts:
        by_claim.setdefault(verdict.claim, []).append(verdict)
    missing = {claim: source for source in claims.sources if source.status != "ok" for claim in source.claims}
    for claim in claims.claims:
        verdicts = by_claim.get(claim.id, [])
        for verdict in verdicts:
            found.add_row(*_claim_cells(claim), safe(verdict.url), _outcome(verdict), _quotation(verdict))
        if not verdicts:
            source = missing.get(claim.id)
            found.add_row(
                *_claim_cells(claim),
                safe(source.url) if source else NONE,
                source.status if source else NONE,
                "",
            )
    return found


def _claim_cells(claim: Claim) -> tuple[str, str, str]:
    recovered = f" ← {', '.join(claim.recovered_from)}" if claim.recovered_from else ""
    return claim.id, claim.type + recovered, safe(claim.text)


def _outcome(verdict: Verdict) -> str:
    if verdict.label is None:
        return f"failed: {verdict.failure.kind if verdict.failure else 'unknown'}"
    return verdict.label + (f" {verdict.confidence:.2f}" if verdict.confidence is not None else "")


def _quotation(verdict: Verdict) -> str:
    if verdict.quote is not None:
        place = f"{verdict.quote.start}-{verdict.quote.end}"
        return f"{safe(verdict.quote.text)} ({'title ' if verdict.quote.in_title else ''}{place})"
    return f"rejected: {safe(verdict.quote_rejected)}" if verdict.quote_rejected is not None else ""


def plan_table(plan: Plan) -> Table:
    """What a run would ask."""
    found = plain_table(headings=False)
    found.add_column(style="dim")
    found.add_column(justify="right")
    found.add_row("reports", f"{plan.reports:,}")
    found.add_row("calls to make", f"{plan.calls:,}")
    found.add_row("prompt tokens of these calls", f"{plan.prompt_tokens:,}")
    found.add_row("calls answered by the ledger", f"{plan.replayed:,}")
    for judge, calls in plan.calls_by_judge.items():
        found.add_row(f"of the calls, to {safe(judge)}", f"{calls:,}")
    found.add_row("sentences to read before verification can be planned", f"{plan.sentences_unread:,}")
    found.add_row("reports that cannot be evaluated", f"{len(plan.unreadable):,}")
    found.add_row("reports too long for the judge", f"{len(plan.too_long):,}")
    return found


def plan_notes(plan: Plan) -> Iterator[str]:
    """The reports that will not be evaluated, or not wholly, a line each, safe to print."""
    for one in plan.unreadable:
        yield f"cannot be evaluated: {safe(one.id, 60)}: {safe(one.why)}"
    for name in plan.too_long:
        yield f"too long for the judge: {safe(name, 60)}"


def verified_table(rows: Sequence[VerifiedRow]) -> Table:
    """Verdicts on claims that were given with their URLs."""
    found = plain_table(texts=("id", "claim", "verdict", "quotation"))
    for row in rows:
        verdict = row.label or (f"failed: {row.failure.kind}" if row.failure else row.status)
        if row.confidence is not None:
            verdict += f" {row.confidence:.2f}"
        rejected = f"rejected: {safe(row.quote_rejected)}" if row.quote_rejected is not None else ""
        found.add_row(safe(row.id), safe(row.claim), verdict, safe(row.quote) if row.quote else rejected)
    return found


def score_notes(by_profile: Mapping[str, Sequence[ScoreNode]]) -> Iterator[str]:
    """What a reader must know of the roots, and of scores that are set aside, one line each."""
    profiles: dict[tuple[str, str], list[str]] = {}
    for profile, roots in by_profile.items():
        for root in roots:
            for path, node in root.walk():
                if node.score.note and (len(path) == 1 or node.aside):
                    profiles.setdefault((node.label, node.score.note), []).append(profile)
    for (label, note), names in profiles.items():
        of = "" if len(names) == len(by_profile) else f" ({', '.join(names)})"
        yield f"{safe(label)}{of}: {safe(note)}"
