"""Terminal tables of FACT: each pair of statement and URL, with what the page says of it.

Invariant: as in `reporting.tables`; an unknown pair is shown with its reason, a known one with the words of the page
that it rests on, where the judge gave any, or with the claim whose verdict has them.
"""

from __future__ import annotations

from collections import Counter

from rich.table import Table

from local_judge.protocols.fact.findings import FactFindings, Pair
from local_judge.terminal import count, item_table, safe

_SOURCES = {"shared": "the claim set", "own": "FACT's own flow", "file": "a file of rows"}


def fact_line(findings: FactFindings) -> str:
    """Summarise the findings in one line."""
    outcomes = Counter(pair.outcome for pair in findings.pairs)
    said = ", ".join(f"{n} {name}" for name, n in sorted(outcomes.items()))
    parts = [
        f"fact: {count(len(findings.pairs), 'pair')} from {_SOURCES[findings.source]}{f' ({said})' if said else ''}"
    ]
    if findings.repeats:
        parts.append(f"{count(len(findings.repeats), 'repeat')} taken out")
    if findings.n_unresolved:
        parts.append(f"{count(findings.n_unresolved, 'citation')} without an address")
    return "; ".join(parts)


def pair_table(findings: FactFindings) -> Table:
    """Each pair, in the report's order."""
    table = item_table("sentence", "statement", "source", "outcome", "page's words, or why")
    for pair in findings.pairs:
        outcome = pair.outcome if pair.reason is None else f"{pair.outcome}: {pair.reason.replace('_', ' ')}"
        table.add_row(safe(pair.sentence), safe(pair.statement), safe(pair.url), outcome, _why(pair))
    return table


def _why(pair: Pair) -> str:
    if pair.failure is not None:
        return safe(f"{pair.failure.kind}: {pair.failure.detail}")
    if pair.judged is None:
        return f"see claim {pair.claim} with --claims" if pair.claim and pair.reason is None else ""
    said = pair.judged
    parts = [f'"{safe(said.quote.text)}"'] if said.quote is not None else []
    if said.quote_rejected:
        parts.append(f'rejected quotation: "{safe(said.quote_rejected)}"')
    if said.rationale:
        parts.append(safe(said.rationale))
    return " ".join(parts)
