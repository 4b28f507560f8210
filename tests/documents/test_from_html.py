"""HTML reports become the Markdown of the same report."""

from __future__ import annotations

import pytest

from indexes.limits import MAX_MARKUP
from local_judge.documents import UnreadableReport, check_health, parse_report
from local_judge.documents.from_html import MAX_ELEMENTS, markdown_of_html

# As MediaWiki writes it; browsers save links within the page with its address.
WIKI = """<!DOCTYPE html><html><head><title>Lake heat - Wiki</title><script>var a = "<p>x</p>";</script>
<link rel="canonical" href="https://wiki.example/Lake_heat"></head><body><nav>Main menu</nav><main>
<h1>Lake heat</h1><div style="display:none">Heating</div>
<p><b>Lake heat</b> is heat from a <a href="https://wiki.example/Lake">lake</a>.<sup id="r1"><a
href="https://wiki.example/Lake_heat#note-1">[1]</a></sup> It warms 1,240 dwellings.<sup
id="r2"><a href="#note-Kim-2"><i>[</i>2]</a></sup><sup><a href="#note-n">[a]</a></sup> CO<sub>2</sub> falls on 3
m<sup>2</sup> (<a href="#Costs">below</a>).</p>
<div id="toc"><ul><li><a href="#Costs">1 Costs</a></li></ul></div>
<h2 id="Costs">Costs<span class="mw-editsection">[<a href="/edit">edit</a>]</span></h2>
<p>It costs &lt;div&gt; <span><span style="display: none"><math alttext="5x^{2}"><mi>x</mi></math></span><img
alt="5x"></span>.</p>
<table><tr><th>Year</th><th>MW</th></tr><tr><td>2022</td><td>6.2<sup><a href="#note-1">[1]</a></sup></td></tr></table>
<ul><li>See the <a href="https://site.example/page">site</a>.<ul><li>Deeper</li></ul></li></ul>
<h2>Sources</h2><ol>
<li id="note-1"><b><a href="#r1">^</a></b> Ada. <a href="https://plant.example/pump">"Pump"</a>.</li>
<li id="note-Kim-2">^ <a href="#r2"><sup>a</sup></a> <a href="#r2"><sup>b</sup></a> <a
href="#Kim2019">Kim 2019</a>, p. 4.</li></ol>
<ol><li id="note-n">Only in winter.</li></ol>
<ul><li><cite id="Kim2019">Kim (2019). <a href="https://kim.example/2019">Heat</a>.</cite></li></ul>
</main><footer>This page was edited.</footer></body></html>"""
WIKI_TEXT = """# Lake heat

Lake heat is heat from a lake.[^1] It warms 1,240 dwellings.[^2][^a] CO2 falls on 3 m<sup>2</sup> (below).

## Costs

It costs &lt;div> $5x^{2}$ .

| Year | MW |
| --- | --- |
| 2022 | 6.2[^1] |

- See the [site](<https://site.example/page>).

  - Deeper

## Sources

[^1]: Ada. ["Pump"](<https://plant.example/pump>).

[^2]: Kim 2019 <https://kim.example/2019>, p. 4.

[^a]: Only in winter.

[^Kim2019]: Kim (2019). [Heat](<https://kim.example/2019>)."""

# As `pandoc --citeproc` writes a LaTeX file.
PANDOC = """<html><body><h1>Lake</h1><p>The pump draws 6.2 MW <span class="citation" data-cites="kim lee">(Kim 2024;
Lee 2019)</span>.<a href="#fn1" role="doc-noteref" id="fnref1"><sup>1</sup></a></p>
<div id="refs"><div id="ref-kim">Kim. 2024. <a href="https://a.example/kim">https://a.example/kim</a>.</div>
<div id="ref-lee">Lee. 2019. <a href="https://a.example/lee">https://a.example/lee</a>.</div></div>
<section><ol><li id="fn1"><p>See
<a href="https://a.example/1">there</a>.<a href="#fnref1">↩︎</a></p></li></ol></section>"""
PANDOC_TEXT = """# Lake

The pump draws 6.2 MW (Kim 2024; Lee 2019)[^ref-kim][^ref-lee].[^1]

[^ref-kim]: Kim. 2024. <https://a.example/kim>.

[^ref-lee]: Lee. 2019. <https://a.example/lee>.

[^1]: See [there](<https://a.example/1>)."""

# A chat, saved by a browser: the request is not the report.
CHAT = """<html><body><main><article data-turn="user"><p>How is the lake used?</p></article><article
data-turn="assistant"><h1>Lake</h1><p>It draws 6.2&nbsp;MW <a href="https://a.example/1"><span>a.example</span></a>.</p>
<pre><div>python</div><button>Copy code</button><code>x = a[1]</code></pre>
<blockquote><p>One<br>two</p></blockquote></article></main></body></html>"""
CHAT_TEXT = """# Lake

It draws 6.2 MW [a.example](<https://a.example/1>).

```
x = a[1]
```

> One
> two"""

# As Google Docs exports a report of Gemini: numbers are raised by a class, and links lead through its own address.
DOCS = """<html><head><style>.c1{font-size:11pt}.c5{color:red;vertical-align:super}</style></head><body>
<p><span class="c1">It draws 6.2&nbsp;MW.</span><span class="c5">1</span><span> Cheap.</span><span
class="c1 c5">2</span><sup><a href="#ftnt1" id="ftnt_ref1">[1]</a></sup></p><h4><span>Works cited</span></h4>
<ol start="1"><li><span>Heat, <a href="https://www.google.com/url?q=https://a.example/x%3Fy%3D1&amp;sa=D">here</a></span></li>
<li><a href="https://www.google.com/url?q=https://a.example/2&amp;sa=D">https://a.example/2</a></li></ol><hr>
<div><p><a href="#ftnt_ref1" id="ftnt1">[1]</a><span>&nbsp;See the minutes.</span></p></div></body></html>"""
DOCS_TEXT = """It draws 6.2 MW.<sup>1</sup> Cheap.<sup>2</sup>[^1]

#### Works cited

1. Heat, [here](<https://a.example/x?y=1>)
2. <https://a.example/2>

[^1]: See the minutes."""

# Written by hand: marks with and without links, entries that begin with their number.
BY_HAND = """<h1>Lake</h1><p>It draws 6.2 MW [1]. Cheap [<a href="#r1">1</a>&ndash;<a href="#r3">3</a>].</p>
<p># no heading<br><br>- no list</p><p>See <a href="#t">Table 2</a>, <a href="other.html">next</a>.</p>
<table id="t"><tr><td>k</td></tr></table><h2>Quellen</h2><p><a name="r1"></a>[1] A. https://a.example/1</p>
<p id="r2">[2] B. <a href="https://a.example/2">here</a></p><div id="r3">[3] C. https://a.example/3</div>"""
BY_HAND_TEXT = """# Lake

It draws 6.2 MW [1]. Cheap [1][2][3].

\\# no heading

\\- no list

See Table 2, next.

| k |
| --- |

## Quellen

[1] A. https://a.example/1

[2] B. [here](<https://a.example/2>)

[3] C. https://a.example/3"""


@pytest.mark.parametrize(
    ("page", "text", "urls"),
    [
        pytest.param(
            WIKI,
            WIKI_TEXT,
            [
                "https://plant.example/pump",
                "https://kim.example/2019",
                None,
                "https://plant.example/pump",
                "https://site.example/page",
            ],
            id="wiki",
        ),
        pytest.param(
            PANDOC,
            PANDOC_TEXT,
            ["https://a.example/kim", "https://a.example/lee", "https://a.example/1"],
            id="pandoc",
        ),
        pytest.param(CHAT, CHAT_TEXT, ["https://a.example/1"], id="chat"),
        pytest.param(
            DOCS, DOCS_TEXT, ["https://a.example/x?y=1", "https://a.example/2", None], id="google docs"
        ),
        pytest.param(BY_HAND, BY_HAND_TEXT, [f"https://a.example/{n}" for n in (1, 1, 2, 3)], id="by hand"),
    ],
)
def test_pages_and_their_citations(page: str, text: str, urls: list[str | None]) -> None:
    markdown = markdown_of_html(page)
    assert markdown.replace("  \n", "\n") == text
    assert [citation.url for citation in parse_report(markdown).citations] == urls


@pytest.mark.parametrize("own", ["", "https://wiki.example/wiki/Mill", "/wiki/Mill", "./Mill.html"])
def test_links_of_a_saved_page_to_its_own_places_are_marks(own: str) -> None:
    page = (
        f'<h1>Mill</h1><p>It <a href="/wiki/Turbine">turns</a>.<sup><a href="{own}#cite_note-1">[1]</a></sup>'
        f' It is old.<sup><a href="{own}#cite_note-2">[2]</a></sup> See <a href="{own}#Notes">notes</a>.</p>'
        '<h2 id="Notes">Notes</h2>'
        f'<ol><li id="cite_note-1"><a href="{own}#cite_ref-1">^</a> <a href="https://a.example/x">T</a></li>'
        '<li id="cite_note-2">U, <a href="../page/u.html">there</a></li></ol>'
    )
    document = parse_report(markdown_of_html(page))
    assert [(c.key, c.state, c.url) for c in document.citations] == [
        ("1", "resolved", "https://a.example/x"),
        ("2", "no_url", None),
    ]
    assert [problem.kind for problem in check_health(document).problems] == ["marks_without_address"]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<main><p>Short.</p></main><div><p>A long part that is not marked as the main one.</p></div>", 2),
        ("<p>Text <a href='https://a.example/1'><img src='x.png'></a></p>", 1),
        ("<p hidden>No.</p><p aria-hidden='true'>No.</p><template><p>No.</p></template><p>Yes.</p>", 1),
        ("<table><tr><td><p>One.</p><ul><li>Two.</li></ul></td></tr></table>", 2),
        ("<ol start='3'><li>Three</li><li value='7'>Seven</li></ol>", 1),
    ],
)
def test_blocks_of_a_page(page: str, text: int) -> None:
    assert len(markdown_of_html(page).split("\n\n")) == text


def test_a_formula_a_fence_and_a_table_do_not_end_early() -> None:
    page = "<pre>a\n```\nb</pre><table><tr><td>a|b</td></tr></table><math alttext='a$b'></math><p>`x</p>"
    assert markdown_of_html(page) == "````\na\n```\nb\n````\n\n| a\\|b |\n| --- |\n\n$ab$\n\n\\`x"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("<div>" * 300 + "x", "nested more than 255 deep"),
        ("<p>x" * (MAX_ELEMENTS + 1), "elements"),
        ("x" * (MAX_MARKUP + 1), "characters"),
        ("<html><body><script>draw()</script><div id='app'></div>", "no text"),
        ("<!-- -->", "no "),
    ],
)
def test_pages_that_are_refused(page: str, reason: str) -> None:
    with pytest.raises(UnreadableReport, match=reason):
        markdown_of_html(page)


def test_entities_are_not_expanded() -> None:
    page = '<!DOCTYPE html [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><p>x &b; y</p>'
    assert "aaaa" not in markdown_of_html(page).replace('"aaaaaaaa"', "")
