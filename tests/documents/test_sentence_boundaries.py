import pytest

from local_judge.documents import parse_report


def sentences(text: str) -> list[str]:
    return [sentence.text for sentence in parse_report(text).sentences]


@pytest.mark.parametrize(
    "text",
    [
        "Smith et al. found that it grew.",
        "The U.S. economy and the U.S. Federal Reserve, e.g. in No. 5 of it, i.e. there.",
        "We saw Dr. Who and Prof. Lee vs. Mr. Roe.",
        "See Fig. 3 and Eq. 2 in Vol. 4.",
        "It grew 3.5% to 1.25 million, cf. Table 2.",
        "Read https://a.example/x.y/z?q=1.2 or www.b.example now.",
        "The page [St. Louis Fed. Data. Now](https://a.example/x) has it.",
        "Call `a.b. C.d` to run it.",
        "He said (yes. No.) and left.",
        "Version 1.2.3 of it runs on Node.js today.",
        "It costs approx. 5 dollars and J. R. R. Tolkien paid.",
        "Im 2. Quartal 2024 wuchs der Umsatz der Mühle.",
        "Das 19. Jahrhundert und der 4. und 5. Platz waren gut für die Mühle.",
        "Von 1. Januar bis 31. Dezember, also bis zum 3. März, lief die Mühle.",
        "Vgl. Nr. 5 und Art. 5 Abs. 3 dort, Bd. 2, S. 7; sie kostet 5 Mio. Euro.",
        "Ve 2. čtvrtletí rostl obrat mlýna, č. 5 na str. 3 v 19. Století.",
        "Den 2. Verdenskrig ødelagde møllen, jf. § 5 stk. 2, den 3. marts.",
        "W 2. kwartale wzrosła sprzedaż młyna, zob. art. 5 ust. 2 z 3. Maja.",
        "Vuoden 2. neljännes oli hyvä myllylle 3. maaliskuuta 2020, ks. s. 5.",
    ],
)
def test_what_does_not_end_a_sentence(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.[1] Two. [2][3] Three [4].", ["One.[1]", "Two. [2][3]", "Three [4]."]),
        ("One.¹ Two.<sup>2</sup> Three.【3†L1】", ["One.¹", "Two.<sup>2</sup>", "Three.【3†L1】"]),
        ("It is 41 m³/s [1]. At 4 kg/h. It falls.", ["It is 41 m³/s [1].", "At 4 kg/h.", "It falls."]),
        ("It is.^[T, https://a.example] Two.", ["It is.^[T, https://a.example]", "Two."]),
        ("Foo is. [12] shows that bar is.", ["Foo is.", "[12] shows that bar is."]),
        ("One. ([Reuters](https://a.example)) Two.", ["One. ([Reuters](https://a.example))", "Two."]),
        ("One. [A](https://a.example) [B](https://b.example)", ["One. [A](https://a.example) [B](https://b.example)"]),
        ("One. [Acme](https://a.example) said so. Two.", ["One.", "[Acme](https://a.example) said so.", "Two."]),
        ("One. https://a.example/x", ["One. https://a.example/x"]),
        ("**One.** Two. *Three.*", ["**One.**", "Two.", "*Three.*"]),
        ("One. **Two** is. Three.", ["One.", "**Two** is.", "Three."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("Is it? Yes! It is.", ["Is it?", "Yes!", "It is."]),
        ("One line  \nThe next line", ["One line", "The next line"]),
        ("One line<br>The next line", ["One line", "The next line"]),
        ("Die Mühle kam 1990. Danach ging sie. Es waren 12. Die Zahl stieg auf 25. Das war neu.", ["Die Mühle kam 1990.", "Danach ging sie.", "Es waren 12.", "Die Zahl stieg auf 25.", "Das war neu."]),  # noqa: E501
        ("One sentence over\ntwo lines. Two.", ["One sentence over two lines.", "Two."]),
        ("中国有14亿人口。[1] 增长5.2%。他说：“好。”然后走了！", ["中国有14亿人口。[1]", "增长5.2%。", "他说：“好。”", "然后走了！"]),  # noqa: E501
        ("人口增长5.2%。2023年下降。[1]３月回升！4月？", ["人口增长5.2%。", "2023年下降。[1]", "３月回升！", "4月？"]),
        ("他说：“增长。”2024年停止。", ["他说：“增长。”", "2024年停止。"]),
        ("一句。**二句。**三句。**四**句。", ["一句。", "**二句。**", "三句。", "**四**句。"]),
        ("By law (Arts. 1, 7) [3]; it grew (https://a.example) [4]. Two.", ["By law (Arts. 1, 7) [3]; it grew (https://a.example) [4].", "Two."]),  # noqa: E501
        ("见 Smith et al. (2020) 的研究。下一句。", ["见 Smith et al. (2020) 的研究。", "下一句。"]),
    ],
)  # fmt: skip
def test_boundaries(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_quotation_mark_that_is_never_closed_hides_no_boundaries() -> None:
    text = 'He called it "open. ' + "This is the next sentence of it. " * 40
    assert len(sentences(text)) == 41


def test_a_boundary_beyond_the_window_is_found() -> None:
    # The segmenter is asked in windows of 4000 characters; every 33rd character starts a sentence.
    text = "This is the next sentence of it. " * 1000
    assert sentences(text) == ["This is the next sentence of it."] * 1000


def test_a_table_row_is_one_sentence_whatever_it_holds() -> None:
    text = "| A | B |\n|---|---|\n| One. Two. | Three.<br>Four. |\n"
    assert sentences(text) == ["| A | B |", "| One. Two. | Three.<br>Four. |"]


def test_spans_in_quotes_and_lists_point_at_the_source() -> None:
    text = "> First sentence goes\n> over lines. Second.\n\n- Item one\n  goes on. More."
    spans = [text[s.span.start : s.span.end] for s in parse_report(text).sentences]
    assert spans == ["First sentence goes\n> over lines.", "Second.", "Item one\n  goes on.", "More."]
    assert sentences(text) == ["First sentence goes over lines.", "Second.", "Item one goes on.", "More."]
