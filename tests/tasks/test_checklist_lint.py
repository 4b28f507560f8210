"""The rules of a good checklist: what breaks each, and what does not though it is close."""

from __future__ import annotations

import pytest

from local_judge.tasks.checklist_lint import RULES, lint
from local_judge.tasks.model import Checklist

REQUEST = "Compare the cost of the mills of Fernholt in 2019, and say who runs them."
ZH = "比较弗恩霍尔特各磨坊2019年的费用，并说明由谁经营。"
GOOD = (
    "Does the report state the cost of each mill of Fernholt in 2019?",
    "Does the report compare the costs of the mills of Fernholt?",
    "Does the report name who runs each mill of Fernholt?",
)
GOOD_ZH = (
    "报告是否给出弗恩霍尔特每座磨坊2019年的费用？",
    "报告是否比较了各磨坊的费用？",
    "报告是否说明每座磨坊由谁经营？",
)


def broken(item: str, request: str | None = REQUEST) -> list[str]:
    """The rules that an item breaks, among good ones."""
    others = GOOD_ZH if any("\u4e00" <= character <= "\u9fff" for character in item) else GOOD
    linted = lint(Checklist.of([*others, item]), request)
    assert [one for one in linted.findings if one.item != "q4"] == []
    return [one.rule for one in linted.of("q4")]


def test_good_checklists_are_clean() -> None:
    for items, request in ((GOOD, REQUEST), (GOOD_ZH, ZH)):
        linted = lint(Checklist.of(items), request)
        assert (linted.findings, linted.unchecked) == ((), {})


@pytest.mark.parametrize(
    ("rule", "item"),
    [
        ("yes-or-no", "What did the retrofit of the mill cost?"),
        ("yes-or-no", "In which year was the mill retrofitted?"),
        ("yes-or-no", "Owner of the mill"),
        ("one-thing", "Does the report name the owner of the mill and explain the plan?"),
        ("one-thing", "Does the report name the owner? Does it name the tenant?"),
        ("one-thing", "Does the report name the owner and list the tenants?"),
        ("one-thing", "Does the report say how the mill is run and whether the town pays?"),
        ("positive", "Does the report fail to mention noise?"),
        ("positive", "Doesn't the report mention noise?"),
        ("positive", "Does the report contain any factual errors about noise?"),
        ("in-scope", "Does the report cite a source for noise?"),
        ("in-scope", "Is the report on noise well-structured?"),
        ("in-scope", "Is the report longer than 2019 words?"),
        ("no-answer", "Does the report say that noise fell by 40 percent?"),
        ("stands-alone", "Does it mention noise?"),
        ("stands-alone", "Does the report give the noise of the above?"),
        ("open-dates", "Does the report say how loud the mills are today?"),
        ("open-dates", "Does the report give the noise of {{today}}?"),
        ("few-things", "Does the report cover noise, smell and dust?"),
        ("few-things", "Does the report cover noise as well as smell?"),
        ("decidable", "Does the report discuss noise in depth?"),
    ],
)
def test_what_breaks_a_rule_in_english(rule: str, item: str) -> None:
    assert broken(item.replace("in depth", "in-depth")) == [rule]


@pytest.mark.parametrize(
    ("rule", "item"),
    [
        ("yes-or-no", "磨坊的噪音有多少？"),
        ("one-thing", "报告是否列出业主，并分析其规模？"),
        ("positive", "报告是否遗漏了噪音？"),
        ("positive", "报告是否未提及噪音？"),
        ("in-scope", "报告的文笔是否良好？"),
        ("no-answer", "报告是否指出噪音下降了40%？"),
        ("stands-alone", "上述噪音是否已说明？"),
        ("open-dates", "报告是否说明目前的噪音？"),
        ("few-things", "报告是否涉及噪音、气味和灰尘？"),
        ("decidable", "报告是否充分讨论噪音？"),
    ],
)
def test_what_breaks_a_rule_in_chinese(rule: str, item: str) -> None:
    assert broken(item, ZH) == [rule]


@pytest.mark.parametrize(
    "item",
    [
        "The report names the noise of each mill.",
        "Where noise was measured, does the report give the result?",
        "Does the report explain federal and state law on noise?",
        "Does the report name a source of noise, such as wheels, belts or gears?",
        "Does the report avoid a claim that mills are silent?",
        "Does the report say what noise means for the town up to {{date}}?",
        "Is it explained where the noise comes from?",
        "Does the report say whether this law binds the town?",
        "Does the report say who ran the mills in 2,019 towns?",
    ],
)
def test_what_is_close_and_breaks_none(item: str) -> None:
    assert broken(item) == []


def test_what_is_close_and_breaks_none_in_chinese() -> None:
    for item in ("报告是否说明噪音如何产生？", "报告是否预测未来的噪音？", "报告是否涉及噪音、气味等影响？"):
        assert broken(item, ZH) == [], item


def test_words_of_the_request_are_its_matter() -> None:
    request = "Which papers on mills are cited most today? Give a detailed list."
    item = "Does the report name the papers on mills that are cited most today?"
    assert "in-scope" in broken(item, None) and "open-dates" in broken(item, None)
    assert broken(item, request + " 2019") == []


def test_doubles_language_and_number() -> None:
    linted = lint(Checklist.of([GOOD[0], GOOD[0].upper()]), ZH)
    assert [(one.rule, one.item, one.hard) for one in linted.findings] == [
        ("same-language", "q1", False),
        ("no-double", "q2", True),
        ("same-language", "q2", False),
        ("number", None, False),
    ]
    assert linted.findings[1].reason == "says what q1 says"
    assert linted.findings[3].reason == "has 2 items, should have 3 to 20"
    # Alike in all but a figure: no double.
    years = [f"Does the report state the cost of each mill in {year}?" for year in (2019, 2020, 2021)]
    assert lint(Checklist.of(years), None).findings == ()


def test_what_cannot_be_checked_is_said() -> None:
    linted = lint(Checklist.of(GOOD), None)
    assert set(linted.unchecked) == {"no-answer", "same-language"}
    german = [
        "Nennt der Bericht die Kosten der Mühle in Fernholt?",
        "Sagt der Bericht, wer die Mühle in Fernholt betreibt?",
        "Vergleicht der Bericht die Kosten der Mühlen im Jahr 2020?",
    ]
    linted = lint(Checklist.of(german), "Was kosteten die Mühlen von Fernholt im Jahr 2019?")
    assert "yes-or-no" in linted.unchecked and "no-answer" not in linted.unchecked
    assert [one.rule for one in linted.findings] == ["no-answer"]
    assert set(linted.unchecked) | {"no-answer", "no-double", "same-language", "number"} == set(RULES)


def test_what_is_too_long_asks_for_too_much() -> None:
    long = "Does the report state " + "the cost of the mill " * 30 + "?"
    assert broken(long) == ["one-thing"]
    # As long as an item may be, of what begins like a match everywhere: no pattern runs away.
    for text in ("and ", ", ", "a, ", "{{", "、", "什么", "mentioned "):
        lint(Checklist.of([(text * 600)[:600]] * 20), REQUEST)
