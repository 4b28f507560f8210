"""What a judge is asked about an item, and what its answers are worth."""

from __future__ import annotations

import pytest

from local_judge.documents import parse_report
from local_judge.rubric.items import Item, Rubric
from local_judge.rubric.judging import judge_items, rotate
from serving.engines.scripted import Call, Reply

from ..scripted_judge import MakeJudge

REPORT = parse_report(
    b"# The retrofit\n\nIt cost 12 million [1]. A crowd came [2].\n\n## References\n\n"
    b"[1] https://heat.example/cost/\n\n[2] https://heat.example/crowd\n"
)
COST = Item(id="cost", text="It states what it cost.", weight=2)
EASE = Item(
    id="ease", text="How easy is it?", choices=("hard", "fair", "easy"), anchors=("gaps", "a gap", "none")
)
PRAISE = Item(id="praise", text="It praises the crowd.", weight=-1)
SHARED = """Report:
```
# The retrofit

L2.S1: It cost 12 million [1].
L2.S2: A crowd came [2].
```

"""
YES_NO = """Task: decide whether the report above fulfils one criterion: whether it does or contains all that the \
criterion describes. Judge by what the report says, not by what you know.

Criterion:
```
It states what it cost.
```

Answer {} or {}."""
CHOICES = """Request:
```
How was it?
```

Task: choose the answer that describes the report above best by one criterion. Judge by what the report says, not by \
what you know. Answer with its letter and nothing else.

Criterion:
```
How easy is it?
```

Answers:
```
A. fair: a gap
B. easy: none
C. hard: gaps
```"""


def lean(call: Call) -> Reply:
    """P(yes) of 0.9 for the cost and 0.4 for praise; 0.2, 0.3, 0.5 for hard, fair and easy."""
    assert call.options is not None
    if "A" in call.options:
        by_name = {"hard": 0.2, "fair": 0.3, "easy": 0.5}
        return {letter: by_name[call.prompt.partition(f"\n{letter}. ")[2][:4]] for letter in call.options}
    yes = 0.9 if "cost.\n```" in call.prompt else 0.4
    return {"Yes": yes, "No": 1 - yes}


async def test_scored_asks_one_item_a_call_and_takes_expected_values(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(lean)
    rubric = Rubric(items=(COST, EASE, PRAISE), blocked=("https://HEAT.example/crowd",))
    found = await judge_items(
        REPORT, judge, rubric, request=None, method="scored", items_per_call=10, draws=2
    )
    # 0.2 * 0 + 0.3 / 2 + 0.5 = 0.65
    assert [one.values for one in found] == [(0.9, 0.9), (0.65, 0.65), (0.4, 0.4)]
    assert [one.probabilities[1] for one in found] == [(0.1, 0.9), (0.2, 0.3, 0.5), (0.6, 0.4)]
    texts = [one.quote.text for one in found if one.quote is not None]
    assert texts == ["It cost 12 million [1].", "It cost 12 million [1].", "A crowd came [2]."]
    assert [one.void for one in found] == [None] * 3, "a fault is never void"
    asked = {call.messages[-1].content: call.options for call in engine.calls}
    assert len(asked) == 6
    assert asked[SHARED + YES_NO.format("Yes", "No")] == ("Yes", "No")
    assert asked[SHARED + YES_NO.format("No", "Yes")] == ("No", "Yes")


async def test_a_draw_rotates_the_choices_and_the_request_follows_the_report(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(lean)
    await judge_items(
        REPORT,
        judge,
        Rubric(items=(EASE,)),
        request="How was it?",
        method="scored",
        items_per_call=1,
        draws=2,
    )
    assert SHARED + CHOICES in {call.messages[-1].content for call in engine.calls}
    assert [rotate("abc", places) for places in range(4)] == [tuple(t) for t in ("abc", "bca", "cab", "abc")]


async def test_a_requirement_whose_quotation_cites_a_blocked_address_is_void(make_judge: MakeJudge) -> None:
    judge, _ = make_judge(lean)
    rubric = Rubric(items=(COST,), blocked=("https://heat.example/cost",))
    [found] = await judge_items(
        REPORT, judge, rubric, request=None, method="scored", items_per_call=10, draws=1
    )
    assert (found.values, found.counted, found.value) == ((0.9,), (0.0,), 0)
    assert found.void is not None and found.void.startswith("https://heat.example/cost")


EXPLAINED = """Task: judge the report above by each of the criteria at the end, independently of the others. Judge by \
what the report says, not by what you know. An answer "yes" needs all that the criterion describes.

For each criterion give:
"quote": words of the report that the answer rests on, copied exactly, at most two sentences, without labels; empty if \
there are none.
"rationale": one or two sentences: why this answer and no other.
"answer": one of the answers that stand behind the criterion.

Answer with one JSON object. Its keys are the ids in brackets, each exactly once, in order.

Criteria, each with its id in brackets and its answers in parentheses:
```
[cost] It states what it cost. (no / yes)
[ease] How easy is it? (hard / fair / easy)
  hard: gaps
  fair: a gap
  easy: none
```"""


def explain(call: Call) -> Reply:
    """Quotes what is there for the cost, and what is not for the rest; omits praise."""
    assert call.schema is not None
    replies = {
        "cost": {"quote": "It cost 12 million", "rationale": "Stated.", "answer": "yes"},
        "ease": {"quote": "It is not there.", "rationale": "Short.", "answer": "fair"},
    }
    return {key: replies[key] for key in call.schema["properties"] if key in replies}


async def test_explained_asks_several_items_a_call_and_checks_quotations(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(explain)
    rubric = Rubric(items=(COST, EASE, PRAISE))
    cost, ease, praise = await judge_items(
        REPORT, judge, rubric, request=None, method="explained", items_per_call=2, draws=1
    )
    assert SHARED + EXPLAINED in {call.messages[-1].content for call in engine.calls}
    assert (cost.values, cost.rationale, cost.probabilities) == ((1.0,), "Stated.", ())
    assert cost.quote is not None and cost.quote.text == "It cost 12 million"
    assert (ease.values, ease.quote, ease.quote_rejected) == ((0.5,), None, "It is not there.")
    assert praise.values == (None,) and praise.failure is not None and praise.failure.kind == "incomplete"


@pytest.mark.parametrize(("text", "value"), [("No", 0.0), ("Yes", 1.0)])
def test_values_are_equally_spaced(text: str, value: float) -> None:
    assert COST.value(text.lower()) == value and EASE.value("fair") == 0.5
