"""Claims and verdicts in the terminal: one block for each claim and source, worst first.

Invariant: everything that came from a report, a page or a judge is printed as plain text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.table import Table as Blocks

from local_judge.base.failures import Failure
from local_judge.base.output import NONE, Table, count
from local_judge.claims.model import Claim, ClaimSet, Label, Verdict
from local_judge.rubric.answers import ItemRow
from local_judge.runs.execution.verify import VerifiedRow
from local_judge.terminal import safe

WORST_FIRST: tuple[Label | None, ...] = (
    *("contradicted", "not_found", "off_topic", "partial"),
    "unusable",
    None,
    "supported",
)
"""Labels in the order in which claims are shown; None stands for claims without a verdict."""


class _Block(NamedTuple):
    """One claim with one source."""

    claim: str
    source: str
    label: Label | None
    verdict: str
    confidence: float | None
    quotation: str = ""
    rationale: str = ""
    more: tuple[tuple[str, str], ...] = ()
    """Further lines: name and text."""


def claim_blocks(claims: ClaimSet) -> Blocks:
    """Return each claim of a report with its sources, verdicts and quotations."""
    return _table(_blocks(claims))


def verified_blocks(rows: Sequence[VerifiedRow]) -> Blocks:
    """Return the verdicts on claims that were given with their URLs."""
    return _table(
        _Block(
            claim=row.claim,
            source=row.url,
            label=row.label,
            verdict=_verdict(row.label, row.failure, row.confidence, row.confidence_raw)
            or f"none: page {row.status}",
            confidence=row.confidence,
            quotation=_quotation(row.quote or "", row.quote_span, row.quote_in_title, row.quote_rejected),
            rationale=row.rationale,
            more=(("id", row.id),),
        )
        for row in rows
    )


def _table(blocks: Iterable[_Block]) -> Blocks:
    """Return blocks, worst first: by label, then by confidence, then in the given order."""
    found = Blocks.grid(padding=(0, 2))
    found.add_column(style="dim", no_wrap=True)
    found.add_column(overflow="fold")
    ordered = sorted(blocks, key=lambda one: (WORST_FIRST.index(one.label), one.confidence or 0.0))
    for number, one in enumerate(ordered):
        if number:
            found.add_row()
        found.add_row("claim", safe(one.claim))
        for name, text in one.more:
            found.add_row(name, safe(text))
        found.add_row("source", safe(one.source))
        found.add_row("verdict", safe(one.verdict))
        if one.quotation:
            found.add_row("quotation", safe(one.quotation))
        if one.rationale:
            found.add_row("rationale", safe(one.rationale))
    return found


def _blocks(claims: ClaimSet) -> Iterator[_Block]:
    by_claim: dict[str, list[Verdict]] = {}
    for verdict in claims.verdicts:
        by_claim.setdefault(verdict.claim, []).append(verdict)
    missing = {claim: source for source in claims.sources if source.status != "ok" for claim in source.claims}
    citing = {source.url: source.claims for source in claims.sources}
    for claim in claims.claims:
        verdicts = by_claim.get(claim.id, [])
        for one in verdicts:
            quote = one.quote
            found = (
                ("", None, False) if quote is None else (quote.text, (quote.start, quote.end), quote.in_title)
            )
            yield _Block(
                claim=claim.text,
                source=one.url,
                label=one.label,
                verdict=_verdict(one.label, one.failure, one.confidence, one.confidence_raw) or NONE,
                confidence=one.confidence,
                quotation=_quotation(*found, one.quote_rejected),
                rationale=one.rationale,
                more=_recovered(claim) if claim.id in citing.get(one.url, ()) else UPSTREAM_ONLY,
            )
        if not verdicts:
            source = missing.get(claim.id)
            why = f"none: page {source.status}" if source else "none: no source"
            yield _Block(claim.text, source.url if source else NONE, None, why, None, more=_recovered(claim))


UPSTREAM_ONLY = (("counts", "in the profile upstream only"),)
"""Line of a verdict on a page that a claim cites by the published code's back-tracking alone."""


def _recovered(claim: Claim) -> tuple[tuple[str, str], ...]:
    """Return the line that names the sentences whose citations the claim shares."""
    return (("cited in", ", ".join(claim.recovered_from)),) if claim.recovered_from else ()


def _verdict(
    label: Label | None, failure: Failure | None, confidence: float | None, raw: float | None
) -> str:
    """Return `not_found, P(yes) = 0.19`, or the failure; nothing without both."""
    if label is None:
        return f"failed: {failure.kind}" if failure else ""
    if confidence is None:
        return label
    return f"{label}, P(yes) = {confidence:.2f}" + ("" if raw is None else f" (calibrated; {raw:.2f} before)")


def _quotation(text: str, span: tuple[int, int] | None, in_title: bool, rejected: str | None) -> str:
    """Return a quotation with its place, or the judge's quotation that the page does not contain."""
    if not text:
        return f'not in the page: "{rejected}"' if rejected is not None else ""
    place = f"  (characters {span[0]} to {span[1]} of the {'title' if in_title else 'page'})" if span else ""
    return f'"{text}"{place}'


def item_tables(rows: Sequence[ItemRow]) -> Iterator[Table]:
    """Yield a table of the answers of each metric, with the reasons for each answer."""
    for metric in dict.fromkeys(row.metric for row in rows):
        found = Table(metric, ("item", "asked", "answer", "why"), ruled=True)
        for row in rows:
            if row.metric == metric:
                value = f"{row.value:g}" if isinstance(row.value, int | float) else row.value or NONE
                asked = "\n".join(filter(None, (row.text, row.url)))
                found.add_row(row.item, asked, value, "\n".join(_reasons(row)))
        yield found


def _reasons(row: ItemRow) -> Iterator[str]:
    if row.failure is not None:
        yield f"failed: {row.failure.kind}: {row.failure.detail}"
    if row.rationale:
        yield row.rationale
    yield from row.details
    if row.quote is not None:
        yield f'"{row.quote.text}"'
    if row.quote_rejected is not None:
        yield f'not in the {"page" if row.url else "report"}: "{row.quote_rejected}"'


def claim_summary(claims: ClaimSet) -> Table:
    """Return the counts of a claim set: claims by type, sources by status, verdicts by label."""
    found = Table(texts=("", ""), headings=False)
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
