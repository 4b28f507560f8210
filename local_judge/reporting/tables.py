"""Terminal tables of a run.

Invariant: everything that came from a report, a page or a judge is printed as plain text (rich markup escaped,
control characters removed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from local_judge.claims.model import Claim, ClaimSet, Verdict
from local_judge.errors import plain
from local_judge.protocols.scores import Score, ScoreNode, mean_of
from local_judge.reporting.numbers import NONE, bounds, count, interval, ratio, value
from local_judge.runs.job import Plan
from local_judge.runs.records import CaseRecord, RunScoreRecord, ScoreRecord, scores_over_reports
from local_judge.runs.verify import VerifiedRow


def safe(text: str, limit: int | None = None) -> str:
    """Untrusted text for the terminal: no control characters, no markup, at most `limit` characters."""
    shown = plain(text)
    if limit is not None and len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return escape(shown)


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
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
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
        table.add_column(profile, justify="right")
        table.add_column("n/d", justify="right", style="dim")
        if undefined:
            table.add_column("N/A", justify="right")
        if failures:
            table.add_column("failed", justify="right")
            table.add_column("bounds", justify="right")
        if intervals:
            table.add_column("95 % interval", justify="right")
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
        table.add_row("  " * (len(path) - 1) + safe(first.label), *cells, style=style)
    return table


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
    records: Sequence[CaseRecord], scores: Sequence[ScoreRecord], over: Sequence[RunScoreRecord] = ()
) -> RenderableType:
    """A table over all reports: dimensions by report, and their means with what is missing.

    Where a protocol has a rule of its own for scores over reports, such as pooling, a system's row has that score.
    Below a protocol's tables stand, for each system, all of its scores over all reports that are no means.
    `scores` and `over` are of one judge, or of all together.
    """
    parts: list[RenderableType] = [Text(line) for line in unread_sources(records)]
    for protocol in dict.fromkeys(score.protocol for score in scores):
        for profile in dict.fromkeys(score.profile for score in scores if score.protocol == protocol):
            rows = [score for score in scores if score.protocol == protocol and score.profile == profile]
            parts.append(_profile_table(protocol, profile, rows, records, over))
        parts += over_tables([row for row in over if row.protocol == protocol], records)
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


def over_tables(rows: Sequence[RunScoreRecord], records: Sequence[CaseRecord]) -> list[Table]:
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


BY_RULE = "*"
RULE_NOTE = f"{BY_RULE} over all reports by the protocol's own rule, not a mean of scores"

MANY_COLUMNS = 4
"""From more scores than this on, what failures leave open stands below a value and not beside it."""


UNKNOWN = Score(value=None, n_expected=1, n_failed=1)
"""Of a report that could not be evaluated."""


def with_bounds(score: Score, below: bool, shown: str | None = None) -> str:
    """A value, or what is `shown` for it, beside what failures leave open: it may rest on one metric of five.

    Of a value that rests on a sample, the interval for the whole stands there too.
    """
    whole = interval(score)
    said = "; ".join(part for part in (bounds(score), f"95 %: {whole}" if whole else "") if part)
    return (shown or value(score)) + (f"{chr(10) if below else ' '}({said})" if said else "")


def _profile_table(
    protocol: str,
    profile: str,
    rows: Sequence[ScoreRecord],
    records: Sequence[CaseRecord],
    over: Sequence[RunScoreRecord],
) -> Table:
    title = f"{protocol} ({profile} profile{by_whom(records, rows[0].judge)})"
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    roots = rows[0].scores
    many = len(roots) > MANY_COLUMNS
    table.add_column("report", min_width=12 if many else None, overflow="fold")
    for root in roots:
        table.add_column(safe(root.label), justify="right", min_width=5, overflow="fold")
    table.add_column("sources read", justify="right")
    table.add_column("calls failed", justify="right")
    by_id = {record.id: record for record in records}
    for row in rows:
        table.add_row(
            safe(row.case, 24 if many else 40),
            *(with_bounds(root.score, below=many) for root in row.scores),
            _sources([by_id[row.case]]),
            str(by_id[row.case].calls_failed(row.judge) or ""),
        )
    systems = list(dict.fromkeys(record.system for record in records))
    if len(records) > 1 and len(systems) > 1:
        table.add_section()
        for system in systems:
            own = [record for record in records if record.system == system]
            name = safe(system, 20) if system is not None else "no system named"
            _add_means(table, f"{name}: mean", own, rows, scores_over_reports(over, rows[0], system))
    if len(records) > 1:
        table.add_section()
        pooled = [scores_over_reports(over, rows[0], system) for system in systems]
        # No protocol has a rule for reports of several systems: of these it is the plain mean.
        _add_means(table, "mean", records, rows, pooled[0] if len(systems) == 1 else {})
        if any(path == (root.id,) for one in pooled for path in one for root in roots):
            table.caption, table.caption_justify = RULE_NOTE, "left"
    return table


def _add_means(
    table: Table,
    name: str,
    records: Sequence[CaseRecord],
    rows: Sequence[ScoreRecord],
    by_rule: Mapping[tuple[str, ...], Score],
) -> None:
    """Scores of several reports: their means, or by the protocol's rule; below them what failures leave open."""
    ids = {record.id for record in records}
    own = [row for row in rows if row.case in ids]
    means: list[Score] = []
    cells: list[str] = []
    for column, root in enumerate(rows[0].scores):
        scores = [row.scores[column].score for row in own] + [UNKNOWN] * (len(records) - len(own))
        if (root.id,) in by_rule:
            means.append(by_rule[root.id,])
            cells.append(f"{value(means[-1])}{BY_RULE}")
        else:
            means.append(mean_of(scores))
            cells.append(mean_cell(means[-1], scores))
    table.add_row(
        f"{name} of {len(own)} of {count(len(records), 'report')}",
        *cells,
        _sources(records),
        "",
        style="bold",
    )
    if any(bounds(mean) or mean.n_failed for mean in means):
        open_ends = (bounds(mean) or NONE for mean in means)
        table.add_row("bounds by failures", *open_ends, "", "", style="dim")


def _sources(records: Sequence[CaseRecord]) -> str:
    """Sources read of those that the claims lean on; a dash where no claims were verified."""
    n_sources = sum(record.n_sources for record in records)
    return f"{sum(record.n_sources_read for record in records)}/{n_sources}" if n_sources else NONE


def mean_cell(mean: Score, scores: Sequence[Score]) -> str:
    """A mean, and of how many it is where some reports have no value."""
    known = sum(score.value is not None for score in scores)
    return value(mean) + (f" (of {known})" if 0 < known < len(scores) else "")


def claim_summary(claims: ClaimSet) -> Table:
    """Counts of one claim set: claims by type, sources by status, verdicts by label."""
    table = Table(show_header=False, show_edge=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    types = Counter(claim.type for claim in claims.claims)
    table.add_row("claims", _tally(len(claims.claims), types))
    table.add_row("sources", _tally(len(claims.sources), Counter(source.status for source in claims.sources)))
    labels = Counter(
        verdict.label or f"failed: {verdict.failure.kind if verdict.failure else ''}"
        for verdict in claims.verdicts
    )
    table.add_row("verdicts", _tally(len(claims.verdicts), labels))
    quoted = sum(verdict.quote is not None for verdict in claims.verdicts)
    rejected = sum(verdict.quote_rejected is not None for verdict in claims.verdicts)
    table.add_row("quotations", f"{quoted} found in their page, {rejected} rejected")
    if claims.extraction_failures:
        missing = sum(len(failure.sentences) for failure in claims.extraction_failures)
        kinds = Counter(failure.failure.kind for failure in claims.extraction_failures)
        table.add_row(
            "not extracted", f"{missing} of {count(claims.n_sentences, 'sentence')}: {_tally(None, kinds)}"
        )
    return table


def _tally(total: int | None, counts: Counter[str]) -> str:
    listed = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    if total is None:
        return listed
    return f"{total}" + (f" ({listed})" if listed else "")


def verdict_table(claims: ClaimSet) -> Table:
    """Every claim with each of its verdicts and the quotation that it rests on."""
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in ("claim", "type", "text", "source", "verdict", "quotation"):
        table.add_column(column, overflow="fold")
    by_claim: dict[str, list[Verdict]] = {}
    for verdict in claims.verdicts:
        by_claim.setdefault(verdict.claim, []).append(verdict)
    missing = {claim: source for source in claims.sources if source.status != "ok" for claim in source.claims}
    for claim in claims.claims:
        verdicts = by_claim.get(claim.id, [])
        for verdict in verdicts:
            table.add_row(*_claim_cells(claim), safe(verdict.url), _outcome(verdict), _quotation(verdict))
        if not verdicts:
            source = missing.get(claim.id)
            table.add_row(
                *_claim_cells(claim),
                safe(source.url) if source else NONE,
                source.status if source else NONE,
                "",
            )
    return table


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


class _Output(Console):
    """A console that leaves it to the command line to end when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Called where the error is handled: it goes on."""
        raise


def stdout() -> Console:
    """The console for results; wide enough for tables when it is not a terminal.

    A text is printed as it is: ":x:" in a claim is no emoji.
    """
    console = _Output(highlight=False, emoji=False)
    return console if console.is_terminal else _Output(highlight=False, emoji=False, width=160)


def plan_table(plan: Plan) -> Table:
    """What a run would ask."""
    table = Table(show_header=False, show_edge=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_row("reports", f"{plan.reports:,}")
    table.add_row("calls to make", f"{plan.calls:,}")
    table.add_row("prompt tokens of these calls", f"{plan.prompt_tokens:,}")
    table.add_row("calls answered by the ledger", f"{plan.replayed:,}")
    for judge, calls in plan.calls_by_judge.items():
        table.add_row(f"of the calls, to {safe(judge)}", f"{calls:,}")
    table.add_row("sentences to read before verification can be planned", f"{plan.sentences_unread:,}")
    table.add_row("reports that cannot be evaluated", f"{len(plan.unreadable):,}")
    table.add_row("reports too long for the judge", f"{len(plan.too_long):,}")
    return table


def plan_notes(plan: Plan) -> Iterator[str]:
    """The reports that will not be evaluated, or not wholly, a line each, safe to print."""
    for one in plan.unreadable:
        yield f"cannot be evaluated: {safe(one.id, 60)}: {safe(one.why)}"
    for name in plan.too_long:
        yield f"too long for the judge: {safe(name, 60)}"


def verified_table(rows: Sequence[VerifiedRow]) -> Table:
    """Verdicts on claims that were given with their URLs."""
    table = Table(show_edge=False, pad_edge=False)
    for column in ("id", "claim", "verdict", "quotation"):
        table.add_column(column, overflow="fold")
    for row in rows:
        verdict = row.label or (f"failed: {row.failure.kind}" if row.failure else row.status)
        if row.confidence is not None:
            verdict += f" {row.confidence:.2f}"
        rejected = f"rejected: {safe(row.quote_rejected)}" if row.quote_rejected is not None else ""
        table.add_row(safe(row.id), safe(row.claim), verdict, safe(row.quote) if row.quote else rejected)
    return table
