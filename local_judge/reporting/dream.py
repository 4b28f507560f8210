"""Terminal tables of DREAM's metrics: marks of writing, claims with their evidence, cited sources and domains.

Invariant: as in `reporting.tables`; each number shown leads to a quotation, and one that does not occur is shown as
such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table

from local_judge.protocols.dream import DreamFindings
from local_judge.protocols.dream.authority.domains import shown as domain_shown
from local_judge.protocols.dream.authority.findings import AuthorityFindings
from local_judge.protocols.dream.citation.findings import CheckedSource, CitationFindings
from local_judge.protocols.dream.factuality.findings import CheckedFact, Evidence, FactualityFindings
from local_judge.protocols.dream.writing.findings import WritingFindings
from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe

SHOWN_REASONS = 3
"""Of a refused query; `--json` and the findings have all."""


def dream_lines(findings: DreamFindings) -> Iterator[str]:
    """What was found by each metric that needs no plan, one line each."""
    if findings.writing is not None:
        rejected = sum(mark.quote_rejected is not None for mark in findings.writing.marks)
        failed = findings.writing.n_failed
        yield f"writing: {10 - failed} of 10 sub-dimensions scored; {count(rejected, 'quotation')} rejected"
    if findings.factuality is not None:
        yield f"factuality: {_facts(findings.factuality)}"
    if findings.citation is not None:
        yield f"citation: {_cited(findings.citation)}"
    if findings.authority is not None:
        found = findings.authority.domains
        given = sum(domain.by == "file" for domain in found)
        failed = f", {findings.authority.n_failed} failed" if findings.authority.n_failed else ""
        yield f"authority: {count(len(found), 'domain')}, {given} rated by people{failed}"


def dream_tables(findings: DreamFindings) -> Iterator[Table]:
    """All that these scores rest on."""
    if findings.writing is not None:
        yield _writing_table(findings.writing)
    if findings.factuality is not None and findings.factuality.facts:
        yield _fact_table(findings.factuality)
    if findings.citation is not None and findings.citation.claims:
        yield _citation_table(findings.citation)
    if findings.authority is not None and findings.authority.domains:
        yield _domain_table(findings.authority)


def _facts(found: FactualityFindings) -> str:
    labels = _counted([fact.label or "failed" for fact in found.facts])
    by_code = sum(query.by == "code" for fact in found.facts for query in fact.queries)
    refused = sum(len(fact.refused) for fact in found.facts)
    queries = "" if found.method == "agent" else f"; {refused} queries refused, {by_code} made by code"
    chosen = f"{len(found.facts)} of {count(found.n_verifiable, 'verifiable claim')}"
    return f"{chosen} checked ({labels}){queries}; {len(found.wishes)} wishes"


def _cited(found: CitationFindings) -> str:
    cited = [claim for claim in found.claims if claim.sources]
    outcomes = _counted([source.outcome for claim in cited for source in claim.sources])
    return f"{len(cited)} of {count(len(found.claims), 'verifiable claim')} cited; their sources: {outcomes}"


def _counted(words: Sequence[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(words).most_common()) or "none"


def _table(*columns: str) -> Table:
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _writing_table(found: WritingFindings) -> Table:
    table = _table("writing", "score", "why")
    for mark in found.marks:
        why = [safe(mark.rationale)] if mark.rationale else []
        why += [_quoted(mark.quote.text)] if mark.quote is not None else []
        why += [_missing(mark.quote_rejected, "report")] if mark.quote_rejected is not None else []
        if mark.failure is not None:
            why = [f"failed: {mark.failure.kind}"]
        table.add_row(mark.id, NONE if mark.score is None else str(mark.score), "\n".join(why))
    return table


def _fact_table(found: FactualityFindings) -> Table:
    table = _table("claim", "text", "label", "queries", "evidence")
    for fact in found.facts:
        label = f"failed: {fact.failure.kind}" if fact.failure is not None else fact.label or NONE
        table.add_row(fact.id, safe(fact.text), label, _queries(fact), "\n".join(_evidence(fact)))
    return table


def _queries(fact: CheckedFact) -> str:
    lines = [safe(query.text) + (" (code)" if query.by == "code" else "") for query in fact.queries]
    lines += [f"refused: {safe(query.text)} ({_some(query.why)})" for query in fact.refused]
    if fact.run is not None:
        lines.append(f"agent: {fact.run.outcome}, {count(fact.run.spent.turns, 'turn')}")
    return "\n".join(lines)


def _some(reasons: Sequence[str]) -> str:
    """The first reasons, and how many more there are."""
    more = f", and {len(reasons) - SHOWN_REASONS} more" if len(reasons) > SHOWN_REASONS else ""
    return f"{safe(', '.join(reasons[:SHOWN_REASONS]))}{more}"


def _evidence(fact: CheckedFact) -> Iterator[str]:
    for side, given in (("for", fact.supporting), ("against", fact.opposing)):
        yield from (f"{side}: {_place(one)}" for one in given)
    yield from (_missing(words, "passages") for words in fact.rejected)
    if fact.rationale:
        yield safe(fact.rationale)


def _place(one: Evidence) -> str:
    where = f"{'title ' if one.quote.in_title else ''}{one.quote.start}-{one.quote.end}"
    return f"{_quoted(one.quote.text)} ({safe(one.url)}, {where})"


def _citation_table(found: CitationFindings) -> Table:
    table = _table("claim", "text", "cited source", "outcome", "evidence")
    for claim in found.claims:
        for source in claim.sources:
            table.add_row(claim.id, safe(claim.text), _address(source), source.outcome, _basis(source))
        if not claim.sources:
            table.add_row(claim.id, safe(claim.text), NONE, "uncited", "")
    return table


def _address(source: CheckedSource) -> str:
    return "leads to no address" if source.url is None else f"{safe(source.url)} ({source.status})"


def _basis(source: CheckedSource) -> str:
    lines = [_quoted(source.quote.text)] if source.quote is not None else []
    lines += [_missing(source.quote_rejected, "page")] if source.quote_rejected is not None else []
    lines += [safe(source.rationale)] if source.rationale else []
    lines += [f"failed: {source.failure.kind}"] if source.failure is not None else []
    return "\n".join(lines)


def _domain_table(found: AuthorityFindings) -> Table:
    table = _table("domain", "score", "by", "addresses", "why")
    for domain in found.domains:
        why = f"failed: {domain.failure.kind}" if domain.failure is not None else safe(domain.rationale)
        score = NONE if domain.score is None else str(domain.score)
        table.add_row(safe(domain_shown(domain.domain)), score, domain.by, str(len(domain.urls)), why)
    return table


def _quoted(words: str) -> str:
    return f'"{safe(words)}"'


def _missing(words: str, where: str) -> str:
    return f"not in the {where}: {_quoted(words)}"
