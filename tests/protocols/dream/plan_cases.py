"""A task with a plan, and judges that assess by a rule."""

from __future__ import annotations

from typing import Any

from local_judge.tasks.model import KeyInformation, KeySource, Plan, ReasoningQuestion, Task

COSTS = KeyInformation(
    id="k1",
    question="Does the report say that the mill cost 9 million?",
    source=KeySource(url="https://a.example/mill", quote="The mill cost 9 million", published="2020-01-01"),
)
WORKERS = KeyInformation(id="k2", question="Does the report say that the mill has forty workers?")
CLOSED = KeyInformation(id="k3", question="Does the report say that the mill closed?")
WORTH = ReasoningQuestion(
    id="r1",
    question="Was the mill worth its price?",
    extract="What the report says of price and use.",
    verify="What heat pumps cost and give.",
    compare="Whether price and use bear the conclusion.",
)
GROWTH = ReasoningQuestion(
    id="r2", question="Will it grow?", extract="Plans.", verify="Demand.", compare="Plans against demand."
)
PLAN = Plan(key_information=(COSTS, WORKERS, CLOSED), reasoning=(WORTH, GROWTH), status="drafted")
PLANNED = Task(id="mill", prompt="What did the mill cost, and who paid?", plan=PLAN)


def with_plan(**changes: Any) -> Task:
    """The task with another plan."""
    return PLANNED.model_copy(update={"plan": PLAN.model_copy(update=changes)})


def deduction(
    quote: str, severity: str = "minor", kind: str = "gap", url: str | None = None, page_quote: str = ""
) -> dict[str, Any]:
    """A deduction as a judge gives it; `url` None for a judge without tools."""
    given = {"quote": quote, "kind": kind, "reason": f"Of {quote}.", "severity": severity}
    return given if url is None else {**given, "url": url, "page_quote": page_quote}


def assessment(extracted: list[str], *deductions: dict[str, Any]) -> dict[str, Any]:
    """A judge's answer."""
    return {"extracted": extracted, "deductions": list(deductions)}


def act(tool: str, **arguments: Any) -> dict[str, Any]:
    """An agent's turn."""
    return {"thought": f"I use {tool}.", "action": {"tool": tool, **arguments}}
