"""Reports: every object of a document points back into its text."""

from __future__ import annotations

import contextlib
import random

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from indexes.urls import normalise_url
from local_judge.documents import Document, Span, UnreadableReport, parse_report
from local_judge.documents.clean import clean
from local_judge.documents.cleaning.model import applied
from tests.fuzz.mutation import mutated
from tests.fuzz.target import Target, assert_one_line

_BLOCKS = (
    "# A title",
    "## Findings [1]",
    "Sales rose by 12% in 2024 [1]. They fell later [2, 3]; see [the page](https://a.example/x?y=1).",
    "A claim without a source. Another one (Kim, 2024) and (Lee & Park, 2023, p. 4).",
    "中文句子【12†L3】。另一句[2-4]。",
    "Raised¹,² digits, <sup>[3]</sup> and a footnote[^1]. m² is none.",
    "- an item [4]\n  - below it https://b.example/a_(b)\n1. numbered",
    "> quoted [1]\n> > twice",
    "| a | b |\n|---|---|\n| 1 [2] | `x` |",
    "```python\nx = [1]\n``` [5]",
    '<a href="https://c.example">shown</a> <!-- note --> &amp; **bold *both***',
    "doi:10.1234/abc.5 and arXiv: 2101.00001v2, www.d.example.",
    "Sure! Here is the report you asked for:",
    "Title of it\n---",
    "## References\n\n[1] Kim. A page. https://a.example/x\n[2] Lee: https://b.example\n\n[3] Park.",
    "**Sources**\n1. [One](https://a.example)\n2. https://b.example/2",
    "[^1]: A note, https://e.example.\n[12]: https://f.example 'Title'",
    '{"report": "# A\\n\\nB is so [1]."}',
    ":contentReference[oaicite:3]{index=3} \ue200cite\ue202turn0search1\ue201",
)
_TOKENS = tuple(
    token.encode()
    for token in (
        *(
            "[1]",
            "[1-99]",
            "[^1]",
            "**",
            "*",
            "_",
            "`",
            "```\n",
            "<",
            ">",
            "<!--",
            "-->",
            "|",
            "\n\n",
            "\n",
            "\t",
        ),
        *(
            "](",
            "![a](",
            "【1†",
            "】",
            "(Kim, 2024)",
            "https://",
            "doi:10.1/",
            "\\[",
            "&#0;",
            "¹",
            "# ",
            "- ",
            "1. ",
        ),
        *(
            "| a ",
            "[a]: https://x.example\n",
            "## References\n",
            "。",
            ". ",
            "et al. ",
            "\u3000",
            "~~~",
            "===",
            "％",
        ),
    )
)


@st.composite
def _report(draw: DrawFn) -> bytes:
    blocks = draw(st.lists(st.sampled_from(_BLOCKS), min_size=1, max_size=8))
    return draw(st.sampled_from(("\n\n", "\n", "\r\n\r\n", " "))).join(blocks).encode()


def check(data: bytes) -> None:
    """A document that indexes its text, or a refusal in one line."""
    try:
        document = parse_report(data)
    except UnreadableReport as error:
        assert_one_line(error)
        return
    _check_spans(document)
    assert parse_report(document.text) == document
    assert Document.model_validate_json(document.model_dump_json()) == document
    document.labelled()
    _check_cleaned(document)


def _check_spans(document: Document) -> None:
    text = document.text

    def read(span: Span) -> str:
        assert 0 <= span.start < span.end <= len(text), span
        return text[span.start : span.end]

    for index, block in enumerate(document.blocks):
        assert block.index == index
        written = read(block.span)
        place = 0
        for line in block.text.split("\n"):
            found = written.find(line, place)
            assert found >= 0, (block, written)
            place = found + len(line)
    labels = [sentence.label for sentence in document.sentences]
    assert len(set(labels)) == len(labels)
    citations = [citation.id for citation in document.citations]
    assert citations == [f"c{number}" for number in range(1, len(citations) + 1)]
    references = {reference.id for reference in document.references}
    for sentence in document.sentences:
        block = document.blocks[sentence.block]
        assert block.role == "body" and block.span.start <= sentence.span.start
        assert sentence.span.end <= block.span.end
        first, last = sentence.text.split()[0], sentence.text.split()[-1]
        written = read(sentence.span)
        assert first in written and last in written, (sentence, written)
        assert set(sentence.citations) <= set(citations)
    for citation in document.citations:
        read(citation.span)
        assert citation.reference is None or citation.reference in references
        assert (citation.url is not None) == (citation.state == "resolved")
        if citation.url is not None:
            assert normalise_url(citation.url) == citation.url
    for reference in document.references:
        read(reference.span)
        assert reference.url is None or normalise_url(reference.url) == reference.url


def _check_cleaned(document: Document) -> None:
    """What cleaning removes is all that it changes."""
    cleaned = clean(document, chatter=True)
    assert cleaned.text == applied(document.text, cleaned.removed)
    with contextlib.suppress(UnreadableReport):
        parse_report(cleaned.text)


def _shuffled(n: int) -> str:
    source = random.Random(n)
    return " ".join(source.choice(_TOKENS).decode() for _ in range(n))


TARGET = Target(
    "report",
    mutated(_report(), _TOKENS),
    check,
    examples=100,
    shapes={
        "brackets": lambda n: b"a [" * n,
        "closed brackets": lambda n: b"[" * n + b"a" + b"]" * n,
        "citations": lambda n: b"It is so [1]. " * n + b"\n\n## References\n\n[1] https://a.example\n",
        "entries": lambda n: (
            b"It is so [1].\n\n## References\n\n"
            + b"".join(b"[%d] https://a.example/%d\n" % (i, i) for i in range(1, n))
        ),
        "same entry": lambda n: b"A [1].\n\n## References\n\n" + b"[1] t: https://a.example\n" * n,
        "emphasis": lambda n: b"**a " * n,
        "angles": lambda n: b"a <b " * n,
        "comments": lambda n: b"<!-- a " * n,
        "backticks": lambda n: b" ".join(b"`" * (1 + i % 40) for i in range(n)),
        "rows": lambda n: b"| a [1] | b |\n|---|---|\n" + b"| 1 | 2 |\n" * n,
        "columns": lambda n: b"|a" * n + b"\n" + b"|-" * n + b"\n" + b"|b" * n,
        "headings": lambda n: b"## A heading\n\nText.\n\n" * n,
        "deep headings": lambda n: b"".join(b"#" * (1 + i % 6) + b" A\n\n" for i in range(n)),
        "items": lambda n: b"- an item [1]\n" * n,
        "quotes": lambda n: b"> " * n + b"a",
        "fences": lambda n: b"```\n\n~~~\n\n" * n,
        "footnotes": lambda n: (
            b"".join(b"A.[^%d] " % i for i in range(n))
            + b"\n\n"
            + b"".join(b"[^%d]: https://a.example/%d\n" % (i, i) for i in range(n))
        ),
        "reference sections": lambda n: b"A [1].\n\n## References\n\n[1] https://a.example\n\n" * n,
        "author and year": lambda n: b"It is so (Kim, 2024). " * n,
        "parentheses": lambda n: b"a (" * n,
        "links": lambda n: b"[a](" * n,
        "digits in a link": lambda n: b"a [^" + b"9" * n + b"x](https://a.example) b",
        "addresses": lambda n: b"https://a.example/x " * n,
        "definitions": lambda n: b"".join(b"[k%d]: https://a.example/%d\n" % (i, i) for i in range(n)),
        "mixed": lambda n: _shuffled(n).encode(),
    },
)
