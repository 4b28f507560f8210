"""Citation styles of reports, one row each.

Invariant: a row contains everything that depends on the style: the forms of a mark, the lookup of its keys, whether it
is part of its sentence, and how `text clean` removes it. No other module tests for the name of a style.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from local_judge.documents.citation_forms import (
    RAISED,
    Reader,
    address,
    anchor,
    author_years,
    autolink,
    digits,
    identifier,
    known_name,
    link,
    matching,
    name,
    numbers,
    sup_element,
    superscript,
)
from local_judge.documents.model import CitationForm


class Form(NamedTuple):
    """One form of a mark."""

    opens: str
    """Regular expression of its beginning. Forms with the same expression are tried in order."""
    read: Reader


@dataclass(frozen=True, slots=True)
class CitationStyle:
    """Citation style."""

    name: CitationForm
    examples: tuple[str, ...]
    """Marks of source 1, marks of Kim (2024), or addresses; after a word if the mark needs one."""
    forms: tuple[Form, ...]
    lookup: Literal["number", "note", "author", "address"]
    """Lookup of a mark's key: number or label of an entry, label of a footnote (each falls back to the other), author
    and year, or an address, which needs no entry."""
    wording: bool = False
    """True if the mark may be words of its sentence. Other marks are ignored by sentence segmentation and removed from
    the text of a link."""
    cleaned: Literal["whole", "unless_index", "unless_narrative", "words_stay", "address"] = "whole"
    """Part of the mark that `text clean` removes: the whole mark; the whole unless it is an index such as `x[1]`;
    brackets, but not `Kim (2024) found`; a link without its words; each of comma-separated addresses."""
    dangles: bool = True
    """True if an unresolved mark is still a citation, unlike a link to a file."""


_ROWS = (
    CitationStyle(
        name="link",
        examples=("[text](https://a.example/1)", '<a href="https://a.example/1">text</a>'),
        forms=(Form(r"\[", link), Form("<", anchor)),
        lookup="address",
        wording=True,
        cleaned="words_stay",
        dangles=False,
    ),
    CitationStyle(
        name="bare_url",
        examples=(
            "https://a.example/1",
            "<https://a.example/1>",
            "www.a.example/1",
            "doi:10.1000/1",
            "arXiv:2001.08361",
        ),
        forms=(
            Form("<", autolink),
            Form(r"(?i:https?://|www\.(?=[a-z0-9]))", address),
            Form(r"(?i:(?<![A-Za-z0-9/.])(?:doi ?: ?10\.|arxiv ?: ?(?=[0-9a-z-])))", identifier),
        ),
        lookup="address",
        wording=True,
        cleaned="address",
    ),
    CitationStyle(
        name="footnote",
        examples=("[^1]",),
        forms=(Form(r"\[", matching(r"\[\s{0,40}\^([^\[\]\\\s]{1,39})\s{0,40}\]", name)),),
        lookup="note",
    ),
    CitationStyle(
        name="number",
        examples=("[1]", "[1, 3]", "[2-5]", r"\[1\]", "［1］", "[cite: 1]", ":contentReference[oaicite:1]"),
        forms=(
            Form(r"\[", matching(r"\[([^\[\]\\]{1,79})\]", numbers)),
            Form(
                r"\[",
                matching(
                    r"\[\s{0,40}(?i:(?:citation|cite|ref|source)s?)\s?[:：]\s?(\^?\d[^\[\]\\\n]{0,60})\]",
                    numbers,
                ),
            ),
            Form(r"\[", matching(r"\[([^\[\]\\]{1,79})\]", known_name)),
            Form(r"\\(?s:.)", matching(r"\\\[([^\[\]\\\n]{1,60})\\\]", numbers)),
            Form("［", matching(r"［([^［］\n]{1,60})］", numbers)),
            # Internal marks of chats, the second with private-use characters, for a source that is not in the export.
            Form(
                r":(?=contentReference\[)",
                matching(r":contentReference\[(oaicite:\d{1,4})\](?:\{index=\d{1,4}\})?", name),
            ),
            Form(
                "\ue200",
                matching(
                    "\ue200(?:file)?cite\ue202([\\w:.-]{1,60}(?:\ue202[\\w:.-]{1,60}){0,19})\ue201",
                    lambda content, _: tuple(content.split("\ue202")),
                ),
            ),
        ),
        lookup="number",
        cleaned="unless_index",
    ),
    CitationStyle(
        name="lenticular",
        examples=("【1】", "【1†L3-L5】", "[1†source]"),
        forms=(
            Form(
                "【",
                matching(r"【\s?(\d{1,4}(?:\s?[,，、]\s?\d{1,4})*)(?:\s?[†‡:：][^【】\n]{0,200})?】", digits),
            ),
            Form(r"\[", matching(r"\[\s{0,40}(\d{1,4})\s?[†‡][^\[\]\n]{0,77}\]", name)),
        ),
        lookup="number",
    ),
    CitationStyle(
        name="superscript",
        examples=("word¹", "word<sup>1</sup>"),
        forms=(Form(RAISED, superscript), Form("<", sup_element)),
        lookup="number",
    ),
    CitationStyle(
        name="author_year",
        examples=("(Kim, 2024)", "Kim et al. (2024)"),
        forms=(Form(r"\(|（", author_years),),
        lookup="author",
        wording=True,
        cleaned="unless_narrative",
    ),
)
STYLES: dict[CitationForm, CitationStyle] = {row.name: row for row in _ROWS}
