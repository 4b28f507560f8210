"""Transcript of a run for people.

Invariant: the text is a function of the result alone, and shows every step with its pages, offsets and ledger keys.
Text of pages and judges stands in fences that it cannot close, or on one line without control characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from local_judge.agents.observations import PagePassage
from local_judge.agents.result import AgentResult, Step
from local_judge.prompts import fence

_MARKS = re.compile(r"[`<\[\]\\]")

KEY = 12
"""Hex digits of a digest or a ledger key that are shown."""


def render_transcript(result: AgentResult[Any], *, opening: bool = True, texts: bool = True) -> str:
    """Render a run as Markdown.

    Args:
        result: the run.
        opening: show the task and the material.
        texts: show passages in full instead of their first words.
    """
    script = result.transcript
    tools = ", ".join(script.tools.tools)
    blocks = [
        f"# {result.outcome} after {len(script.steps)} turns",
        f"Snapshot {script.snapshot[:KEY]}; tools: {tools}; "
        f"{result.spent.prompt_tokens:,} prompt tokens, {result.spent.completion_tokens:,} written.",
    ]
    if opening:
        blocks += [block for block in (fence(script.task, "Task:"), script.material) if block]
    for step in script.steps:
        blocks += _step(step, texts)
    if result.failure is not None:
        blocks += ["## Failure", _line(f"{result.failure.kind}: {result.failure.detail}")]
    for kind, tally in result.coverage.items():
        blocks.append(f"Of {tally.asked} asked for by {kind}, the snapshot could answer {tally.answered}.")
    for gap in result.evidence_gaps:
        blocks.append(_line(f"Not answered ({gap.why}, {gap.times} times): {gap.url or gap.query}"))
    return "\n\n".join(blocks) + "\n"


def _step(step: Step, texts: bool) -> Iterator[str]:
    keys = ", ".join(key[:KEY] for key in step.replies)
    yield f"## Turn {step.turn}"
    if step.dropped:
        yield f"No longer shown from here on: the results of turns {', '.join(map(str, step.dropped))}."
    yield f"Reply {keys}; {step.prompt_tokens:,} prompt tokens, {step.completion_tokens:,} written."
    yield _line(f"Thought: {step.thought}")
    yield fence(json.dumps(step.action, ensure_ascii=False, indent=1), "Action:")
    if step.observation is None:
        return
    said = f" ({step.observation.error})" if step.observation.error else ""
    yield _line(f"Result{said}: {step.observation.note or f'{len(step.observation.shown)} passages.'}")
    for shown in step.observation.shown:
        yield _passage(shown, texts)


def _passage(shown: PagePassage, texts: bool) -> str:
    place = f"text {shown.text_digest[:KEY]}, characters {shown.start} to {shown.end}"
    found = "" if shown.query is None else f", query {shown.query}, score {shown.score}"
    dated = f", published {shown.published}" if shown.published else ""
    title = _line(f"- {shown.url} ({place}{dated}{found})")
    return fence(shown.text, title) if texts else f"{title}: {_line(shown.text)[:80]}"


def _line(text: str) -> str:
    """Return text on one line, in which Markdown finds no fence, HTML, link or image."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return _MARKS.sub(r"\\\g<0>", line)
