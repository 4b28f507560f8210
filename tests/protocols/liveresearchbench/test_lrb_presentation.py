"""The ten checks: which are asked, in which words, and what they score."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from local_judge.protocols.liveresearchbench.metrics.presentation import (
    CHECKS,
    IDS,
    Presentation,
    PresentationFindings,
    PresentationSettings,
)
from local_judge.scoring.node import Profile

from ...scripted_judge import MakeJudge
from .lrb_cases import REPORT, case, context, items, presentation, rulings

SENT = """Report:
```
# The mill

## Cost

L3.S1: The mill cost 9 million [1].
L3.S2: The town paid half of it [2].

## Outlook

L5.S1: It opened in 2019 and has 40 workers.
L5.S2: It will grow, the owner says [1].
```

The report's references:
```
References
[1] Mill yearbook. https://a.example/mill
[2] Town accounts. https://b.example/town
```

Request:
```
What did the mill cost, and who paid?
```

Task: decide for each of the requirements at the end whether the report above meets it. Judge the form alone: how the \
report is built, written and cited, not whether what it says is true or complete. Today is 2025-09-30.

The whole report has to meet a requirement: one clear breach anywhere, and it is not met. A requirement about \
something that the report does not have is met, unless it says that there has to be such a thing. The report is shown \
here without the marks of its list items and the line below the head of a table, and with labels such as L4.S2 at the \
head of lines, which are not its own.

For each requirement give:
"quote": words of the report that decide the matter, copied exactly, at most two sentences, without labels; of a \
breach, the clearest one.
"rationale": one or two sentences on how these words bear on the requirement.
"met": true or false.

Answer with one JSON object. Its keys are the ids in brackets, each exactly once, in order.

[p1] The report's structure is clear, coherent and in a logical order: a reader finds the way through it easily, and \
it leads straight to an answer to the research question.
[p2] There is no mistake of grammar or spelling in the report.
[p6] Citations have one and the same style throughout the text.
[p7] Citations stand at the end of the clause or sentence that they belong to, not inside it.
[p8] Each table has all its data, and each figure shows something valid; a report without either meets this.
[p9] The formatting is right and consistent; for example, section titles are marked as headings of a proper level (#, \
##), not written as plain text, and tables are valid markup that can be rendered."""


async def test_code_decides_four_and_one_call_asks_the_others(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(rulings({"p2": False}, quote="L3.S1: The mill cost 9 million"))
    found = await Presentation().examine(case(), context(judge))
    [call] = engine.calls
    assert call.messages[1].content == SENT
    assert call.schema is not None
    assert call.schema["required"] == ["p1", "p2", "p6", "p7", "p8", "p9"]
    assert [check.id for check in found.items] == list(IDS)
    assert [check.id for check in found.items if check.by == "code"] == ["p3", "p4", "p5", "p10"]
    second = found.items[1]
    assert (second.status, second.rationale, second.quote_rejected) == ("unmet", "Of p2.", None)
    # Without the label that the judge copied with it, and found where the report has it.
    assert second.quote is not None and second.quote.text == "The mill cost 9 million"
    assert REPORT[second.quote.start : second.quote.end] == second.quote.text
    assert len(second.replies) == 1 and found.n_failed == 0


async def test_without_a_task_the_prompt_has_no_request(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(rulings({}))
    await Presentation().examine(case(task=None), context(judge))
    before, after = SENT.split("Request:\n```\nWhat did the mill cost, and who paid?\n```\n\n")
    assert engine.calls[0].messages[1].content == before + after


async def test_judge_all_asks_for_all_ten(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(rulings({"p10": False}, quote="It cost 8 million"))
    found = await Presentation(PresentationSettings(judge_all=True)).examine(
        case(), context(judge, today=None)
    )
    [call] = engine.calls
    assert call.schema is not None and call.schema["required"] == list(IDS)
    assert "Today" not in call.prompt
    assert {check.by for check in found.items} == {"judge"}
    assert found.items[9].status == "unmet"
    assert {check.quote_rejected for check in found.items} == {"It cost 8 million"}
    score = Presentation().score([found], "paper").score
    assert score.note.startswith("10 quotations ")


async def test_an_answer_that_is_missing_is_asked_for_again_and_then_fails(make_judge: MakeJudge) -> None:
    def forgetful(call: object) -> dict[str, object]:
        return {"p1": {"quote": "", "rationale": "", "met": True}}

    judge, engine = make_judge(forgetful)
    found = await Presentation().examine(case(), context(judge))
    assert len(engine.calls) == 1 + 1 + 5  # all, what is missing, each of the five alone
    statuses = {check.id: check.status for check in found.items if check.by == "judge"}
    assert statuses == {"p1": "met"} | dict.fromkeys(("p2", "p6", "p7", "p8", "p9"), "failed")
    assert found.n_failed == 5


async def test_true_as_a_text_is_no_answer(make_judge: MakeJudge) -> None:
    def worded(call: object) -> dict[str, object]:
        return {name: {"quote": "", "rationale": "", "met": "true"} for name in IDS}

    judge, _ = make_judge(worded)
    found = await Presentation(PresentationSettings(judge_all=True)).examine(case(), context(judge))
    assert found.n_failed == 10


async def test_a_report_that_does_not_fit_fails_and_costs_no_call(make_judge: MakeJudge) -> None:
    judge, engine = make_judge(context_tokens=450)
    found = await Presentation().examine(case(), context(judge))
    assert engine.calls == []
    failures = [check.failure for check in found.items if check.failure is not None]
    assert {failure.kind for failure in failures} == {"report_too_long"}
    assert len(failures) == 6


@pytest.mark.parametrize(
    ("letters", "paper", "upstream"),
    [
        # value, low, high: 100 * met / answered, with the failures as unmet, as met
        ("mmmmmmmmmm", (100, 100, 100), (100, 100, 100)),
        ("mmmmmuuuuu", (50, 50, 50), (50, 50, 50)),
        ("mmmmmuuumn", (70, 70, 70), (70, 70, 70)),  # what does not apply counts as met
        ("mmmmmmuuff", (75, 60, 80), (60, 60, 80)),  # 6 / 8; the published code: 6 / 10
        ("ffffffffff", (None, 0, 100), (None, 0, 100)),
    ],
)
def test_the_rate(letters: str, paper: tuple[float | None, ...], upstream: tuple[float | None, ...]) -> None:
    expected: dict[Profile, tuple[float | None, ...]] = {"paper": paper, "upstream": upstream}
    for profile, figures in expected.items():
        root = Presentation().score([presentation(letters)], profile)
        assert (root.score.value, root.score.low, root.score.high) == figures
        assert (root.score.n_expected, root.score.n_failed) == (10, letters.count("f"))
        assert [child.id for child in root.children] == list(IDS)
        assert "\n" not in root.score.note


def test_several_judges_are_averaged_check_by_check() -> None:
    judges = [presentation("mmmmmmmmmf"), presentation("mmmmmmmmuu")]
    root = Presentation().score(judges, "paper")
    # Eight checks at 1, p9 at 1/2, p10 at 0 from the one judge that answered: 8.5 / 10. The mean of the judges' rates,
    # (9/9 + 8/10) / 2 = 0.9, would count p10 for one of them alone.
    assert root.score.value == pytest.approx(85)
    # p10 between 0 and 1/2.
    assert (root.score.low, root.score.high) == (pytest.approx(85), pytest.approx(90))
    assert (root.score.n_expected, root.score.n_failed) == (20, 1)
    assert root.find("p9").score.value == 50


def test_ten_checks_in_order_or_none() -> None:
    assert len(CHECKS) == 10
    with pytest.raises(ValidationError, match="p10"):
        PresentationFindings(items=items("mmmmmmmmm", "p"))
