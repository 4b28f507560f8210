import pytest

from local_judge.documents import parse_report
from local_judge.documents.titles import reference_title

BODY = "# Report\n\nA claim [1] and one more [2].\n\n"
ENTRIES = "[1] First: https://a.example/1\n[2] Second: https://a.example/2\n"


@pytest.mark.parametrize(
    "title",
    [
        "## References", "# SOURCES", "###### Bibliography", "## Works Cited", "**References:**", "Sources:", "References",  # noqa: E501
        "## 7. References", "## VII. References", "### Sources (selected)", "## 📚 References", "## References and Sources",  # noqa: E501
        "## 参考文献", "参考文献：", "**参考资料**", "## 八、参考文献", "## 来源", "## 资料来源：", "引用：", "## Literaturverzeichnis",  # noqa: E501
        "## Références", "## Список литературы", "## 참고문헌",
    ],
)  # fmt: skip
def test_titles(title: str) -> None:
    for gap in ("\n\n", "\n"):
        document = parse_report(BODY + title + gap + ENTRIES)
        assert [(r.key, r.url, r.state) for r in document.references] == [
            ("1", "https://a.example/1", "cited"),
            ("2", "https://a.example/2", "cited"),
        ]
        assert [s.text for s in document.sentences] == ["A claim [1] and one more [2]."]


@pytest.mark.parametrize(
    "line",
    [
        "References to earlier work", "Sources of energy", "Data Collection Plan (Primary Sources Only)", "Reference Architecture",  # noqa: E501
        "Cross-references", "Quick-reference mapping", "参考价值", "收入来源", "Sources " * 20,
    ],
)  # fmt: skip
def test_titles_of_other_things(line: str) -> None:
    assert reference_title(line) is None


@pytest.mark.parametrize(
    "section",
    [
        "## References to earlier work\n\nEarlier work looked at rivers. It was long.",
        "## Sources of energy\n\n- Sun\n- Wind\n",
        "## Sources\n\n- Sun is the first of all sources.\n- Wind is the second.\n",
        "## References\n\nThis report drew on academic papers of 2014-2025, and on press reports.",
        "## Notes\n\n- Prices are of May 2024. [1]\n- Dates are local. [2]\n",
    ],
)
def test_what_a_section_holds_decides(section: str) -> None:
    document = parse_report(BODY + section + "\n\n## List\n\n" + ENTRIES)
    assert {block.role for block in document.blocks[2:-2]} == {"body"}
    assert len(document.references) == 2  # the run of keyed entries at the end, under no known title


@pytest.mark.parametrize(
    ("entry", "key", "url"),
    [
        ("[1] Title: https://a.example/x", "1", "https://a.example/x"),
        ("[1] https://a.example/x - Title", "1", "https://a.example/x"),
        ("[1] Title — https://a.example/x.", "1", "https://a.example/x"),
        ('[1]: https://a.example/x "Title"', "1", "https://a.example/x"),
        ("[1] [Title](https://a.example/x)", "1", "https://a.example/x"),
        ("1. Title: https://a.example/x", "1", "https://a.example/x"),
        ("1) Title: https://a.example/x", "1", "https://a.example/x"),
        ("- [Title](https://a.example/x)", None, "https://a.example/x"),
        ("- Title, https://a.example/x", None, "https://a.example/x"),
        ("[^1]: Title https://a.example/x", "1", "https://a.example/x"),
        ("¹ Title https://a.example/x", "1", "https://a.example/x"),
        ("【1】Title https://a.example/x", "1", "https://a.example/x"),
        ("[1] Title,\n    in two lines:\n    https://a.example/x", "1", "https://a.example/x"),
        (
            "[1] Wiki: https://en.wikipedia.org/wiki/Scale_(music).",
            "1",
            "https://en.wikipedia.org/wiki/Scale_(music)",
        ),
        ("[1] Paper. doi:10.1000/AB.", "1", "https://doi.org/10.1000/ab"),
        ("[1] Kaplan et al. arXiv:2001.08361.", "1", "https://arxiv.org/abs/2001.08361"),
        ("[1] A book without an address, 1999.", "1", None),
        ("| 1 | Title | https://a.example/x |", None, None),
    ],
)
def test_entries(entry: str, key: str | None, url: str | None) -> None:
    document = parse_report(f"A claim [1].\n\n## References\n\n{entry}\n")
    if entry.startswith("|"):  # one line of bars is no table, and names nothing
        assert len(document.references) == 1
        return
    (reference,) = document.references
    assert (reference.key, reference.url) == (key, url)
    assert document.text[reference.span.start : reference.span.end].split() == reference.text.split()


def test_a_table_of_sources() -> None:
    document = parse_report(
        "A claim [2].\n\n## References\n\n| No. | Source |\n|--|--|\n| 1 | A https://a.example |\n| 2 | B https://b.example |\n"  # noqa: E501
    )
    assert [(r.key, r.state) for r in document.references] == [("1", "uncited"), ("2", "cited")]


def test_out_of_order_and_with_gaps() -> None:
    document = parse_report(
        "A [7]. B [3].\n\n## References\n\n[7] x: https://x.example\n\n[3] y: https://y.example\n"
    )
    assert [(c.key, c.url) for c in document.citations] == [
        ("7", "https://x.example"),
        ("3", "https://y.example"),
    ]
    ordered = parse_report(
        "A [7]. B [3].\n\n## References\n\n7. x: https://x.example\n3. y: https://y.example\n"
    )
    assert [c.url for c in ordered.citations] == ["https://x.example", "https://y.example"]


def test_each_chapter_has_its_own_list() -> None:
    text = "# One\n\nA [1].\n\n## References\n\n[1] a: https://a.example\n\n# Two\n\nB [1].\n\n## References\n\n[1] b: https://b.example\n"
    document = parse_report(text)
    assert [c.url for c in document.citations] == ["https://a.example", "https://b.example"]
    assert [r.section for r in document.references] == [0, 1]


def test_an_entry_with_an_address_goes_before_one_without() -> None:
    text = BODY + "## 参考文献\n\n1. 甲, 2020年\n2. 乙, 2021年\n\n参考文献：\n" + ENTRIES
    document = parse_report(text)
    assert [c.url for c in document.citations] == ["https://a.example/1", "https://a.example/2"]
    assert [(r.section, r.state) for r in document.references] == [
        (0, "uncited"),
        (0, "uncited"),
        (1, "cited"),
        (1, "cited"),
    ]


@pytest.mark.parametrize("heading", ["## Appendix", "### Appendix A", "# Annex"])
def test_an_appendix_is_body_again(heading: str) -> None:
    document = parse_report(f"{BODY}## References\n\n{ENTRIES}\n{heading}\n\nThe appendix says more.\n")
    assert document.sentences[-1].text == "The appendix says more."
    assert len(document.references) == 2


def test_groups_within_a_list() -> None:
    text = (
        BODY
        + "## References\n\n### Papers\n\n[1] a: https://a.example\n\n### Press\n\n[2] b: https://b.example\n"
    )
    document = parse_report(text)
    assert [(r.key, r.section) for r in document.references] == [("1", 0), ("2", 0)]
    assert len(document.sentences) == 1


def test_entries_under_no_title() -> None:
    assert [r.state for r in parse_report(BODY + ENTRIES).references] == ["cited", "cited"]


def test_a_list_right_below_the_last_paragraph() -> None:
    document = parse_report("A claim [1].\nReferences:\n[1] a: https://a.example")
    assert [s.text for s in document.sentences] == ["A claim [1]."]
    assert document.citations[0].url == "https://a.example"


@pytest.mark.parametrize("end", ["", "\n\n---", "\n\n## Notes\n\nMore.", "\n\n![](x.png)"])
def test_a_list_without_entries(end: str) -> None:
    document = parse_report(f"# Mill\n\nIt turns [1].\n\n## References{end}\n")
    assert (document.references, [one.state for one in document.citations]) == ((), ["dangling"])
