"""Answers to three items: a requirement, a choice and a fault."""

from __future__ import annotations

from local_judge.base.failures import Failure
from local_judge.protocols.rubric.protocol import RubricAnswers
from local_judge.rubric.items import Item
from local_judge.rubric.judging import ItemAnswer

COST = Item(id="cost", text="It states the cost.", weight=2, group="Content")
EASE = Item(id="ease", text="Easy?", choices=("hard", "fair", "easy"), group="Tone")
PRAISE = Item(id="praise", text="It praises.", weight=-1, group="Tone")


def findings(
    cost: float | None, ease: float | None, praise: float | None, *, void: bool = False
) -> RubricAnswers:
    """Findings with one value for each item."""
    answers = [
        ItemAnswer(
            item=item,
            values=(value,),
            void="https://heat.example/" if void and item is COST else None,
            failure=Failure(kind="malformed", detail="") if value is None else None,
        )
        for item, value in ((COST, cost), (EASE, ease), (PRAISE, praise))
    ]
    return RubricAnswers(case="a", document="d", method="scored", answers=tuple(answers))
