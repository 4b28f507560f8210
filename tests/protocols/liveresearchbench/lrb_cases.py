"""A small report, its task, and judges that answer by a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import cast

from local_judge.base.failures import Failure
from local_judge.claims.model import ClaimSet
from local_judge.documents import parse_report
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.checklist import Item, Status
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.liveresearchbench.metrics.presentation import CHECKS, PresentationFindings
from local_judge.tasks.model import Checklist, ChecklistItem, Task
from serving.engines.scripted import Call, Reply

REPORT = """# The mill

## Cost

The mill cost 9 million [1]. The town paid half of it [2].

## Outlook

It opened in 2019 and has 40 workers. It will grow, the owner says [1].

## References

[1] Mill yearbook. https://a.example/mill
[2] Town accounts. https://b.example/town
"""

TASK = Task(
    id="mill",
    prompt="What did the mill cost, and who paid?",
    checklist=Checklist(
        items=(
            ChecklistItem(id="q1", text="Does the report give the cost?"),
            ChecklistItem(id="q2", text="Does it name all who paid?"),
            ChecklistItem(id="q3", text="Does it say when?"),
        )
    ),
)
TODAY = date(2025, 9, 30)
FAILURE = Failure(kind="incomplete", detail="none")
STORED = cast("type[LrbFindings]", LiveResearchBench.findings_type)
"""Model of stored findings: all metrics have a field."""


async def no_claims() -> ClaimSet:
    """Of a metric that reads none."""
    raise AssertionError("nobody needs claims here")


def context(judge: Judge, today: date | None = TODAY) -> EvalContext:
    """What a metric may use that reads no page."""
    return EvalContext(judge=judge, today=today, claims=no_claims)


def case(text: str = REPORT, task: Task | None = TASK) -> Case:
    """A report with its task."""
    return Case(id="a", report=parse_report(text), task=task)


def document(text: str = REPORT) -> Document:
    """A report alone."""
    return parse_report(text)


def rulings(met: Mapping[str, bool], quote: str = "The mill cost 9 million") -> Callable[[Call], Reply]:
    """A judge that rules each requirement by its id; those that it does not know are met."""

    def answer(call: Call) -> Reply:
        assert call.schema is not None
        return {
            key: {"quote": quote, "rationale": f"Of {key}.", "met": met.get(key, True)}
            for key in call.schema["properties"]
        }

    return answer


def believing(call: Call) -> Reply:
    """A judge that finds all met, and no issue."""
    assert call.schema is not None
    return {"issues": []} if "issues" in call.schema["properties"] else rulings({})(call)


def items(letters: str, ids: str = "q") -> tuple[Item, ...]:
    """Requirements by a letter each: m met, u unmet, n not applicable, f failed."""
    words: dict[str, Status] = {"m": "met", "u": "unmet", "n": "not_applicable", "f": "failed"}
    return tuple(
        Item(
            id=f"{ids}{number}",
            text=f"Item {number}",
            status=words[letter],
            rationale="" if letter == "f" else "So.",
            failure=FAILURE if letter == "f" else None,
        )
        for number, letter in enumerate(letters, 1)
    )


def presentation(letters: str) -> PresentationFindings:
    """The ten checks by a letter each."""
    assert len(letters) == len(CHECKS)
    return PresentationFindings(items=items(letters, "p"))
