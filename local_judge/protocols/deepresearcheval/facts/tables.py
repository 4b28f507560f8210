"""Terminal tables of active fact-checking: statements with their labels, evidence, and the way to it.

Invariant: every quotation is shown with what code found, and a label that its evidence does not bear out with the label
that it replaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from rich.table import Table

from local_judge.agents.result import Step
from local_judge.protocols.deepresearcheval.facts.findings import Evidence, FactsFindings, Ruling
from local_judge.terminal import NONE, count, item_table, safe

_MARKS = {"found": "", "not_in_page": " NOT IN THE PAGE", "not_shown": " NOT A PAGE THAT WAS READ"}


def facts_lines(found: FactsFindings) -> Iterator[str]:
    """What was found and checked, and how far the snapshot could answer."""
    yield f"facts: {_statements(found)}"
    labels = Counter(ruling.label or ruling.given or "failed" for ruling in found.rulings)
    by = "" if found.method is None else f" by {found.method}"
    yield f"checked{by}: {', '.join(f'{n} {safe(label)}' for label, n in sorted(labels.items())) or 'none'}"
    if found.runs:
        turns = sum(run.result.spent.turns for run in found.runs)
        ends = ", ".join(f"{n} {outcome}" for outcome, n in found.outcomes.items())
        yield f"{count(len(found.runs), 'run')} of {count(turns, 'turn')}: {ends}"
    for kind, tally in found.coverage.items():
        yield f"asked by {kind}: {tally.asked}, of which the snapshot could answer {tally.answered}"
    if found.own_texts:
        yield f"the snapshot has the report itself: {count(len(found.own_texts), 'text')} not shown"


def _statements(found: FactsFindings) -> str:
    parts = [count(len(found.statements), "statement")]
    if found.segments:
        parts[0] += f" in {count(len(found.segments), 'segment')}"
    if found.uncut is not None:
        parts.append(f"cut by code, since the judge failed ({found.uncut.kind})")
    if found.source == "shared":
        parts[0] += " of the claim set"
    if len(found.rulings) < len(found.statements):
        parts.append(f"{len(found.rulings)} to be checked (limit {found.limit})")
    if found.rejected:
        reasons = Counter(one.why.replace("_", " ") for one in found.rejected)
        said = ", ".join(f"{n} {why}" for why, n in sorted(reasons.items()))
        parts.append(f"{len(found.rejected)} rejected ({said})")
    if found.n_unread:
        parts.append(f"{count(found.n_unread, 'sentence')} unread")
    return "; ".join(parts)


def facts_table(found: FactsFindings) -> Table:
    """Each statement that was checked, in the report's order."""
    table = item_table("statement", "stated", "label", "evidence, or why not", "way to it")
    statements = {one.id: one for one in found.statements}
    ways = _ways(found)
    for ruling in found.rulings:
        stated = statements[ruling.statement]
        cited = "" if stated.cited is None else "cited" if stated.cited else "not cited"
        table.add_row(
            "\n".join(part for part in (safe(stated.id), cited) if part),
            safe(stated.text),
            _label(ruling),
            "\n".join(_why(ruling)),
            ways.get(ruling.statement, NONE),
        )
    return table


def _label(ruling: Ruling) -> str:
    label = ruling.label or ruling.given or NONE
    if ruling.given is None or ruling.label is None or ruling.given == ruling.label:
        return safe(label)
    return f"{safe(label)} (judge: {safe(ruling.given)})"


def _why(ruling: Ruling) -> Iterator[str]:
    for one in ruling.evidence:
        yield _evidence(one)
    if ruling.reasoning:
        yield safe(ruling.reasoning)
    if ruling.failure is not None:
        yield safe(f"{ruling.failure.kind}: {ruling.failure.detail}")


def _evidence(one: Evidence) -> str:
    mark = " not looked up" if one.checked is None else _MARKS[one.checked.status]
    stance = f"{one.stance}: " if one.stance else ""
    return f'{stance}"{safe(one.quote)}" {safe(one.url)}{mark}'


def _ways(found: FactsFindings) -> Mapping[str, str]:
    """By statement, what was done to check it."""
    ways: dict[str, list[str]] = {}
    for run in found.runs:
        steps = [_step(step) for step in run.result.transcript.steps]
        for statement in run.statements:
            ways.setdefault(statement, []).extend([*steps, f"({run.result.outcome})"])
    for lookup in found.lookups:
        asked = [f"search {safe(one.what, 60)}" for one in lookup.observation.asked]
        ways[lookup.statement] = [*asked, f"({count(len(lookup.observation.shown), 'passage')})"]
    return {statement: "\n".join(way) for statement, way in ways.items()}


def _step(step: Step) -> str:
    """A tool with what it was asked for; a run's end names none."""
    tool, url, queries = (step.action.get(name) for name in ("tool", "url", "queries"))
    asked = [*([url] if url else []), *(queries if isinstance(queries, list) else [])]
    words = "" if tool == "finish" else "; ".join(map(str, asked))
    error = step.observation.error if step.observation else None
    return safe(f"{tool} {words}".strip(), 80) + (f" ({error})" if error else "")
