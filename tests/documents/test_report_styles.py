"""Styles of reports: every form of a mark with every form of a list, and what looks like either but is none."""

import json
from itertools import product
from pathlib import Path

import pytest

from local_judge.documents import Document, Source, parse_report

STYLES = Path(__file__).resolve().parents[2] / "../shared/fixtures/report_styles.jsonl"
URLS = ["https://mill.example/turbine", "https://river.example/flow", "https://grid.example/load"]
SENTENCES = [
    "The old mill turns a turbine of 90.5 kilowatts",
    "The river carries twelve cubic metres a second",
    "The grid takes 1,240 kilowatt hours, or 12% of the village's use of power",
]
MARKS = [
    " [{n}].", ".[{n}]", " (see [{n}]).", " [[{n}]].", r" \[{n}\].", "【{n}】.", "〔{n}〕.", " [#{n}].",
    " [{n}, p. 7].", " [n. {n}].", " [No. {n}].", " [n° {n}].", " [{raised}].", " [Source {n}].", " (Source {n}).", " (Ref. {n}).", " (Quelle {n}).", "（来源{n}）。",  # noqa: E501
    " [citation:{n}].", " [{n}†L1-L9].", " ({n}).", ".({n})", ".{n}", " {n}.", ".[^{n}]", " [^{n}^].", "^{n}^.",
    ".^[{n}]^", "$^{{{n}}}$.", r"\textsuperscript{{{n}}}.", "<sup>{n}</sup>.", " <sup>[{n}]</sup>.",
    "{raised}.", ".{raised}", "{circled}.", ".{circled}", " [{n}](#ref{n}).", ".<sup>[{n}](#cite-{n})</sup>",
    " [^[{n}]^](#r{n}).", '.<sup><a href="#fn{n}">{n}</a></sup>', ' <cite id="{n}"/>.',
    ' <qwen:cite id="id_{n}">Words of the page: 90.5.</qwen:cite>.',
]  # fmt: skip
ENTRIES = [
    "{n}. Title {n}, read on 3 July 2025, [{url}]({url})  \n", "{n}. [Title {n}]({url})\n",
    "[{n}] Title {n}. {url}\n", "[{n}]: {url} \"Title {n}\"\n", "[{n}]. {url}\n\n",
    "{n}\\. Title {n} {url}\n\n", "{n}) Title {n}: {url}\n", "({n}) {url}\n\n",
    "> {n}. Title {n} [{url}]({url})\n", "### [{n}] Title {n}\n\n{url}\n\n",
    "#### {n}. Title {n}\nURL: {url}\n\n", "- [{n}] Title {n} {url}\n", "- **[{n}]** Title {n} – {url}\n",
    "{n}. Title {n}\n   - {url}\n", "{raised} Title {n} {url}\n", "{circled} Title {n} {url}\n",
    "Source {n}: {url}\n", "- [citation:{n}] {url}\n", "[{n}] Title {n} {url} ",
    "| {n} | Title {n} | [page]({url}) |\n", "| [{n}] | Title {n} | {url} |\n",
    '<li>Title {n} <a href="{url}">{url}</a></li>\n',
]  # fmt: skip
TITLES = [
    "## References",
    "#### **Zitierte Werke**",
    "## Alıntılanan çalışmalar",
    "**Kildeliste**",
    "## 引用的著作",
    "المصادر:",
]


def written(mark: str, entry: str, title: str) -> str:
    def fill(form: str, n: int) -> str:
        return form.format(n=n, url=URLS[n - 1], raised="¹²³"[n - 1], circled="①②③"[n - 1])

    body = " ".join(sentence + fill(mark, n) for n, sentence in enumerate(SENTENCES, 1))
    entries = "".join(fill(entry, n) for n in (1, 2, 3))
    if entry.startswith("|"):
        entries = "| No. | Title | Page |\n|---|---|---|\n" + entries
    return f"# Power\n\n{body}\n\n{title}\n\n" + (f"<ol>\n{entries}</ol>" if "<li>" in entry else entries)


def urls(document: Document) -> list[str]:
    return [citation.url or citation.state for citation in document.citations]


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_is_read_with_lists_of_many_kinds(mark: str) -> None:
    first = MARKS.index(mark) % 4  # a quarter of the lists; each list is read with a quarter of the marks
    for number, entry in enumerate(ENTRIES[first::4], MARKS.index(mark)):
        document = parse_report(written(mark, entry, TITLES[number % len(TITLES)]))
        assert urls(document) == URLS, entry
        assert len(document.references) == 3, entry
        assert [len(sentence.citations) for sentence in document.sentences] == [1, 1, 1], entry


@pytest.mark.parametrize(
    "title",
    [
        "Zdroje", "Kilder og henvisninger", "Lähteet", "Irodalomjegyzék", "Βιβλιογραφία",
        "Литература и источники", "แหล่งอ้างอิง", "Nguồn tham khảo", "संदर्भ सूची", "מקורות",
        "منابع", "Obras citadas", "Sources des citations", "Geciteerd werk", "Karya yang dikutip",
        "參考來源列表", "참고한 자료", "Šaltiniai", "Where this comes from",
        "Appendix B: pages that were read",
    ],
)  # fmt: skip
def test_the_title_of_a_list_is_a_hint_only(title: str) -> None:
    for heading, mark in product((f"## {title}\n\n", f"**{title}**\n\n", f"{title}:\n", ""), MARKS[:1]):
        text = written(mark, ENTRIES[0], "@").replace("@\n\n", heading)
        document = parse_report(text)
        assert urls(document) == URLS
        assert len(document.sentences) == 3


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("https://a.example/very-\n   long", "https://a.example/very-long"),
        ("https://a.example/x/\n   long-path.html", "https://a.example/x/long-path.html"),
        ("https://a.example/x\n   /page?q=1", "https://a.example/x/page?q=1"),
        ("<https://a.example/so\u00adft>", "https://a.example/soft"),
        ("https://\n   a.example/x", "https://a.example/x"),
        ("https://a.example/x\n   read on 3 July 2025", "https://a.example/x"),
        ("https://a.example/\n   Archived", "https://a.example"),
        ("https://a.example/x\n   2025-07-03", "https://a.example/x"),
        ("a.example/x, page_2.pdf", "https://a.example/x"),
        ("a.example - page", "https://a.example"),
        ("setup.py", "no_url"),
    ],
)
def test_an_address_of_an_entry(address: str, url: str) -> None:
    for entry in (
        f"1. Title. {address}\n2. Other. https://b.example\n",
        f"[1] Title. {address}\n[2] O. https://b.example",
    ):
        assert urls(parse_report(f"It turns [1].\n\n## References\n\n{entry}")) == [url]


LIST = "\n\n## References\n\n" + "\n\n".join(f"[{n}] Title {n}. {url}" for n, url in enumerate(URLS, 1))
NUMBERED = "\n\n#### **Works cited**\n\n" + "\n".join(
    f"{n}. Title {n}, {url}" for n, url in enumerate(URLS, 1)
)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("A mill [1]–[3], [1]-[2] and [1–2]." + LIST, "1 2 3 1 2 1 2"),
        ("A mill¹⁻³ turns.¹–² It is old [¹,³], [1] bis [3] and [1 to 2]; compare [1] to [3]." + LIST, "1 2 3 1 2 1 3 1 2 3 1 2 1 3"),  # noqa: E501
        ("A mill turns (1, 2). It is old (1). It flows (2–3)." + NUMBERED, "1 2 1 2 3"),
        ("A mill [A, C] and [A–C].\n\nA. T https://a.example\nB. U https://b.example\nC. V https://c.example", "A C A B C"),  # noqa: E501
        ("Mills [Kim] and [Lee].\n\n## Kilder\n\n- Kim: T https://a.example\n- **Lee** – U https://b.example", "Kim Lee"),  # noqa: E501
        ("Mills [1] and [2].\n\n## Kilder\n\n| N | T | A |\n|---|---|---|\n| 1 | T | a.example/page |\n| 2 | U | b.example |", "1 2"),  # noqa: E501
        ("Mills [1] and [2].\n\n## Kilder\n\n1. T, a.example/page\n2. U, b.example/x", "1 2"),
        ("Мельница [1, с. 4], [2, стр. 5–6], [3; 1]." + LIST, "1 2 3 1"),
        ("老磨坊（来源1）。河流（来源2）。\n\n来源：\n来源1：甲 https://a.example\n来源2：乙 https://b.example", "1 2"),
        ("水車（1）。川（2）。\n\n脚注\n\n（1）水車　https://a.example\n（2）川　https://b.example", "1 2"),
        ("Mills [Fn. 1], [vgl. Fn. 2].\n\nFn. 1: T https://a.example\nFn. 2: U https://b.example", "1 2"),
        ("Mills [1], [2].\n\nBelege\n\n1\tT\thttps://a.example\n2\tU\thttps://b.example", "1 2"),
        ("As @kim says, mills [@lee, p. 2] to @roe.\n\n- [@kim]: T https://a.example\n- [@lee]: U https://b.example", "kim lee"),  # noqa: E501
        ("\ufeffMills.[1] Rivers.[2]\r\n\r\n________\r\n[1] T, https://a.example\r\n[2] U, https://b.example\r\n", "1 2"),  # noqa: E501
        ("The canton[1] and its river[2] grow; the data[3] say so." + LIST, "1 2 3"),
        ("It has 5 km<sup>2</sup>. The law<sup>1</sup> of the day<sup>2</sup> is new<sup>3</sup>." + LIST, "1 2 3"),
        ("A mill [1; 2], [2 & 3], [1 and 3], [1 3]." + LIST, "1 2 2 3 1 3 1 3"),
        ("A mill [1, S. 4], [2，第4页], [3, §2], [1: 12]." + LIST, "1 2 3 1"),
        ("Mills [S1, S3] and [S1–S2].\n\nBelege:\n- **S1**: https://a.example\n- **S2**: https://b.example\n- **S3**: https://c.example", "S1 S3 S1 S2"),  # noqa: E501
        ("Mills [web:1].[web:2]\n\n## Pages\n\n[web:1] https://a.example\n\n[web:2] https://b.example", "web:1 web:2"),
        ("Mills ([Mill](https://a.example)[1]), ([[a](https://a.example)][1])." + LIST, "https://a.example 1 1"),
        (r"Mills \cite{kim, lee} and \citep[see][p. 3]{kim}." + "\n\n" + r"\begin{thebibliography}{9}" + "\n"
         + r"\bibitem{kim} Mills. \url{https://a.example}" + "\n" + r"\bibitem[L]{lee} Rivers, 1999." + "\n"
         + r"\end{thebibliography}", "kim lee kim"),
        ("Mills [@kim; see @lee, p. 2].\n\n- [@kim]: T https://a.example\n- [@lee]: U https://b.example", "kim lee"),
        ('Mills [Kim](#kim).\n\n## Kilder\n\n- <a id="kim"></a>Mills. https://a.example\n- Rivers. https://b.example\n', "#kim"),  # noqa: E501
        ("* **Mill:** it turns.1  \n* It costs \"much\".2\n* In 2024.3\n* It turns,1 and (older) 2, they say" + NUMBERED, "1 2 3 1 2"),  # noqa: E501
        ("它转动。1 它很贵 2。它旧了。3" + NUMBERED, "1 2 3"),
        ("Mills.1 They turn.1, 2 It rose.3" + NUMBERED, "1 1 2 3"),
        ("Mills.1 It is “old”2. They (the mills)3 turn. It is planned3." + NUMBERED, "1 2 3 3"),
        ("Mills turn.1 It rose.2 By 12%2 it is planned3." + NUMBERED, "1 2 2 3"),
        ("Mills turn.1 Old.2\n\n| N | kW |\n|---|---|\n| A | 31 2 |\n| B | 22.5 3 |" + NUMBERED, "1 2 2 3"),
        ("Mills¹² turn.³" + LIST, "1 2 3"),
        ("Mills.1 They came back, 2 and turn.3" + NUMBERED, "1 2 3"),
        ("Mills.1 They grew 2 . They turn.3" + NUMBERED, "1 2 3"),
        ("Mills (see lakes.energy/a). They turn (pumps.technology/b).", "https://lakes.energy/a https://pumps.technology/b"),
        ("Mills ([page](https://c.example)) are old (Kim, 2024) and turn (Lee, 2023).\n\n## What I read\n\n"
         "- Kim, A. (2024). T. https://a.example\n- Lee, B. (2023). U. https://b.example", "https://c.example Kim 2024 Lee 2023"),  # noqa: E501
        ("Mills (Office of Mills, 2020) turn (Kim, n.d.), as Lee and Roe (2023, p. 4) say (Super Bowl, 2020).\n\n"
         "## References\n\nOffice of Mills. (2020). T. https://a.example\n\nAda Kim. (n.d.). U. https://b.example\n\n"
         "Lee, B., & Roe, C. (2023). V. https://c.example", "Office of Mills 2020 Kim n.d. Lee 2023"),
        ("المياه دافئة (١)، كبيرة (٢)، رخيصة (٣).\n\n## المراجع\n\n١. أ https://a.example\n٢. ب https://b.example\n٣. ج https://c.example", "1 2 3"),  # noqa: E501
        ("مياه [١-٢] و [١، ٣].\n\n## المراجع\n\n[١] https://a.example\n[٢] https://b.example\n[٣] https://c.example", "1 2 1 3"),  # noqa: E501
        ("Mills turn each year (1). They give 2 mmol/L (2, 3). They turn in most cases (2), and in Kent (3). See equation (3)." + NUMBERED, "1 2 3 2 3"),  # noqa: E501
        ("Mills turn (1). The old (2) and the new run (3), as (2) and (3) say (4)." + NUMBERED + "\n4. D, https://d.example", "1 2 3 4"),  # noqa: E501
        ("Mills turned.1 They closed in 1889.2 They numbered 140.3 They cost 2.5 francs.4" + NUMBERED + "\n4. D, https://d.example", "1 2 3 4"),  # noqa: E501
        ("Mills ([A](https://a.example)).\n\n## Sources\n\n- **Mills**\n  - [A](https://a.example)", "https://a.example"),
        ("Mills [no. 1], [nos. 2, 3]. They turn (see Source 3)." + LIST, "1 2 3 3"),
        ("Mills<sup>1</sup> of 12<sup>2,3</sup> on 5 km<sup>2</sup>." + LIST, "1 2 3"),
        ("Mills [1] (see dam.example/x, and grid.fr/y) but not (payment.created/updated)." + LIST, "1 https://dam.example/x https://grid.fr/y"),  # noqa: E501
        ("Mills ([Lee](https://a.example)). Kim’s (1999) rose; Roe (1998) fell.\n\n## References\n\n"
         "- Kim, A. (1999). T. https://b.example\n- Roe, B. (1998). U. https://c.example", "https://a.example Kim 1999 Roe 1998"),  # noqa: E501
        ("Mills [1].\n\n1. T https://a.example\n1. U https://b.example\n1. V https://c.example", "1"),
        ("Mills [1], [2].\n\nSources: [1] https://a.example [2] https://b.example", "1 2"),
        ('Mills [1].\n\n<details><summary>Show</summary><ol><li><a href="https://a.example">T</a></li><li><a href="https://b.example">U</a></li></ol></details>', "1"),  # noqa: E501
    ],
)  # fmt: skip
def test_marks_and_lists_of_other_forms(text: str, keys: str) -> None:
    document = parse_report(text)
    assert " ".join(citation.key for citation in document.citations) == keys
    assert "dangling" not in {citation.state for citation in document.citations}
    assert not any("https://b.example" in sentence.text for sentence in document.sentences)


def test_each_section_has_a_list_that_begins_again() -> None:
    part = "## {0}\n\nIt turns [1]. It is old [2].\n\n**{1}**\n\n1. T https://{0}.example\n2. U https://old.example\n\n"
    document = parse_report(part.format("one", "Kilder") + part.format("two", "Kilder"))
    old = "https://old.example"
    assert urls(document) == ["https://one.example", old, "https://two.example", old]
    assert [reference.section for reference in document.references] == [0, 0, 1, 1]


@pytest.mark.parametrize("titles", [("", ""), ("### One\n\n", "### Two\n\n"), ("**One**\n\n", "**Two**\n\n")])
def test_lists_that_begin_again_at_the_end_leave_their_marks_open(titles: tuple[str, str]) -> None:
    parts = "".join(f"## {name}\n\nIt turns [1]. It is old [2].\n\n" for name in ("One", "Two"))
    lists = "\n".join(
        f"{title}1. T https://{n}.example\n2. U https://u{n}.example\n" for n, title in enumerate(titles)
    )
    document = parse_report(f"{parts}## Sources\n\n{lists}")
    assert urls(document) == ["dangling"] * 4
    assert len(document.references) == 4


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("It turns citeturn0search0turn1view2.【3†L1-L4】【F:a.py†L1】", "turn0search0 turn1view2 3 F:a.py"),
        ("It turns.【507416795845449†L142】 It is old.[web:12, web:3][file:5]", "507416795845449 web:12 web:3 file:5"),
        ('It turns.[](grok_render_citation_card_json={"cardIds":["3bb883","3bb884"]})', "3bb883 3bb884"),
        ('It turns <cite index="2-1">by day</cite>.', "2-1"),
    ],
)  # fmt: skip
def test_marks_of_agents_without_a_list_are_counted_and_named(text: str, keys: str) -> None:
    document = parse_report(text)
    assert [(c.style, c.key, c.state) for c in document.citations] == [
        ("tool", key, "dangling") for key in keys.split()
    ]


@pytest.mark.parametrize(
    "text",
    [
        "It turns ![][image1] and ![a [1]](x.png).\n\n[image1]: <data:image/png;base64,iVBORw0KGgo=>\n\n[2]: <data:image/png;base64,iVBORw0KGgo=>",  # noqa: E501
        r"It lies in $[1, 3]$, $x[2] = 4$, \(y[1]\), \[ z = [2] \] and $$a = [1]$$ or $m^2$.",
        "Call `f[1]` or\n\n```\nx[2]\n```",
        "It sums:\n\n    import mill\n    total = mill.costs[1] + mill.costs[2]\n\nor `f[1]`.",
        'Here my_costs[1] rises, df["a"][1][2] falls and f(x)[2] stays.',
        '<think>\nI may cite [1].\n\n- [2]\n</think>\n\nIt turns.<span style="display:none">[1][^2]</span>',
        "I will cite [1].\n</think>\n\n# Mills\n\nIt turns.\n\n<div style='display: none'>[2]</div>",
        "---\ntitle: Mills\nsource: https://x.example\ntags:\n  - a [1]\n---\n\nIt turns.",
        "CO2, PM2.5, H2O, km², m²/s and (a+b)² are no notes; 测试集上的R²从0.92升到0.95，面积为平方公里km²，指标x²，系统ARROWS³，钼酸盐(MoO₄²⁻)。",  # noqa: E501
        "The total is costs[1] plus costs[2], or list[1]; the variable price[2] and A[1,2] are arrays.",
        "It has 5 km<sup>2</sup>, 3 m<sup>3</sup> of CO<sup>2</sup>, cm<sup>2</sup> and log² x; see (Nr. 3) and panel (A).",  # noqa: E501
        "It was users paid 3. It is old.",
        "It is so (payment.created/updated), or so (order.shipped/done). 米国※1と日本※2。",
        "Let x[1] be rows[2] = 3, as [sic], [1990s], [emphasis added] and [see above].",
        "As of [2020] and (2021), Table 2, Figure 3. Phase 1, then Phase 2, on May 3, of step 1. It rose by 3.",
        "Use libfoo.1 and libbar.2 with Python 3. It is version 1.2, chapter 1. Section 2.",
        "Three aims: (1) to mill, (2) to store and (3) to sell. 目标包括：①磨面；②蓄水；③售电。",
        "1. It turns.\n2. It is old.\n3. It stores.",
        "It lies in [0, 1] or [1, 2]; the tensor has the shape [3, 1, 1].",
        "Half [1/2] of a vector [1 0 2]; see [2](#section-2), [me@x1.example], [@user12] and the [No. 3] mill.",
    ],
)
def test_what_is_no_mark_in_a_report_with_a_list(text: str) -> None:
    for listed in (LIST, NUMBERED):
        document = parse_report(text + listed)
        assert document.citations == ()
        assert len(document.references) == 3
        assert not any("cite [1]" in s.text or "display" in s.text for s in document.sentences)


def test_a_name_with_a_year_that_no_entry_has_is_counted() -> None:
    document = parse_report("As @kim1999 and @roe2020 say, @user12.\n\n[kim1999]: https://a.example\n")
    assert [(c.key, c.state) for c in document.citations] == [
        ("kim1999", "resolved"),
        ("roe2020", "dangling"),
    ]


@pytest.mark.parametrize("closing", ["Answer from X: https://x.example", "*By an agent, https://x.example.*"])
def test_a_line_below_a_list_is_no_entry(closing: str) -> None:
    for listed in (LIST, NUMBERED, "\n\n## Sources\n\n- https://a.example\n- https://b.example"):
        document = parse_report(f"It turns [1].{listed}\n\n{closing}\n")
        assert not any("x.example" in (entry.url or "") for entry in document.references)


def test_glued_numbers_without_their_list_are_counted() -> None:
    text = " ".join(f"It turns and it turns.{n}" for n in (1, 2, 1, 3, 4, 5))
    marks = [(c.style, c.key, c.state) for c in parse_report(text).citations]
    assert marks == [("glued", key, "dangling") for key in "121345"]
    assert parse_report(text.replace(".5", ".")).citations == ()  # four sources are too few to tell


def test_a_thought_in_a_fence_is_code() -> None:
    document = parse_report("A model writes:\n\n```\n<think>\nSo [1].\n</think>\n```\n\nIt turns [1]." + LIST)
    assert [block.kind for block in document.blocks[:3]] == ["paragraph", "code", "paragraph"]
    assert len(document.citations) == 1


def test_false_friends_among_true_glued_marks() -> None:
    text = (
        "It turns.1 See Table 2, with 3 wheels, 2 of them new. It is old.2 It rose by 3. Version 1.2 runs to 2024. "
        "It stores.3 See section 3, on 5 May 3, or day 2. Use libfoo.1 for it. Its users number 3. It is so."
    )
    document = parse_report(text + NUMBERED)
    assert [document.text[c.span.start - 1 : c.span.end] for c in document.citations] == [".1", ".2", ".3"]


@pytest.mark.parametrize(
    ("words", "marks"),
    [
        ("It was lost in World War 2. It met Euro 3. Annex 2. Die Norm DIN 1. Er stieg auf Platz 2.", ""),
        ("It was lost in the war 2. It cost 5% 3. They say “Mill” 2.", "r 2,% 3,” 2"),
    ],
)
def test_a_digit_after_a_capitalised_word_is_part_of_a_name(words: str, marks: str) -> None:
    document = parse_report(f"It turns.1 It is old.2 {words} It stores.3" + NUMBERED)
    written = [document.text[c.span.start - 2 : c.span.end] for c in document.citations]
    assert [mark for mark in written if mark[1] == " "] == [m for m in marks.split(",") if m]


@pytest.mark.parametrize(
    "markup",
    [
        "![][image1]", "![[image.png]]", "![Untitled](Heat%201f/Untitled.png)", "$$\nE = mc^2\n$$", "\\[ E = mc^2 \\]",
        "<!-- see https://c.example -->", "</details>", '<div align="center">⁂</div>',
    ],
)  # fmt: skip
def test_markup_without_words_is_no_sentence(markup: str) -> None:
    document = parse_report(f"It turns [1].\n\n{markup}\n\nIt is old [2]." + LIST)
    assert [sentence.text for sentence in document.sentences] == ["It turns [1].", "It is old [2]."]
    assert urls(document) == URLS[:2]


CONTENTS = "# Power\n\n**Contents**\n\n- [Mills](#mills)\n  - [Old](#old)\n1. [Rivers](#rivers) 3\n\n"
NEXT = "\n\n**Related**\n\n- How old is it?\n- old mill turbine power\n"


def test_contents_and_next_questions_are_no_statements() -> None:
    document = parse_report(f"{CONTENTS}It turns [1]. Who pays?{LIST}{NEXT}")
    assert [sentence.text for sentence in document.sentences] == ["It turns [1].", "Who pays?"]
    appendix = parse_report(f"It turns [1].{LIST}\n\n## Units\n\n- kilowatts\n- Hours of the day\n")
    assert len(appendix.sentences) == 3
    linked = parse_report("- [Mills](#mills) turn\n- [Rivers](#rivers) flow [1]\n" + LIST)
    assert len(linked.sentences) == 2


@pytest.mark.parametrize("address", ["<{url}>", "{url}"])
def test_linked_numbers_with_titles_are_a_list(address: str) -> None:
    body = " ".join(
        f"{text}[[{n}]]({url})." for n, (text, url) in enumerate(zip(SENTENCES, URLS, strict=True), 1)
    )
    listed = (
        f"[[{n}]]({url}) Report of mill {n}\n\n{address.format(url=url)}" for n, url in enumerate(URLS, 1)
    )
    document = parse_report(body + "\n\n" + "\n\n".join(listed))
    assert urls(document) == URLS
    assert [reference.key for reference in document.references] == ["1", "2", "3"]
    assert len(document.sentences) == 3
    wrapped = f"It turns\n[[1]]({URLS[0]})\n[[2]]({URLS[1]}). It is old\n[[3]]({URLS[2]}) Or new."
    assert urls(parse_report(wrapped)) == URLS


@pytest.mark.parametrize(
    "line",
    [
        "The effect was small (p = 0.05) [1].",
        "First lines are indented [1]",
        "- x = [1]",
        "[1] T: https://a.example/?x=1",
    ],
)
def test_indented_prose_is_no_code(line: str) -> None:
    document = parse_report(f"It turns.\n\n    {line}\n" + LIST)
    assert "code" not in {block.kind for block in document.blocks}


@pytest.mark.parametrize(
    "section",
    [
        "## Tools\n\n1. [Alpha](https://alpha.example) grinds finely and costs little in the long run of years.\n"
        "2. [Beta](https://beta.example) stores power for a week and is used by nine villages near it.\n",
        "## Advice\n\n1. Use old mills, which pay in nine years ([study](https://alpha.example)).\n"
        "2. Store power near the river ([report](https://beta.example)).\n",
        "## Findings\n\n1. Mills pay in nine years https://alpha.example\n2. Rivers store it https://beta.example\n",
    ],
)
def test_a_list_of_statements_is_no_list_of_sources(section: str) -> None:
    linked = ["https://alpha.example", "https://beta.example"]
    assert urls(parse_report(f"It turns [1].\n\n{section}{LIST}")) == [URLS[0], *linked]
    assert urls(parse_report(f"It turns ([page]({URLS[0]})).\n\n{section}")) == [URLS[0], *linked]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The largest in the canton.1 The works took long.2 It runs.3" + NUMBERED, 3),
        ("It turns.[a][1] It is old." + LIST, 2),
        ("Yan et al. [2004] analysed mills. Rivers flow.", 2),
        ("It costs $5 million [1]. It earns $6 million [2]." + LIST, 2),
    ],
)
def test_sentences_around_marks(text: str, count: int) -> None:
    assert len(parse_report(text).sentences) == count


@pytest.mark.parametrize(
    "marks",
    [
        ("([mill.example][1])", "([river.example][2], [grid.example][3])"),
        ("([1])", "([2][3])"),
        (f"([mill.example]({URLS[0]}))", f"([river.example]({URLS[1]}), [grid.example]({URLS[2]}))"),
    ],
)
def test_bracketed_marks_after_a_full_stop_belong_to_its_sentence(marks: tuple[str, str]) -> None:
    document = parse_report(
        f"It turns. {marks[0]} It flows. {marks[1]} It (the [old mill][1]) stores." + LIST
    )
    assert [sentence.citations for sentence in document.sentences] == [("c1",), ("c2", "c3"), ("c4",)]
    assert document.sentences[2].text == "It (the [old mill][1]) stores."


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("It turns [0]. It flows [1].", URLS[:2]),
        ("It turns [1]. It flows [2].", URLS[:2]),
        ("It lies in [0, 1] or at x[0]. It turns [1].", URLS[:1]),
        ("It lies at [0]. It turns [1]. It flows [2]. It stores [3].", URLS),
    ],
)
def test_positions_of_sources_beside_the_text(text: str, cited: list[str]) -> None:
    assert urls(parse_report(text, [Source(address=url) for url in URLS])) == cited


@pytest.mark.skipif(not STYLES.exists(), reason="the shared styles are not here")
def test_shared_styles() -> None:
    rows = [json.loads(line) for line in STYLES.read_text(encoding="utf-8").splitlines()]
    wrong: list[str] = []
    for row in rows:
        document = parse_report(row["text"])
        listed = row["references"] in (None, len(document.references))
        if urls(document) != row["citations"] or not listed:
            wrong.append(row["what"])
    assert wrong == []
