import pytest

from local_judge.documents import parse_report
from local_judge.documents.clean import clean

LIST = "\n\n## References\n\n" + "\n".join(
    f"[{n}] Title {n}: https://site{n}.example/page" for n in range(1, 8)
)


def cited(text: str, references: str = LIST) -> list[tuple[str, str, str]]:
    return [(c.style, c.key, c.state) for c in parse_report(text + references).citations]


@pytest.mark.parametrize(
    ("marker", "keys"),
    [
        ("[1]", ["1"]),
        ("[1][2]", ["1", "2"]),
        ("[1] [2]", ["1", "2"]),
        ("[1, 3]", ["1", "3"]),
        ("[1,3;5]", ["1", "3", "5"]),
        ("[2-5]", ["2", "3", "4", "5"]),
        ("[2–4, 7]", ["2", "3", "4", "7"]),
        ("[1、3]", ["1", "3"]),
        ("[1，3]", ["1", "3"]),
        ("［1］", ["1"]),
        ("［１，２］", ["1", "2"]),
        ("【1】", ["1"]),
        (r"\[1\]", ["1"]),
        ("[^1]", ["1"]),
        ("[citation:1]", ["1"]),
        ("[cite: 1, 3]", ["1", "3"]),
        ("[1, p. 3; 3]", ["1", "3"]),
        ("[1, Section 4; 2, ch. 5, p. 17]", ["1", "2"]),
        ("[vgl. 1, S. 4 f.; 3]", ["1", "3"]),
        ("[see also 1; e.g., 3]", ["1", "3"]),
    ],
)
def test_numbers(marker: str, keys: list[str]) -> None:
    text = f"A statement of fact{marker}."
    document = parse_report(text + LIST)
    assert [(c.key, c.state) for c in document.citations] == [(key, "resolved") for key in keys]
    assert {text[c.span.start : c.span.end] for c in document.citations} <= {
        marker,
        *marker.split(),
        "[1]",
        "[2]",
    }


@pytest.mark.parametrize(
    "text",
    [
        'It is "[sic] as written".',
        "It is [difficult] anywhere.",
        "In `x[1]` nothing is cited.",
        "```\nx[1]\n```",
        "As of [2020] and [1999-2003].",
        "An interval [0, 1] and [0].",
        "- [x] done\n- [ ] open",
        "![a chart](https://img.example/1.png)",
        "An area of 10³ m² and 5 km².",
        "The year (2020), in (March, 2021).",
        "See [above](#part) or [a file](notes.md) or [mail](mailto:a@b.example).",
    ],
)
def test_what_is_no_citation(text: str) -> None:
    assert cited(text) == []


def test_a_doubtful_number_is_a_citation_only_if_an_entry_bears_it() -> None:
    assert cited("Found [2020].", "\n\n## References\n\n[2020] T: https://a.example") == [
        ("number", "2020", "resolved")
    ]


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("Found [S1] and [X3].", "S1 resolved"),
        ("Found [S1] and [S3].", "S1 resolved S3 dangling"),
        ("Found [S2, S3].", "S2 resolved S3 dangling"),
        ("Found [S2, X3].", ""),
    ],
)
def test_labels_are_citations_only_if_an_entry_bears_them_or_others_of_their_series(
    text: str, states: str
) -> None:
    references = "\n\n## References\n\n[S1] T: https://a.example\n[S2] U: https://b.example"
    assert " ".join(f"{key} {state}" for _, key, state in cited(text, references)) == states


@pytest.mark.parametrize(
    ("marker", "keys"),
    [
        (":contentReference[oaicite:0]{index=0}", ["oaicite:0"]),
        (":contentReference[oaicite:12]", ["oaicite:12"]),
        ("\ue200cite\ue202turn0search1\ue202turn2view0\ue201", ["turn0search1", "turn2view0"]),
        ("\ue200filecite\ue202turn0file3\ue201", ["turn0file3"]),
    ],
)
def test_a_chats_own_marks_name_sources_that_the_text_does_not_hold(marker: str, keys: list[str]) -> None:
    assert cited(f"Known{marker}. More.") == [("tool", key, "dangling") for key in keys]
    assert clean(parse_report(f"Known {marker}. More.")).text == "Known. More."


@pytest.mark.parametrize(
    "text", ["[citation: none]", ":contentReference[x]", "\ue200cite\ue201", "[cited: no]"]
)
def test_what_only_looks_like_such_a_mark(text: str) -> None:
    assert cited(f"Known {text}.") == []


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("Known ([source](https://a.example/x_(y)_z)).", "https://a.example/x_(y)_z"),
        ('Known [source](https://a.example/x "its title").', "https://a.example/x"),
        ("Known [source](<https://a.example/x>).", "https://a.example/x"),
        ("Known [1](https://a.example/x).", "https://a.example/x"),
        ("Known [[1]](https://a.example/x).", "https://a.example/x"),
        (r"Known [so](https://a.example/x\_\(y\)).", "https://a.example/x_(y)"),
        (r"Known [so](https://a.example/x\)_y).", "https://a.example/x)_y"),
        (r"Known [so](<https://a.example/x\_y>).", "https://a.example/x_y"),
        ('Known <a href="https://a.example/x">here</a>.', "https://a.example/x"),
    ],
)
def test_links(text: str, url: str) -> None:
    (citation,) = parse_report(text).citations
    assert (citation.style, citation.state, citation.url, citation.original_url) == (
        "link",
        "resolved",
        url,
        url,
    )


@pytest.mark.parametrize(
    ("text", "original", "url"),
    [
        ("See https://a.example/x.", "https://a.example/x", "https://a.example/x"),
        ("(see https://a.example/x_(y))", "https://a.example/x_(y)", "https://a.example/x_(y)"),
        ("See <https://a.example/x>, too", "https://a.example/x", "https://a.example/x"),
        (
            "见https://a.example/中文。下一句",
            "https://a.example/中文",
            "https://a.example/%E4%B8%AD%E6%96%87",
        ),
        ("www.a.example/x; and", "www.a.example/x", "https://a.example/x"),
        ("doi:10.1000/AB.1.", "doi:10.1000/AB.1", "https://doi.org/10.1000/ab.1"),
        ("as in arXiv:2001.08361.", "arXiv:2001.08361", "https://arxiv.org/abs/2001.08361"),
        ("**https://a.example/x**", "https://a.example/x", "https://a.example/x"),
        ("See https://a.example/x[words].", "https://a.example/x", "https://a.example/x"),
        ("See [[https://a.example/x][words]].", "https://a.example/x", "https://a.example/x"),
        ("See [url=https://a.example/x]words[/url].", "https://a.example/x", "https://a.example/x"),
        ("https://a.example/x?y[]=1, too", "https://a.example/x?y[]=1", "https://a.example/x?y%5B%5D=1"),
    ],
)
def test_bare_addresses(text: str, original: str, url: str) -> None:
    (citation,) = parse_report(text).citations
    assert (citation.style, citation.original_url, citation.url) == ("bare_url", original, url)
    assert original in text[citation.span.start : citation.span.end]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"https://a.example/a\_b\_c", "https://a.example/a_b_c"),
        (r"https://a.example/x\-y/?z=1\&q", "https://a.example/x-y/?z=1&q"),
        (r"www.a.example/x\_\(y\)", "www.a.example/x_(y)"),
        (r"doi:10.1000/a\_b", "doi:10.1000/a_b"),
    ],
)
def test_escapes_in_bare_addresses(written: str, read: str) -> None:
    for after in (".", r"\*\*", r"\n", r"\)", "\\"):
        text = f"See {written}{after}"
        (citation,) = parse_report(text).citations
        assert citation.original_url == read
        assert text[citation.span.start : citation.span.end] == written


def test_an_escaped_mark_after_an_address_is_a_mark() -> None:
    assert [key for _, key, _ in cited(r"See https://a.example/page\[1\].")] == [
        "https://a.example/page",
        "1",
    ]


def test_a_link_names_the_entry_with_its_address_in_whatever_form() -> None:
    document = parse_report("Known [so](http://www.site2.example/page/?utm_source=x)." + LIST)
    assert document.citations[0].reference == "r2"
    assert document.references[1].state == "cited"


def test_an_address_that_leads_nowhere_is_dangling() -> None:
    assert cited("See https://a..b/c.", "") == [("bare_url", "https://a..b/c", "dangling")]


@pytest.mark.parametrize("marker", ["【1†L3-L8】", "[1†source]", "【1:2†a.pdf】"])
def test_an_agents_mark_that_names_an_entry(marker: str) -> None:
    assert cited(f"Known{marker}.") == [("tool", "1", "resolved")]


@pytest.mark.parametrize("text", ["Known.¹", "Known¹ now", "Known<sup>1</sup>", "Known.<sup>[1]</sup>"])
def test_superscripts(text: str) -> None:
    assert cited(text) == [("superscript", "1", "resolved")]


def test_superscripts_in_groups() -> None:
    assert [key for _, key, _ in cited("Known.¹,²")] == ["1", "2"]


AUTHORS = """

## References

Kim, J. (2024). On things. https://a.example/kim

Lee, A., & Park, B. (2023a). On others.

王明. (2022). 研究. https://b.example/wang
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It holds (Kim, 2024).", [("Kim 2024", "resolved")]),
        ("It holds (Kim, 2024; Lee et al., 2023a).", [("Kim 2024", "resolved"), ("Lee 2023a", "no_url")]),
        ("Kim et al. (2024) hold it.", [("Kim 2024", "resolved")]),
        ("It holds (see Lee & Park, 2023a, p. 4).", [("Lee 2023a", "no_url")]),
        ("It holds (Kim, 2024) but (Roe, 2020).", [("Kim 2024", "resolved"), ("Roe 2020", "dangling")]),
        ("如此（王明等，2022）。", [("王明 2022", "resolved")]),
        ("It was founded (Berlin, 2019).", []),
        ("It was founded in (March, 2024).", []),
        ("It was so (in Kim, 2024, it was said).", []),
        ("It holds (from 3 in 2019; but see J. Kim, May 2024).", [("Kim 2024", "resolved")]),
        ("It holds [Kim, 2024].", [("Kim 2024", "resolved")]),
        ("It was [Berlin, 2019]; Yan [2004] left.", []),
    ],
)
def test_author_and_year(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(key, state) for _, key, state in cited(text, AUTHORS)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The World Bank (2019) says so.", ("World Bank 2019", "dangling")),
        ("The Bank of England (2019) says so.", ("Bank of England 2019", "resolved")),
        ("While Gartner (2022) says so.", ("Gartner 2022", "resolved")),
        ("Springer Gartner (2022) says so.", ("Springer Gartner 2022", "dangling")),
        ("The US Federal Reserve (2020) says so.", ("Federal Reserve 2020", "resolved")),
        ("It holds (Lo, in press).", ("Lo in press", "resolved")),
    ],
)
def test_a_name_resolves_only_as_a_whole(text: str, expected: tuple[str, str]) -> None:
    names = (
        "Bank of England (2019)",
        "Gartner Research (2022)",
        "Federal Reserve (2020)",
        "Lo, B. (in press)",
    )
    entries = "".join(f"- {name}. Report. https://s{n}.example/\n" for n, name in enumerate(names))
    assert cited(f"It holds (Lo, in press). {text}", f"\n\n## References\n\n{entries}")[1][1:] == expected


def test_a_bracket_that_names_an_entry_is_read_beside_numbers() -> None:
    numbered = (
        "\n\n## References\n\n[1] Kim, J. (2024). T. https://a.example/1\n\n[2] Lo. https://a.example/2"
    )
    assert cited("A [2]. B (Kim, 2024). Kim (2024) says so.", numbered) == [
        ("number", "2", "resolved"),
        ("author_year", "Kim 2024", "resolved"),
    ]


@pytest.mark.parametrize(
    ("text", "references", "expected"),
    [
        ("A [2]. B [ibid.].", LIST, [("2", "resolved"), ("2", "resolved")]),
        ("A [2]. B (ibid., p. 4).", LIST, [("2", "resolved"), ("2", "resolved")]),
        (
            "It holds (Kim, 2024). It grew (ebd.).",
            AUTHORS,
            [("Kim 2024", "resolved"), ("Kim 2024", "resolved")],
        ),
        ("A [2]. B (law 4). C [ibid.].", LIST, [("2", "resolved"), ("ibid", "dangling")]),
        ("A [ibid.].", LIST, [("ibid", "dangling")]),
        (
            "A[^1]. B[^2].",
            "\n\n[^1]: T, https://a.example\n[^2]: *Id.* at 4",
            [("1", "resolved"), ("2", "resolved")],
        ),
    ],
)
def test_ibid_names_the_source_before_it_if_no_mark_between_may_be_unread(
    text: str, references: str, expected: list[tuple[str, str]]
) -> None:
    assert [(key, state) for _, key, state in cited(text, references)] == expected


def test_names_and_years_are_prose_in_a_report_that_cites_by_number() -> None:
    assert cited("Hoffmann et al. (2022) found it [1].") == [("number", "1", "resolved")]


def test_states_name_what_is_missing() -> None:
    references = "\n\n## References\n\n[1] With: https://a.example\n[2] Without any address"
    assert cited("A [1]. B [2]. C [9].", references) == [
        ("number", "1", "resolved"),
        ("number", "2", "no_url"),
        ("number", "9", "dangling"),
    ]


def test_footnotes_before_numbers() -> None:
    text = "A[^1] and B [1].\n\n[^1]: The note, https://note.example\n\n## References\n\n[1] T: https://list.example\n"
    document = parse_report(text)
    assert [(c.style, c.url) for c in document.citations] == [
        ("footnote", "https://note.example"),
        ("number", "https://list.example"),
    ]
    assert [(r.key, r.section) for r in document.references] == [("1", -1), ("1", 0)]
