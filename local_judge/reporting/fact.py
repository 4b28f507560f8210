"""Terminal tables of FACT: each pair of statement and URL, with what the page says of it.

Invariant: as in `reporting.tables`; an unknown pair is shown with its reason, a known one with the words of the page
that it rests on, where the judge gave any.
"""

from __future__ import annotations

from collections import Counter

from rich.table import Table

from local_judge.protocols.fact import FactFindings
from local_judge.protocols.fact.findings import Pair
from local_judge.reporting.numbers import count
from local_judge.reporting.tables import safe

_SOURCES = {"shared": "the claim set", "own": "FACT's own flow", "file": "a file of rows"}


def fact_line(findings: FactFindings) -> str:
    """What was found, in one line."""
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
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in ("sentence", "statement", "source", "outcome", "page's words, or why"):
        table.add_column(column, overflow="fold")
    for pair in findings.pairs:
        outcome = pair.outcome if pair.reason is None else f"{pair.outcome}: {pair.reason.replace('_', ' ')}"
        table.add_row(safe(pair.sentence), safe(pair.statement), safe(pair.url), outcome, _why(pair))
    return table


def _why(pair: Pair) -> str:
    parts = [f'"{safe(pair.quote.text)}"'] if pair.quote is not None else []
    if pair.quote_rejected:
        parts.append(f'rejected quotation: "{safe(pair.quote_rejected)}"')
    if pair.failure is not None:
        parts.append(safe(f"{pair.failure.kind}: {pair.failure.detail}"))
    elif pair.rationale:
        parts.append(safe(pair.rationale))
    return " ".join(parts)
