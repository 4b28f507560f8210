"""Terminal output for an agent's answer.

Invariant: every citation is shown with the result of the check by code; text of pages and judges is printed without
control characters.
"""

from __future__ import annotations

from local_judge.agents.ask import AskedQuestion
from local_judge.agents.citations import CheckedCitation
from local_judge.base.errors import plain
from local_judge.base.output import count

_FOUND = {
    "found": "",
    "not_in_page": "  NOT IN THE PAGE",
    "not_shown": "  NOT A PAGE THAT WAS READ",
}


def answer_text(asked: AskedQuestion) -> str:
    """Return the answer with its citations, and the requests that the snapshot could not answer."""
    result = asked.result
    lines = ["No answer." if result.answer is None else plain(result.answer.text)]
    lines += [_citation(number, one) for number, one in enumerate(asked.citations, start=1)]
    if result.failure is not None:
        lines.append(plain(f"Failure: {result.failure.kind}: {result.failure.detail}"))
    found = sum(one.status == "found" for one in asked.citations)
    spent = result.spent
    lines.append(
        f"{result.outcome}: {count(spent.turns, 'turn')}, {count(spent.calls, 'call')}, "
        f"{spent.prompt_tokens + spent.completion_tokens:,} tokens; "
        f"{found} of {count(len(asked.citations), 'citation')} found"
    )
    for kind, tally in result.coverage.items():
        lines.append(f"asked by {kind}: {tally.asked}, of which the snapshot could answer {tally.answered}")
    return "\n".join(lines)


def _citation(number: int, one: CheckedCitation) -> str:
    place = f" ({one.start} to {one.end})" if one.status == "found" and not one.in_title else ""
    return plain(f'[{number}] {one.url}{place}: "{one.quote}"{_FOUND[one.status]}')
