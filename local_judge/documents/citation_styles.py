"""Citation styles of reports, one row each.

Invariant: a row contains everything that depends on the style: the forms of a mark, the lookup of its keys, whether it
is part of its sentence, and how `text clean` removes it. No other module tests for the name of a style.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from local_judge.documents.addresses import address, anchor, autolink, hosted, identifier, link
from local_judge.documents.author_years import again, author_years
from local_judge.documents.citation_forms import (
    anchor_element,
    anchored,
    bracketed,
    card,
    circled,
    element,
    linked_twice,
    matching,
    narrative,
    pandoc,
    rounded,
    signed,
    turns,
)
from local_judge.documents.citation_keys import CIRCLED, before_dagger, command, name, numbers, tools
from local_judge.documents.mark_text import Reader
from local_judge.documents.model import CitationForm
from local_judge.documents.raised_digits import (
    RAISED,
    carets,
    glued,
    spaced,
    sup_element,
    superscript,
    tex_raised,
    within,
)


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
    cleaned: Literal["whole", "unless_narrative", "words_stay", "address"] = "whole"
    """Part of the mark that `text clean` removes: the whole mark; brackets, but not `Kim (2024) found`; a link without
    its words; each of comma-separated addresses."""
    dangles: bool = True
    """True if an unresolved mark is still a citation, unlike a link to a file."""


_BRACKET = r"\[([^\[\]\\]{1,79})\]"

_NUMBERS = (
    "[1]", "[1, 3]", "[2-5]", "[1]–[3]", "[1, p. 4]", "[2 & 3]", "[#1]", "[Source 1]", "[cite: 1]", r"\[1\]",
    "［1］", "〔1〕", "【1】", "(1)", "(Source 1)", "①", "※1",
)  # fmt: skip

_ROWS = (
    CitationStyle(
        name="tool",
        examples=("【9†L3-L5】", "[9†source]", ":contentReference[oaicite:9]", "citeturn0search9", "[web:9]"),
        forms=(
            Form(r"\[", card),
            Form(r"\[", matching(_BRACKET, tools)),
            Form(r"\[", matching(r"\[\s{0,40}(\d{1,4})\s?[†‡][^\[\]\n]{0,77}\]", before_dagger)),
            Form("【", matching(r"【\s?([^【】†‡\n]{1,120})[†‡][^【】\n]{0,200}】", before_dagger)),
            Form("【", matching(r"【([^【】\n]{1,120})】", tools)),
            Form(
                r":(?=contentReference\[)",
                matching(r":contentReference\[(oaicite:\d{1,4})\](?:\{index=\d{1,4}\})?", name),
            ),
            Form("\ue200", matching("\ue200(?:file)?cite\ue202([\\w:.\ue202-]{1,1200})\ue201", tools)),
            Form("(?:file)?cite(?= ?turn)", turns),
            Form("<", element),
        ),
        lookup="number",
    ),
    CitationStyle(
        name="anchor",
        examples=("[1](#ref1)", "[[1]](#ref1)", '<a href="#ref1">1</a>'),
        forms=(Form(r"\[", anchored), Form("<", anchor_element)),
        lookup="number",
    ),
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
            *("https://a.example/1", "<https://a.example/1>", "www.a.example/1", "a.example/1"),
            *("doi:10.1000/1", "arXiv:2001.08361"),
        ),
        forms=(
            Form("<", autolink),
            Form(r"(?i:https?://|www\.(?=[a-z0-9]))", address),
            Form(r"(?<=[a-z]{2})/(?=[^\s/])", hosted),
            Form(r"(?i:(?<![A-Za-z0-9/.])(?:doi ?: ?10\.|arxiv ?: ?(?=[0-9a-z-])))", identifier),
        ),
        lookup="address",
        wording=True,
        cleaned="address",
    ),
    CitationStyle(
        name="footnote",
        examples=("[^1]",),
        forms=(Form(r"\[", matching(r"\[\s{0,40}\^(([^\[\]\\\s^]{1,39})\^?)\s{0,40}\](?:\[\2\])?", name)),),
        lookup="note",
    ),
    CitationStyle(
        name="command",
        examples=(r"\cite{1}", "[@kim2024]"),
        forms=(
            Form(
                r"\\(?s:.)",
                matching(
                    r"\\[a-zA-Z]{0,12}cite[a-zA-Z]{0,8}\*?(?:\[[^\[\]\n]{0,60}\]){0,2}\{([^{}]{1,400})\}",
                    command,
                ),
            ),
            Form(r"\[", pandoc),
            Form(r"(?<![\w@./])@(?=[^\W\d_])", narrative),
        ),
        lookup="number",
    ),
    CitationStyle(
        name="number",
        examples=_NUMBERS,
        forms=(
            Form(r"\[", bracketed(_BRACKET, numbers)),
            Form(r"\[", linked_twice),
            Form(r"\\(?s:.)", bracketed(r"\\\[([^\[\]\\\n]{1,60})\\\]", numbers)),
            Form("［", bracketed(r"［([^［］\n]{1,60})］", numbers)),
            Form("〔", bracketed(r"〔([^〔〕\n]{1,60})〕", numbers)),
            Form("【", bracketed(r"【([^【】\n]{1,60})】", numbers)),
            Form("※", signed),
            Form(r"\(|（", rounded),
            Form(CIRCLED, circled),
        ),
        lookup="number",
    ),
    CitationStyle(
        name="superscript",
        examples=("word¹", "word<sup>1</sup>", "word^1^", "word$^{1}$"),
        forms=(
            Form(RAISED, superscript),
            Form("<", sup_element),
            Form(r"\^(?=[\[\d])", carets),
            Form(r"\$", tex_raised),
            Form(r"\\(?s:.)", matching(r"\\textsuperscript\{\[?(\d[^{}\[\]\n]{0,40})\]?\}", numbers)),
        ),
        lookup="number",
    ),
    CitationStyle(
        name="glued",
        examples=("word 1",),
        forms=(
            Form(r"(?<=[.,;:!?…%\"”’'»)*_。，；：！？）」』a-zß-ÿ])\d", glued),
            Form(r"(?<=[^\W_] )\d|(?<=[%\"”’'»)*_）」』] )\d", spaced),
            Form(r"(?<=[,;] )\d", within),
        ),
        lookup="number",
    ),
    CitationStyle(
        name="author_year",
        examples=("(Kim, 2024)", "Kim et al. (2024)"),
        forms=(
            Form(r"\(|（", author_years),
            Form(r"\(|（", again),
            Form(r"\[", author_years),
            Form(r"\[", again),
        ),
        lookup="author",
        wording=True,
        cleaned="unless_narrative",
    ),
)
STYLES: dict[CitationForm, CitationStyle] = {row.name: row for row in _ROWS}
