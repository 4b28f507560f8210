"""Items that a count decides: what it finds, what it scores, and where it leaves the matter to a judge."""

import pytest

from local_judge.documents import parse_report
from local_judge.documents.words import WordCounter, count_words
from local_judge.protocols.deer.rubric.counts import Counted, count
from local_judge.protocols.deer.rubric.model import CountRule


def english(words: int) -> str:
    """A paragraph of so many words, in sentences of ten."""
    sentence = "The plant makes nine tonnes of steel a year here."
    left = " ".join(["steel"] * (words % 10))
    return " ".join([sentence] * (words // 10) + ([left + "."] if left else []))


def chinese(characters: int) -> str:
    """A paragraph of so many characters, full stops apart, in sentences of ten."""
    return (
        "。".join(["这家工厂每年生产钢材"] * (characters // 10) + ["钢" * (characters % 10)]).rstrip("。")
        + "。"
    )


def sections(**parts: str) -> str:
    """A report from headings (underscores for spaces) and texts."""
    return "# Steel\n\n" + "".join(
        f"## {name.replace('_', ' ')}\n\n{text}\n\n" for name, text in parts.items()
    )


def counted(rule: CountRule, text: str, scale: int = 10) -> Counted | None:
    return count(rule, parse_report(text), scale)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        (
            "Steel, iron and 9.5 t of well-known ore — don't ask.",
            10,
        ),  # 9.5, well-known and don't are one each
        ("a_b **bold** `code`", 4),
        ("这家工厂每年生产钢材", 6),  # 10 * 3 / 5
        ("这家工厂每年生产钢", 5),  # 9 * 3 / 5 = 5.4, rounded down
        ("2023年GDP增长5.2%", 4),  # 2023, GDP, 5.2; three characters are 1.8
        ("see [the page](https://example.org/a/b?c=d) or https://example.org/x", 4),
        ("line<br>line", 2),
        ("steel" * 3 + "\ufb01", 1),
        ("강철은 중요하다", 2),  # Korean has spaces
    ],
)
def test_words(text: str, words: int) -> None:
    assert count_words(text) == words


def test_citations_are_no_words() -> None:
    plain = "Output rose by nine per cent, as the office reports."
    cited = "Output rose by nine per cent [1][2, 3], as the office reports [^a]【4†L2】 https://e.org/1."
    for text, words in ((plain, 10), (cited, 10)):
        document = parse_report(
            f"{text}\n\n## References\n\n1. A https://e.org/1\n2. B\n3. C\n4. D\n\n[^a]: F"
        )
        assert WordCounter(document).block(document.blocks[0]) == words


def test_all_parts_in_english() -> None:
    text = sections(
        **{"1._Introduction": english(120), "2._Market": english(300), "3._Prices": english(250)},
        **{"IV._Conclusion_and_Outlook": english(60)},
    )
    present = counted("parts_present", text)
    assert present == Counted(
        score=10,
        rationale='introduction: "1. Introduction" (L2), 120 words; body: 2 sections from "2. Market" (L4), 550 words; '
        'conclusion: "IV. Conclusion and Outlook" (L8), 60 words',
    )
    # Shares 1, 1 and 60/100: mean 2.6/3; 1 + floor(9 * 0.8667 + 0.5) = 1 + 8 = 9; 1 + floor(4 * 0.8667 + 0.5) = 4.
    lengths = counted("part_lengths", text)
    assert lengths == Counted(
        score=9,
        rationale='introduction: 120 of 100 words, "1. Introduction" (L2); body: 550 of 500 words, 2 sections from '
        '"2. Market" (L4); conclusion: 60 of 100 words, "IV. Conclusion and Outlook" (L8)',
    )
    five = counted("part_lengths", text, scale=5)
    assert five is not None and five.score == 4


def test_all_parts_in_chinese() -> None:
    # 60, 200 and 20 words: 100, 334 (200.4) and 34 (20.4) characters. Shares 0.6, 0.4, 0.2: mean 0.4;
    # 1 + floor(9 * 0.4 + 0.5) = 1 + 4 = 5; 1 + floor(4 * 0.4 + 0.5) = 3.
    text = sections(
        **{"一、引言": chinese(100), "第二章_市场": chinese(334), "（三）结论与展望": chinese(34)}
    )
    present, lengths, five = (
        counted("parts_present", text),
        counted("part_lengths", text),
        counted("part_lengths", text, 5),
    )
    assert present is not None and lengths is not None and five is not None
    assert (present.score, lengths.score, five.score) == (10, 5, 3)
    assert present.rationale == (
        'introduction: "一、引言" (L2), 60 words; body: 1 section from "第二章 市场" (L4), 200 words; '
        'conclusion: "（三）结论与展望" (L6), 20 words'
    )


@pytest.mark.parametrize(
    "name",
    [
        "Introduction",
        "1 Introduction",
        "**1. Introduction**",
        "Chapter 1: Introduction",
        "INTRODUCTION",
        "Introduction: why steel matters",
        "Introduction and scope",
        "Background and Purpose",
        "A. Introduction",
        "前言",
        "第一章 绪论",
        "一、研究背景与目的",
        "1.1 背景介绍",
        "引言：为什么是钢",
    ],
)
def test_names_of_an_introduction(name: str) -> None:
    assert counted(
        "parts_present", sections(**{name: english(50), "Steel": english(90), "Summary": "It is."})
    )


@pytest.mark.parametrize(
    "name",
    [
        "Conclusion",
        "7. Conclusions",
        "VII. Conclusion",
        "Conclusion: what is left",
        "Summary and Conclusions",
        "Concluding remarks",
        "Final Thoughts",
        "Conclusion (updated)",
        "Conclusion / 结论",
        "结论",
        "七、结论与建议",
        "第七章 总结",
        "结语",
        "全文总结",
    ],
)
def test_names_of_a_conclusion(name: str) -> None:
    text = sections(Introduction=english(50), Steel=english(90), **{name: english(30)})
    assert counted("parts_present", text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(english(400), id="no headings"),
        pytest.param(sections(Introduction=english(50), Steel=english(90)), id="no conclusion is named"),
        pytest.param(sections(Steel=english(90), Conclusion=english(50)), id="no introduction is named"),
        pytest.param(
            sections(Executive_summary=english(50), Steel=english(90), Conclusion=english(50)),
            id="a summary may serve as an introduction",
        ),
        pytest.param(
            sections(Steel=english(90), Introduction=english(50), Conclusion=english(50)),
            id="an introduction that comes late",
        ),
        pytest.param(
            sections(Introduction=english(50), Steel=english(90), Conclusion=english(50), Prices=english(90)),
            id="the body goes on after a conclusion",
        ),
        pytest.param(
            sections(Introduction=english(50), Conclusion=english(50)), id="the body is in one of the others"
        ),
        pytest.param(
            sections(Introduction=english(90), Steel=english(20), Conclusion=english(50)),
            id="most of the body is in the introduction",
        ),
        pytest.param(
            sections(Introduction_to_steel=english(50), Steel=english(90), Conclusion=english(50)),
            id="an introduction to a subject may be part of the body",
        ),
        pytest.param(
            sections(Introduction="", Background=english(50), Steel=english(90), Conclusion=english(50)),
            id="an introduction whose text stands under the next heading",
        ),
        pytest.param(
            sections(Introduction=english(50), Steel=english(90), Conclusion="", Recommendations=english(50)),
            id="a conclusion whose text stands under the next heading",
        ),
        pytest.param(
            sections(
                Introduction=english(50),
                Steel=f"{english(90)}\n\n### Conclusion\n\n{english(50)}",
                Iron=english(50),
            ),
            id="the conclusion of one section",
        ),
        pytest.param(
            "# Steel\n\nNote on scope: " + english(60) + sections(Steel=english(90), Conclusion=english(50)),
            id="a remark on the document before the first section",
        ),
        pytest.param(
            "# Steel\n\nBy A. Smith\n\n" + sections(Steel=english(90), Conclusion=english(50)), id="a by-line"
        ),
    ],
)
def test_a_judge_is_asked_where_headings_leave_doubt(text: str) -> None:
    assert counted("parts_present", text) is None
    assert counted("part_lengths", text) is None


def test_a_summary_and_the_end_matter_are_no_body() -> None:
    text = sections(
        Executive_Summary=english(70),
        **{"1._Introduction": english(100), "2._Steel": english(500), "3._Conclusion": english(100)},
        Limitations=english(40),
        Appendix_A=english(80),
        References="1. A https://example.org/a\n2. B https://example.org/b",
    )
    lengths = counted("part_lengths", text)
    assert lengths is not None
    assert lengths.score == 10
    assert 'body: 500 of 500 words, 1 section from "2. Steel" (L6)' in lengths.rationale


def test_text_before_the_first_section_introduces() -> None:
    text = f"# Steel\n\n{english(40)}\n\n## Market\n\n{english(500)}\n\n## Conclusion\n\n{english(100)}\n"
    lengths = counted("part_lengths", text)
    # Shares 0.4, 1, 1: mean 0.8; 1 + floor(9 * 0.8 + 0.5) = 1 + 7.
    assert lengths is not None
    assert lengths.score == 8
    assert lengths.rationale.startswith(
        "introduction: 40 of 100 words, text before the first section (L2); body: 500"
    )
    assert counted("part_lengths", text.replace(english(40), english(39))) is None


def test_a_report_that_breaks_off_at_its_conclusion_has_none() -> None:
    text = sections(Introduction=english(100), Steel=english(500), Conclusion="")
    present, lengths = counted("parts_present", text), counted("part_lengths", text)
    assert present is not None and lengths is not None
    # 2 of 3: 1 + floor(9 * 2/3 + 0.5) = 7; and 1 + floor(4 * 2/3 + 0.5) = 4.
    assert present.score == lengths.score == 7
    assert present.rationale.endswith('conclusion: "Conclusion" (L6), without text')
    five = counted("parts_present", text, scale=5)
    assert five is not None and five.score == 4


def test_sections_may_be_one_level_down() -> None:
    text = sections(Steel=english(600)).replace(
        "## Steel", "## Introduction\n\n" + english(50) + "\n\n## Steel"
    )
    text = (text + f"## Conclusion\n\n{english(50)}\n").replace("## ", "### ")
    assert counted("parts_present", text) is not None


def test_paragraph_lengths() -> None:
    # 39, 40, 250 and 251 words, and 60: three of five are within the limits.
    text = "\n\n".join(english(words) for words in (39, 40, 250, 251, 60))
    assert counted("paragraph_lengths", text) == Counted(
        score=6,  # 1 + floor(9 * 3/5 + 0.5) = 1 + 5
        rationale="3 of 5 paragraphs have 40 to 250 words; shorter: 1; longer: 1",
    )
    five = counted("paragraph_lengths", text, scale=5)
    assert five is not None and five.score == 3  # 1 + floor(4 * 3/5 + 0.5) = 1 + 2


def test_paragraph_lengths_in_chinese() -> None:
    # 66 characters are 39.6, that is 39 words; 67 are 40.2; 418 are 250.8, that is 250; 419 are 251.4.
    text = "\n\n".join(chinese(n) for n in (66, 67, 418, 419, 100, 100))
    found = counted("paragraph_lengths", text)
    assert found == Counted(
        score=7,  # 1 + floor(9 * 4/6 + 0.5) = 1 + 6
        rationale="4 of 6 paragraphs have 40 to 250 words; shorter: 1; longer: 1",
    )


def test_a_line_that_leads_into_a_list_is_no_paragraph() -> None:
    good = [english(60)] * 5
    listed = "\n\n".join([*good[:3], "**The reasons are these:**\n\n- Iron\n- Ore", *good[3:]])
    assert counted("paragraph_lengths", listed) == Counted(
        score=10, rationale="5 of 5 paragraphs have 40 to 250 words; shorter: 0; longer: 0"
    )
    # The same line before a paragraph is one, and short: 1 + floor(9 * 5/6 + 0.5) = 9.
    plain = counted("paragraph_lengths", "\n\n".join([*good[:3], "The reasons are these:", *good[3:]]))
    assert plain is not None and plain.score == 9


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n\n".join([english(60)] * 4), id="four paragraphs"),
        pytest.param(
            "\n\n".join([english(60)] * 5) + "\n\n" + "\n".join(f"- {english(61)}" for _ in range(5)),
            id="lists hold more than half of the words",
        ),
        pytest.param(
            "\n\n".join(["โรงงานแห่งนี้ผลิตเหล็กเก้าตันต่อปีและส่งออกไปยังหลายประเทศ"] * 6), id="no spaces between words"
        ),
    ],
)
def test_a_judge_is_asked_about_paragraphs(text: str) -> None:
    assert counted("paragraph_lengths", text) is None


def test_references_and_headings_are_no_paragraphs() -> None:
    text = (
        "# Steel\n\n"
        + "\n\n".join([english(60)] * 5)
        + "\n\n## References\n\n[1] https://e.org/a\n\n[2] https://e.org/b\n"
    )
    found = counted("paragraph_lengths", text)
    assert found is not None and found.rationale.startswith("5 of 5 ")
