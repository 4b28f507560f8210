"""Every style of citation in English and Chinese, with the exact text that is left."""

import pytest

from local_judge.documents import parse_report
from local_judge.documents.clean import Cleaned, clean
from local_judge.documents.cleaning.model import applied

LIST = "\n\n## References\n\n[1] A: https://a.example\n[2] B: https://b.example\n[3] C: https://c.example\n"
LISTE = "\n\n## 参考文献\n\n[1] 甲：https://a.example\n[2] 乙：https://b.example\n[3] 丙：https://c.example\n"


def cleaned(text: str) -> Cleaned:
    document = parse_report(text)
    result = clean(document)
    assert applied(document.text, result.removed) == result.text
    for removal in result.removed:
        assert document.text[removal.span.start : removal.span.end] == removal.text
    for one, other in zip(result.removed, result.removed[1:], strict=False):
        assert one.span.end <= other.span.start
    return result


def left(text: str, listed: str = LIST) -> str:
    """The body without its citations; the list below it goes too."""
    return cleaned(text + listed).text.removesuffix("\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A rose [1].", "A rose."),
        ("A rose[1]. B fell.[2] C is.", "A rose. B fell. C is."),
        ("A rose [1, 3] and fell [2-3].", "A rose and fell."),
        ("A rose [1][2][3].", "A rose."),
        ("A rose [1], [2] and [3]; then B.", "A rose; then B."),
        ("A rose [1]–[3], says B.", "A rose, says B."),
        ("It is so \\[1\\].", "It is so."),
        ("A rose 【12†L3】.", "A rose."),
        ("A rose [12†L3-L5].", "A rose."),
        ("A rose.¹ B fell.²,³ C is.", "A rose. B fell. C is."),
        ("A rose<sup>[1]</sup> and<sup>2</sup> fell.", "A rose and<sup>2</sup> fell."),
        ("A rose [[1]](https://a.example/x).", "A rose."),
        ("A rose [1](https://a.example/x).", "A rose."),
        ("A rose [[2]](#ref-2).", "A rose."),
        ("A rose <https://a.example/x>.", "A rose."),
        ("A rose (https://a.example/x).", "A rose."),
        ("A rose (doi:10.1000/182).", "A rose."),
        # A chip shows the site of its page, and ends a clause.
        ("A rose [a.example][1]. B fell ([b.example][2]).", "A rose. B fell."),
        ("A rose [a.example](https://a.example/x)[b.example +2](https://b.example/x).", "A rose."),
        ("A rose [*www.a.example*](https://a.example/x), then fell.", "A rose, then fell."),
        ('A rose <a href="https://a.example/x">a.example</a>.', "A rose."),
        # It is a word of the sentence: its object or subject, the name of another site, or of no page.
        ("As told by [a.example](https://a.example/x).", "As told by a.example."),
        ("As [a.example][1] says, A rose.", "As a.example says, A rose."),
        ("A uses [Node.js](https://a.example/x).", "A uses Node.js."),
        ("A uses [Node.js][1].", "A uses Node.js."),
        ("A bought [a.example](https://a.example/).", "A bought a.example."),
        ("A is [the old mill][1].", "A is the old mill."),
    ],
)
def test_styles_in_english(text: str, expected: str) -> None:
    assert left(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("增长[1]。下降 [2, 3]，并且[1]上升。", "增长。下降，并且上升。"),
        ("增长 [1] 并且上升。", "增长并且上升。"),
        ("增长【1】。下降［2］。", "增长。下降。"),
        ("增长【12†来源】。", "增长。"),
        ("增长（[1]）。", "增长。"),
        ("增长（见[1]，[2]）。", "增长。"),
        ("增长。[1]下降。", "增长。下降。"),
        ("增长¹，下降²。", "增长，下降。"),
        ("据[路透社](https://r.example/a)报道。", "据路透社报道。"),
        ("增长（来源：[路透社](https://r.example/a)）。", "增长。"),
        ("增长。来源：https://a.example/x", "增长。"),
        ("- 增长[1]\n- 来源：[2]\n- 下降", "- 增长\n- 下降"),
    ],
)
def test_styles_in_chinese(text: str, expected: str) -> None:
    assert left(text, LISTE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Reuters](https://r.example/a) says so.", "Reuters says so."),
        ("See [the page](https://r.example/a).", "See the page."),
        (
            "Tools such as [A](https://a.example/x), [B](https://b.example/x) and [C](https://c.example/x).",
            "Tools such as A, B and C.",
        ),
        ("- [Title](https://a.example/x)\n- [Two](https://b.example/x)", "- Title\n- Two"),
        ("1. [Title](https://a.example/x)", "1. Title"),
        ("By Dr. [Smith](https://s.example)", "By Dr. Smith"),
        ("[A study [1]](https://a.example/x) says so.", "A study says so."),
        ('<a href="https://a.example/x">Reuters</a> says so.', "Reuters says so."),
        # Names of sources that no sentence needs.
        ("It is so ([Reuters](https://r.example/a)).", "It is so."),
        ("It is so ([R](https://r.example/a))[1]; ([S](https://s.example/a))[2].", "It is so."),
        ("It is so. [Reuters](https://r.example/a) [AP](https://p.example)", "It is so."),
        ("It is so ([source](https://a.example/x)).", "It is so."),
        ('So it is<sup><a href="https://a.example/x">[1]</a></sup>.', "So it is."),
    ],
)
def test_a_links_words_stay_where_a_sentence_may_need_them(text: str, expected: str) -> None:
    assert left(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        'She said "it is [difficult] anywhere".',
        "An area of 5 m² and 10 km².",
        "Let x[1] be the first.",
        "Set rows[1] = 2 before.",
        "Then $a_x[1] + b$ grows.",
        "Write `x[1]` or `https://a.example`.",
        "```python\nx = y[1]  # https://a.example [2]\n```",
        "The years [2020] and [sic].",
        "![a chart](https://a.example/chart.png)",
        "Kim (2023) found it, as did Kim et al. (2022).",
        "It rose -- see below ( or not ) .  Two blanks, and `code` .",
    ],
)
def test_what_is_no_citation_stays(text: str) -> None:
    assert left(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("growth[1]and fall", "growth and fall"),
        ("An end.[1]Next one.", "An end. Next one."),
        ("A [1] rose", "A rose"),
        ("A rose ( [1] ).", "A rose."),
        ("A rose ([1], p. 12).", "A rose."),
        ("A rose (see [1]; also [2]).", "A rose."),
        ("A rose.[1].", "A rose."),
        ("A rose, [1].", "A rose."),
        ("A rose, [1], and fell.", "A rose, and fell."),
        ("A rose [1] … and fell.", "A rose … and fell."),
        ("**A rose [1]**", "**A rose**"),
        ("A rose **[1]**.", "A rose."),
        ("A **b**[1] **c** d.", "A **b** **c** d."),
        ("A **b**[1]**c** d.", "A **b** **c** d."),
        ("A rose^[1]^.", "A rose."),
        ("A rose. Source: [1]", "A rose."),
        ("A rose – https://a.example/x", "A rose"),
        ("# Title [1]\n\n[2] Begins.", "# Title\n\nBegins."),
        ("Version [1] .NET runs.", "Version .NET runs."),
        ("((([1])))\n\nB.", "B."),
    ],
)
def test_the_gap_closes_as_a_person_would(text: str, expected: str) -> None:
    assert left(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One [1]  \ntwo [2].", "One  \ntwo."),  # a hard line break
        ("One [1]\\\ntwo [2].", "One\\\ntwo."),
        (
            "| a [1] | b |\n|---|---|\n| x [1] | [2] |\n| y | https://a.example/x |",
            "| a | b |\n|---|---|\n| x | |\n| y | |",
        ),
        ("- x [1]\n  [2]\n- [3]\n- z", "- x\n- z"),
        ("- [1]\n  - child\n- z", "- \n  - child\n- z"),
        ("> quoted [1]\n> [2]\n> more", "> quoted\n> more"),
        ("A.\n\nSource: [1][2]\n\nB.", "A.\n\nB."),
        ("A.\n\n[1]\n\n[2]", "A."),
        (
            'm,319,https://a.example/x,7.4,https://b.example/y,"No",1',
            'm,319,,7.4,,"No",1',
        ),
    ],
)
def test_structure_stays(text: str, expected: str) -> None:
    assert left(text) == expected


def test_names_with_years() -> None:
    english = (
        "A rose (Kim, 2024). Kim (2024) found B. C (Lee & Bo, 2022; Kim, 2024) fell.\n\nReferences\n\n"
        "Kim, J. (2024). Title. https://a.example\n\nLee, A., & Bo, C. (2022). T. https://b.example\n"
    )
    assert cleaned(english).text == "A rose. Kim (2024) found B. C fell.\n"
    chinese = "增长（王明等，2023）。王明等（2023）发现。\n\n## 参考文献\n\n王明，李四（2023）. 标题. https://a.example\n"
    assert cleaned(chinese).text == "增长。王明等（2023）发现。\n"


def test_each_mark_is_one_removal_with_its_kind() -> None:
    text = "A rose [1], [2] at https://a.example/x and [B](https://b.example/x) fell.\n"
    assert [(r.kind, r.text, r.replacement) for r in cleaned(text).removed] == [
        ("marker", " [1], ", ""),
        ("marker", "[2]", ""),
        ("bare_url", " https://a.example/x", ""),
        ("link", "[B](https://b.example/x)", "B"),
    ]
