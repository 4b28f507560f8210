"""The citation styles that reports use, one row each.

Invariant: a row says all that the package knows of its style: how a mark is written, what it names, whether it is
words of its sentence, and how `text clean` takes it away. No other module names a style to decide any of these.
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


class Form(NamedTuple):
    """One way to write a mark."""

    opens: str
    """Regular expression of what it begins with. Forms that begin alike have the same, and are tried in order."""
    read: Reader


@dataclass(frozen=True, slots=True)
class CitationStyle:
    """A style of citing."""

    name: str
    """As `Citation.style` has it."""
    examples: tuple[str, ...]
    """Marks of source 1 or of Kim (2024), or addresses; after a word where a mark needs one."""
    forms: tuple[Form, ...]
    lookup: Literal["number", "note", "author", "address"]
    """What a mark's key is looked up as: the number or label of an entry, the label of a footnote (each also as
    the other where there is none), author and year, or an address that needs no entry."""
    wording: bool = False
    """Whether the sentence may need the mark as words. One that it does not need is no part of a sentence when
    sentences are told apart, and goes from the text of a link."""
    cleaned: Literal["whole", "unless_index", "unless_narrative", "words_stay", "address"] = "whole"
    """What `text clean` takes away: the whole mark; the whole unless it is an index such as `x[1]`; only brackets, not
    `Kim (2024) found`; a link but for its words; an address, of comma-separated ones each."""
    dangles: bool = True
    """Whether a mark that leads nowhere is a citation all the same. A link to a file is none."""


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
            # What chats write for themselves, in the second case in characters of private use. It names a source that
            # the exported text does not hold.
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
STYLES: dict[str, CitationStyle] = {row.name: row for row in _ROWS}
