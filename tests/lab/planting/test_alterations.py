"""What is altered is wrong where it says so, is good language, and is not borne out by the page."""

from __future__ import annotations

import re
from random import Random

import pytest

from local_judge.lab.planting.alterations.alter import alterations
from local_judge.lab.planting.alterations.alteration_context import PageText
from local_judge.lab.planting.alterations.names import NamePool, names_in
from local_judge.lab.planting.alterations.quantities import other_number, other_year
from local_judge.lab.planting.model import AlterationKind, Edit, Language

OTHERS = {
    "en": "A speech by John Castellano was heard in Portugal. The Harbour Museum stands in Oslo, a Danish town.",
    "zh": "挪威的首都与成都结为友好城市，四川参与其中。",
}


def altered(
    sentence: str, kind: AlterationKind, language: Language = "en", page: str = "", seed: int = 0
) -> str | None:
    """The claim that a kind makes of a sentence, None if it admits none."""
    text = PageText("https://a.example/", f"{page}\n{sentence}")
    made = alterations(sentence, text, NamePool([OTHERS[language]], language), language, Random(seed))
    return made[kind].applied(sentence) if kind in made else None


@pytest.mark.parametrize(
    ("kind", "sentence", "claim"),
    [
        ("unit", "Repairs cost 2 million crowns.", "Repairs cost 2 billion crowns."),
        ("unit", "A 55-year-old was hurt.", "A 55-month-old was hurt."),
        ("unit", "The fine was $250,000.", "The fine was £250,000."),
        ("name", "The bridge was built by Max Lindqvist.", "The bridge was built by John Castellano."),
        ("name", "The bridge stands in Germany.", "The bridge stands in Portugal."),
        ("name", "It was led by an Irish engineer.", "It was led by a Danish engineer."),
        ("name", "It is kept in the Bridge Museum.", "It is kept in the Harbour Museum."),
        ("direction", "The toll increased to 3 crowns.", "The toll decreased to 3 crowns."),
        ("direction", "The cost was more than 5 crowns.", "The cost was less than 5 crowns."),
        ("direction", "It was the most important bridge.", "It was the least important bridge."),
        ("negation", "The bridge was opened by Anna.", "The bridge was not opened by Anna."),
        ("negation", "Boats can pass the bridge.", "Boats cannot pass the bridge."),
        ("negation", "The toll was not approved.", "The toll was approved."),
        ("scope", "Most of the boats are ferries.", "All of the boats are ferries."),
        ("scope", "Some boats pay a toll.", "All boats pay a toll."),
        (
            "scope",
            "It is one of the oldest bridges in Norden.",
            "It is the oldest of all bridges in Norden.",
        ),
        (
            "scope",
            "It is the longest wooden bridge in Germany.",
            "It is the longest wooden bridge in the world.",
        ),
        ("causal", "The storm led to repairs.", "The storm resulted from repairs."),
        ("causal", "The delay was caused by the storm.", "The delay caused the storm."),
        (
            "causal",
            "The old ferries were sold because the new bridge was free.",
            "The new bridge was free because the old ferries were sold.",
        ),
    ],
)
def test_english(kind: AlterationKind, sentence: str, claim: str) -> None:
    assert altered(sentence, kind) == claim


@pytest.mark.parametrize(
    ("kind", "sentence", "claim"),
    [
        ("unit", "总票房达245亿元。", "总票房达245万元。"),
        ("name", "该公司总部位于德国。", "该公司总部位于挪威。"),
        ("name", "该公司总部位于杭州。", "该公司总部位于成都。"),
        ("direction", "飞行次数比2023年增加28%。", "飞行次数比2023年减少28%。"),
        ("negation", "青梧市是试点城市。", "青梧市不是试点城市。"),
        ("negation", "水务局完成了清淤。", "水务局没有完成清淤。"),
        ("negation", "该平台不适用于手机。", "该平台适用于手机。"),
        ("scope", "大多数居民表示满意。", "所有居民表示满意。"),
        ("scope", "它是最早的试点之一。", "它是最早的试点。"),
        ("causal", "暴雨导致路面积水。", "暴雨源于路面积水。"),
        ("causal", "由于老管道漏水，全市更换管道。", "由于全市更换管道，老管道漏水。"),
        ("number", "机队共有七架无人机，分为三类。", None),
    ],
)
def test_chinese(kind: AlterationKind, sentence: str, claim: str | None) -> None:
    made = altered(sentence, kind, "zh")
    if (
        kind == "number"
    ):  # drawn: three kinds become more than three, and seven aircraft are not counted in kinds
        assert made is not None and re.fullmatch(r"机队共有七架无人机，分为[四五六八九]类。", made)
    else:
        assert made == claim


@pytest.mark.parametrize(
    ("kind", "sentence", "why"),
    [
        ("negation", "The bridge was not closed but no boat passed.", "negated already"),
        ("negation", "The bridge is often closed.", "`is not often` says something else"),
        ("unit", "The cost was more than 3 billion crowns.", "more than 3 billion is more than 3 million"),
        ("unit", "It is 82 km (51 miles) long.", "a conversion stands beside it"),
        ("number", "It is 82 km (51 miles) long.", "a conversion stands beside it"),
        ("number", "A Boeing 747 landed.", "a part of a name"),
        ("number", "In 1046 BC it stood.", "a year"),
        ("number", "It won by 45-17 points.", "a score"),
        ("date", "Johan August Strindberg was a writer.", "a part of a name"),
        ("direction", "It went from the largest to the smallest.", "a word and its opposite"),
        ("name", "The John Smith University is large.", "a part of another name"),
        ("name", "Germany and Germany again in Germany.", "stands twice"),
        ("causal", "The pioneer was led to the bridge.", "a passive"),
        ("causal", "The storm caused the boats to sink.", "`resulted from the boats to sink` is no English"),
    ],
)
def test_what_would_not_be_false_or_not_be_english_is_left_alone(
    kind: AlterationKind, sentence: str, why: str
) -> None:
    assert altered(sentence, kind) is None, why


@pytest.mark.parametrize("seed", range(20))
def test_numbers_and_years_become_others_that_the_page_does_not_have(seed: int) -> None:
    sentence = "The bridge of 1931 spans 1,240 metres on 14 piers and costs 3.50 crowns."
    page = PageText("https://a.example/", sentence + " Later 20 and 1935 are named.")
    made = alterations(sentence, page, NamePool((), "en"), "en", Random(seed))
    number, date = made["number"], made["date"]
    assert (
        number.before in ("1,240", "14", "3.50") and float(number.after.replace(",", "")) not in page.numbers
    )
    # 20 to 90 % more, rounded to the zeros that the old number ends with: 1,240 to a ten
    assert 1.15 <= float(number.after.replace(",", "")) / float(number.before.replace(",", "")) <= 2.0
    assert ("," in number.after, len(number.after.partition(".")[2])) == (
        "," in number.before,
        len(number.before.partition(".")[2]),
    )
    assert date.before == "1931" and 3 <= abs(int(date.after) - 1931) <= 19 and date.after != "1935"


@pytest.mark.parametrize("seed", range(20))
def test_a_number_moves_to_the_side_on_which_the_old_statement_does_not_imply_the_new(seed: int) -> None:
    less = altered("Fewer than 400 boats came.", "number", seed=seed)
    more = altered("More than 400 boats came.", "number", seed=seed)
    percent = altered("Of the boats 90 percent came.", "number", seed=seed)
    assert less and more and percent
    assert int(re.findall(r"\d+", less)[0]) < 400 < int(re.findall(r"\d+", more)[0])
    assert int(re.findall(r"\d+", percent)[0]) < 90, "20 % more than 90 % would be 108 %"
    since = altered("Since 1950 boats pay a toll.", "date", seed=seed)
    assert since is not None and int(re.findall(r"\d+", since)[0]) < 1950


@pytest.mark.parametrize(
    ("kind", "sentence", "language", "true"),
    [
        # what more than 90 percent do, more than 50 do; 90 cannot grow by a fifth and be a share
        ("number", "More than 90 percent of all boats pay.", "en", r"More than \d"),
        ("number", "At least 85% of all boats pay.", "en", r"At least \d"),
        ("number", "No fewer than 30 boats pay a toll.", "en", r"than [12]\d boats"),
        ("number", "It is said that 90 percent or more of all boats pay.", "en", r"that [1-7]\d percent"),
        ("number", "It is open to boats of 30 tonnes or less.", "en", r"of [3-9]\d tonnes"),
        ("date", "It was built in 1950 or earlier.", "en", "in (?:19[5-9]|20)"),
        ("unit", "It stands 5 miles or more from there.", "en", "kilometres"),
        # a wider range holds what a narrower one does
        ("number", "It takes between 10 and 20 boats a day.", "en", "between"),
        ("number", "It takes 10 to 20 boats a day.", "en", "10 to"),
        ("number", "It takes 10\u00a0to 20 boats a day.", "en", "to (?!20)"),
        ("number", "A passage lasts from 4 to 33 minutes.", "en", "to [4-9]"),
        ("number", "It takes between two and five boats a day.", "en", "between"),
        ("date", "It was built between 1950 and 1960.", "en", "between"),
        ("date", "It was built prior to 1950.", "en", "to (?:19[5-9]|20)"),
        ("date", "It was built no later than 1950.", "en", "than (?:19[5-9]|20)"),
        ("date", "It was not built before 1950.", "en", "before 19[34]"),
        ("date", "It was in use as late as 1950.", "en", "as 19[34]"),
        # of 300 a day, a month has 9,000
        ("unit", "It takes more than 300 boats a day.", "en", "a month"),
        ("unit", "It takes at most 300 boats a year.", "en", "a day"),
        ("unit", "It stands not more than 5 kilometres from there.", "en", "miles"),
        ("unit", "It stands a minimum of 5 miles from there.", "en", "kilometres"),
        ("unit", "It cost more than £40.", "en", "€"),
        ("number", "The fleet did not exceed 50 boats.", "en", "exceed"),
        ("number", "桥上没有超过50艘船只需要付费。", "zh", r"过(?:[6-9]\d|1\d\d)艘"),
        ("number", "桥上超过90%的船只需要付费。", "zh", r"超过\d"),
        ("number", "桥上不少于30艘船只需要付费。", "zh", r"于[12]\d艘"),
        ("number", "桥的长度为30米或以下。", "zh", r"为[3-9]\d米"),
        ("number", "桥的长度在300到500米之间。", "zh", "之间"),
        ("date", "这座桥于1950年以前建成。", "zh", "于(?:19[5-9]|20)"),
        ("date", "这座桥于1950年底前建成。", "zh", "于(?:19[5-9]|20)"),
        ("date", "这座桥不晚于1950年建成。", "zh", "于(?:19[5-9]|20)"),
        ("date", "这座桥于1950年至1960年间建成。", "zh", "年间"),
        ("unit", "这座桥的长度不少于5公里。", "zh", "5米"),
    ],
)
def test_no_bound_or_range_becomes_one_that_the_sentence_implies(
    kind: AlterationKind, sentence: str, language: Language, true: str
) -> None:
    made = [altered(sentence, kind, language, seed=seed) for seed in range(30)]
    assert not [claim for claim in made if claim is not None and re.search(true, claim)]


def test_a_number_grows_by_a_fifth_at_least_however_it_is_rounded() -> None:
    # 1,100 in whole hundreds: a fifth more is 1,320, which is 1,400 and not 1,300.
    drawn = {other_number("1100", (), Random(seed)) for seed in range(200)}
    assert min(int(one) for one in drawn if one is not None) == 1400


@pytest.mark.parametrize("seed", range(20))
def test_years_keep_their_order_and_months_their_days(seed: int) -> None:
    claim = altered("It was built from 1884 to 1886 and burnt in 1890.", "date", seed=seed)
    assert claim is not None
    years = [int(year) for year in re.findall(r"\d{4}", claim)]
    assert years == sorted(years) and len(set(years)) == 3
    month = altered("It was opened on 31 May in Fernholt.", "date", seed=seed)
    assert month is not None and re.search(r"31 (?:January|March|July|August|October|December)", month)


def test_values_have_known_bounds() -> None:
    assert other_number("2", {3.0, 4.0}, Random(0)) is None, (
        "3 and 4 are all that 2 becomes: 2 + 2, at most 1.9 x 2"
    )
    assert other_year(2024, set(), Random(0), "up") is None, "2027 and later have not come"
    assert other_year(1950, set(), Random(0), None, 1949, 1951) is None, "nothing between"


def test_a_change_that_the_page_bears_out_elsewhere_is_not_made() -> None:
    sentence = "The toll increased to 3 crowns in Norden."
    assert altered(sentence, "direction") == "The toll decreased to 3 crowns in Norden."
    assert altered(sentence, "direction", page="Later the toll decreased to 3 crowns again.") is None
    assert altered("The bridge stands in Germany.", "name", page="Ships came from Portugal.") is None


def test_names_have_kinds_and_parts_of_names_have_none() -> None:
    text = "In Paris, Anna Maria Lindqvist met the Norden Academy and a Danish poet, not Paris Holt, in Portugal."
    assert [(name.kind, name.text) for name in names_in(text, "en")] == [
        ("city", "Paris"),
        ("female 3", "Anna Maria Lindqvist"),
        ("head Academy", "Norden Academy"),
        ("country 1", "Danish"),
        ("country 0", "Portugal"),
    ]


def test_a_possessive_keeps_its_ending() -> None:
    assert altered("Time is on Max Schiff’s side.", "name") == "Time is on John Castellano’s side."


def test_an_edit_can_be_undone() -> None:
    edit = Edit(kind="number", start=4, before="14", after="2,000")
    assert edit.applied("has 14 piers") == "has 2,000 piers"
    assert edit.undone("has 2,000 piers") == "has 14 piers"
