"""From bytes to text or a reason."""

from __future__ import annotations

import re
import time

import pytest

from indexes.limits import MAX_MARKUP
from indexes.text.extract import extract
from indexes.text.pdf import read_pdf
from indexes.text.walls import SCRIPTS

_ARTICLE = """<!doctype html><html><head><title> Sales
 by year </title></head><body><nav><a href="/">Home</a></nav><article><h1>Sales</h1>
<p>The firm sold <b>39,218</b> cars in <i>2019</i>, and the <a href="/x">report</a>
says so in its first part.</p>
<h2>Table</h2><table><tr><th>Year</th><th>Cars</th></tr><tr><td>2019</td><td>39,218</td></tr></table>
<ul><li>first point of the list</li><li>second point of it</li></ul></article></body></html>"""


_MARKS = """<html><body><article><p>The paragraphs of this page are full of signs that mean something elsewhere.</p>
<p>Set <code>max_tokens</code> and top_p with 5 * 3 of them [1] in &lt;b&gt; ~here~ or `there`.</p>
<p># no heading</p><p>1. no list</p><p>- no item</p><p>&gt; no quotation</p>
<p>a\\_b and a path C:\\temp\\_x</p><ol><li>pass max_tokens="all" on</li></ol>
<table><tr><td>a|b</td><td>c_d</td></tr><tr><td>1</td><td>2</td></tr></table>
<pre><code>first = 1
text_of = "\\_" * 2</code></pre></article></body></html>"""


def make_pdf(*pages: str, info: str = "/Title (A made PDF) /CreationDate (D:20191119083000Z)") -> bytes:
    """A PDF by hand: one line of Helvetica a page, with a valid cross-reference table."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, line in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({line}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< {info} >>")
    data, places = "%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n"
    xref = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    data += "".join(f"{place:010} 00000 n \n" for place in places)
    data += f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
    return (data + f"startxref\n{xref}\n%%EOF\n").encode("ascii")


def test_article_keeps_headings_tables_and_lists_but_no_emphasis() -> None:
    found = extract(_ARTICLE.encode(), "a.html")
    assert (found.status, found.title, found.media_type) == ("ok", "Sales by year", "text/html")
    assert "The firm sold 39,218 cars in 2019, and the report says so in its first part." in found.text
    lines = [line.rstrip() for line in found.text.splitlines()]
    assert {"# Sales", "## Table", "| Year | Cars |", "| 2019 | 39,218 |", "- second point of it"} <= set(
        lines
    )
    assert "Home" not in found.text


def test_declared_encoding_of_xhtml_does_not_matter() -> None:
    page = _ARTICLE.replace("<!doctype html>", '<?xml version="1.0" encoding="iso-8859-1"?>').replace(
        "cars", "Größe"
    )
    assert "Größe" in extract(page.encode(), "a.html").text


@pytest.mark.parametrize(
    ("data", "name", "status", "reason"),
    [
        (b"", "a.html", "empty", "the file is empty"),
        (b" \n\t", "a.md", "empty", "the file is empty"),
        (b"\xef\xbb\xbf\n", "a.txt", "empty", "the file holds white space only"),
        (
            b"<html><body><script>run()</script></body></html>",
            "a.html",
            "empty",
            "no main text was found in the HTML",
        ),
        (b"GIF89a....", "a.gif", "unsupported_type", "image/gif is not read"),
        (b"%PDF-1.4\nnothing of a PDF follows", "a.pdf", "unsupported_type", "the PDF is damaged"),
    ],
)
def test_reasons(data: bytes, name: str, status: str, reason: str) -> None:
    found = extract(data, name)
    assert (found.status, found.text) == (status, "")
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    "reference",
    [
        "&#1;",
        "&#11;",
        "&#12;",
        "&#12",
        "&#012;",
        "&#12x;",
        "&#x0c;",
        "&#X1B;",
        "&#xFFFE;",
        "&#65535;",
        "&#xD800;",
    ],
)
def test_a_reference_to_a_control_character_costs_a_page_nothing(reference: str) -> None:
    # Browsers show such pages; XML has no such characters, and trafilatura finds no text where one stands.
    found = extract(_ARTICLE.replace("</b> cars", f"</b> cars{reference}").encode(), "a.html")
    assert found.status == "ok"
    assert re.search(r"The firm sold 39,218 cars( x;)? +in 2019, and the report", found.text)


def test_references_to_characters_stay() -> None:
    page = _ARTICLE.replace("</b> cars", "</b> cars &#8211; &#x1F697; &amp; more &#0000000233;")
    assert "39,218 cars – 🚗 & more é in 2019" in extract(page.encode(), "a.html").text
    many = _ARTICLE.replace("</b> cars", f"</b> cars &#{'9' * 5000};")
    assert extract(many.encode(), "a.html").status == "ok"


def test_a_title_that_is_no_text_costs_a_pdf_nothing() -> None:
    half = "/Title <FEFF00410042D83D> /CreationDate <FEFFD800>"  # of a surrogate pair
    found = extract(make_pdf("The lake froze in 1963.", info=half), "a.pdf")
    assert (found.status, found.title, found.published, found.text) == (
        "ok",
        "",
        None,
        "The lake froze in 1963.",
    )


def test_emphasis_on_every_letter_takes_no_longer_than_letters() -> None:
    started = time.process_time()
    found = extract(b"<html><body><p>The w" + b"<b>o</b>" * 50_000 + b"rd", "a.html")
    assert time.process_time() - started < 5
    assert found.text == "The w" + "o" * 50_000 + "rd"


def test_what_a_reader_sees_stands_in_the_text() -> None:
    found = extract(_MARKS.encode(), "a.html").text
    for line in (
        "Set max_tokens and top_p with 5 * 3 of them [1] in <b> ~here~ or `there`.",
        "# no heading",
        "1. no list",
        "- no item",
        "> no quotation",
        "a\\_b and a path C:\\temp\\_x",
        '1. pass max_tokens="all" on',
        "| a|b | c_d |",
        'text_of = "\\_" * 2',  # in a code block nothing was escaped
    ):
        assert line in [one.strip() for one in found.splitlines()], line


def test_the_date_and_the_language_are_told() -> None:
    page = _ARTICLE.replace("<title>", '<meta property="article:published_time" content="2019-11-19"><title>')
    found = extract(page.encode(), "a.html")
    assert (found.published, found.language) == ("2019-11-19", "en")
    assert extract(page.encode(), "a.html", fetched="2019-11-18T23:00:00Z").published is None
    dated = extract(_ARTICLE.encode(), "a.html", url="https://a.example/2018/02/03/sales")
    assert dated.published == "2018-02-03"
    assert extract("这份报告说明了每个论断的来源。".encode(), "a.txt").language == "zh"
    assert extract(b"39,218", "a.txt").language == "und"
    assert extract(b"", "a.html").language == ""


def test_lists_in_cells_captions_and_boxes_are_kept() -> None:
    box = "<aside><h3>Key point</h3><ul><li>It cost 9 million crowns.</li></ul></aside>"
    links = "<aside><a href=/a>Ten best cars of the year</a> <a href=/b>More of them</a></aside>"
    table = """<figure><table><caption>Table 1: Dishes.</caption><tr><th>Day</th><th>Dishes</th></tr>
<tr><td>Mon</td><td><ul><li>leek soup</li><li>baked fish</li></ul></td></tr></table>
<figcaption class="wp-caption-text">Source: the canteen of the town, 2024.</figcaption></figure>"""
    found = extract(_ARTICLE.replace("</article>", f"{box}{links}{table}</article>").encode(), "a.html").text
    lines = [line.strip() for line in found.splitlines()]
    for line in (
        "### Key point",
        "- It cost 9 million crowns.",
        "Table 1: Dishes.",
        "| Mon | leek soup baked fish |",
        "Source: the canteen of the town, 2024.",
    ):
        assert line in lines, line
    assert "Ten best" not in found


@pytest.mark.parametrize(
    ("text", "name", "wall"),
    [
        (
            "Title: Just a moment...\n\nVerify you are human by completing the action below.",
            "a.txt",
            "a bot check",
        ),
        ("# 404 Not Found\n\nnginx", "a.md", "a soft 404"),
        ("You need to enable JavaScript to run this app.", "a.txt", SCRIPTS),
        ("We're sorry but app doesn't work properly without JavaScript enabled.", "a.txt", SCRIPTS),
        ("404\n\nThe page you are looking for no longer exists.", "a.txt", "a soft 404"),
        ("Our systems have detected unusual traffic from your computer network.", "a.txt", "a bot check"),
    ],
)
def test_a_wall_that_came_as_text_is_one(text: str, name: str, wall: str) -> None:
    """Reader services give the text of whatever a server answered."""
    found = extract(text.encode(), name)
    assert (found.status, found.reason, found.text) == ("blocked", wall, "")
    assert extract(f"{text}\n\n{'The observatory was opened in 1931. ' * 60}".encode(), name).status == "ok"


@pytest.mark.parametrize(
    "text",
    [
        "CNIL fined Google 150 million euros in January 2022 because refusing cookie consent took several clicks.",
        "Studies of cookie consent count clicks.\nRefusing takes three of them, accepting one.",
        "404 people died on the roads of Norway and Finland in 2023.",
        "404 people died on the roads.\n\nIt was the lowest number in decades.",
        "Leaflet is a library for maps of 42 kB; it requires JavaScript.",
        "JavaScript is not available on the first Kindle browsers.",
        "Bots solve the reCAPTCHA v2 test, which asks visitors to prove they are human, in 100 percent of cases.",
        "CalTrans detected unusual traffic on I-80. Captcha is no part of it.",
        "DDoS protection by Cloudflare costs 20 dollars a month.",
        "The content of the library no longer exists.",
        "The document that the treaty names could not be found in the archive.",
        'Servers answer "page not found" with status 404.',
        "Scripts of captcha-delivery.com show the captcha.",
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_a_short_text_that_speaks_of_a_wall_is_none(text: str, name: str) -> None:
    found = extract((f"<p>{text}</p>" if name == "a.html" else text).encode(), name)
    assert (found.status, found.reason) == ("ok", "")


@pytest.mark.parametrize("depth", [300, 100_000])
@pytest.mark.parametrize("tag", ["div", "b", "ul><li"])
def test_deeply_nested_markup_is_refused_and_not_cut(depth: int, tag: str) -> None:
    page = f"<html><body><p>Opening.</p>{f'<{tag}>' * depth}deep"
    found = extract(page.encode(), "a.html")
    assert (found.status, found.reason) == (
        "unsupported_type",
        "the HTML has elements nested more than 255 deep",
    )
    assert extract(page.replace(f"<{tag}>" * depth, f"<{tag}>" * 60).encode(), "a.html").status == "ok"


def test_too_much_markup_is_refused() -> None:
    found = extract(b"<html>" + b" " * MAX_MARKUP, "a.html")
    assert (found.status, found.reason) == (
        "unsupported_type",
        "the HTML has 20,000,006 characters, more than 20,000,000",
    )


def test_plain_kinds_are_kept_as_they_are() -> None:
    assert extract(b"a\r\nb  c\n", "a.txt").text == "a\nb  c"
    markdown = extract(b"intro\n\n# The title #\n\n**bold** stays", "a.md")
    assert (markdown.title, markdown.text) == ("The title", "intro\n\n# The title #\n\n**bold** stays")
    assert extract(b'{"sold": 39218}', "a.json").text == '{"sold": 39218}'


def test_long_runs_cost_no_more_than_their_length() -> None:
    started = time.process_time()
    blanks = b" " * 1_000_000
    assert extract(b"# " + blanks + b"x", "a.md").title == "x"
    assert extract(b"<html><body><p>some words that stay</p>" + b"\n" * 1_000_000, "a.html").status == "ok"
    assert time.process_time() - started < 10


def test_pdf_with_text() -> None:
    found = extract(make_pdf("It sold 39,218 cars.", "Second page."), "a.bin")
    assert (found.status, found.media_type, found.title) == ("ok", "application/pdf", "A made PDF")
    assert found.text == "It sold 39,218 cars.\n\nSecond page."
    assert (found.published, found.language) == ("2019-11-19", "en")
    assert extract(make_pdf("text"), "a.pdf", fetched="2019-11-18").published is None


def test_pdf_without_text_layer() -> None:
    assert extract(make_pdf(""), "scan.pdf").reason == "the PDF has no text layer (a scan?)"


def test_truncated_pdf_is_read_or_named() -> None:
    whole = make_pdf("It sold 39,218 cars.")
    # Without the cross-reference table PDFium rebuilds it; without the page there is nothing to rebuild.
    assert (
        read_pdf(whole[: whole.index(b"xref")] + b"trailer << /Root 1 0 R >>")["text"]
        == "It sold 39,218 cars."
    )
    assert "PDF" in read_pdf(whole[:60])["error"]


def test_hanging_pdf_reader_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexes.text.extract.PDF_SECONDS", 0.001)
    found = extract(make_pdf("text"), "a.pdf")
    assert (found.status, found.reason) == ("unsupported_type", "the PDF gave no text within 0.001 s")


def test_a_page_does_not_change_the_next() -> None:
    first = extract(_ARTICLE.encode(), "a.html")
    for _ in range(4):
        assert extract(_ARTICLE.encode(), "a.html") == first
