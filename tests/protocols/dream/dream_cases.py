"""A small report, its claims, and judges that answer by a rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.claims.model import ClaimSet
from local_judge.documents import parse_report
from local_judge.judge.judge import Judge
from local_judge.protocols.base import Case, EvalContext
from local_judge.protocols.dream.writing import IDS, Rating, WritingFindings
from local_judge.tasks.model import Task
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

TASK = Task(id="mill", prompt="What did the mill cost, and who paid?")
TODAY = date(2025, 9, 30)
FAILURE = Failure(kind="incomplete", detail="none")


async def no_claims() -> ClaimSet:
    """Of a metric that reads none."""
    raise AssertionError("nobody needs claims here")


def context(judge: Judge, claims: ClaimSet | None = None, snapshot: Snapshot | None = None) -> EvalContext:
    """What a metric may use."""

    async def made() -> ClaimSet:
        return claims if claims is not None else await no_claims()

    return EvalContext(judge=judge, snapshot=snapshot, today=TODAY, claims=made)


def case(text: str = REPORT, task: Task | None = TASK) -> Case:
    """A report with its task."""
    return Case(id="a", report=parse_report(text), task=task)


def scoring(scores: dict[str, int], quote: str = "The mill cost 9 million") -> Callable[[Call], Reply]:
    """A judge that gives these sub-dimensions of writing these scores, and 50 to others."""

    def answer(call: Call) -> Reply:
        assert call.schema is not None
        return {
            key: {"quote": quote, "rationale": f"Of {key}.", "score": scores.get(key, 50)}
            for key in call.schema["properties"]
        }

    return answer


def writing(*scores: int | None) -> WritingFindings:
    """The ten sub-dimensions by their scores; None failed."""
    return WritingFindings(
        subdimensions=tuple(
            Rating(id=id, score=score, failure=FAILURE if score is None else None)
            for id, score in zip(IDS, scores, strict=True)
        )
    )
