"""Kinds of files that reports come in: Markdown and text, HTML, and those that have to be converted first.

Invariant: markup is never read as prose. A kind is recognised by the content, and by the name only where the content
could be text; what is not read is refused with the command that converts it.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import PurePath
from shlex import quote

from indexes.text.decode import HTML_OPENING, decode
from local_judge.documents.model import UnreadableReport

TEXT_SUFFIXES = (".md", ".markdown", ".txt")
HTML_SUFFIXES = (".html", ".htm", ".xhtml")
REPORT_SUFFIXES = (*TEXT_SUFFIXES, *HTML_SUFFIXES)

_PANDOC = {
    **{
        f".{name}": name
        for name in ("docx", "epub", "ipynb", "jira", "latex", "mediawiki", "odt", "org", "rst", "rtf")
    },
    ".tex": "latex",
    ".typ": "typst",
    ".wiki": "mediawiki",
}
"""Formats of pandoc by suffix."""
_ASCIIDOC = (".adoc", ".asciidoc")
_ROWS = (".csv", ".json", ".parquet", ".tsv", ".xls", ".xlsx")
DOCTYPE = b"<!doctype html>"
_SNIFF = 4_096
_HTML = re.compile(f"(?:\ufeff)?{HTML_OPENING})\\b".encode(), re.IGNORECASE | re.DOTALL)
_FRAGMENT = re.compile(
    rb"\s*<(?:h[1-6]|p|div|article|section|main|body)\b[^<>]*>(?:[^\0]*?</(?:p|li|h[1-6])>){3}", re.IGNORECASE
)
_MARKDOWN = re.compile(rb"^[ \t]*(?:#{1,6} |[-*+] |\d{1,3}\. |\||>|```|\[\d)|\]\(", re.MULTILINE)
_XML = re.compile(rb"\s*<\?xml\b")
_PDF, _ZIP = b"%PDF-", b"PK\x03\x04"
_FENCED = re.compile(rb"^[ \t]*+(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)


def _signs(*patterns: bytes) -> tuple[re.Pattern[bytes], ...]:
    return tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)


_MARKUPS = (
    (".rtf", 1, _signs(rb"\A\s*\{\\rtf")),
    (".ipynb", 2, _signs(rb"\A\s*\{[^\0]*\"cells\"\s*:\s*\[", rb"\"nbformat\"\s*:")),
    (
        ".latex",
        1,
        _signs(
            rb"\A\s*(?:%[^\n]*\n\s*)*\\documentclass\b"
            rb"|^[ \t]*+\\(?:(?:chapter|(?:sub){0,2}section)\*?\{|begin\{document\})"
        ),
    ),
    (".typ", 1, _signs(rb"^#(?:set [a-z]+\(|import \"|bibliography\()")),
    (
        ".org",
        2,
        _signs(
            rb"^#\+(?i:title|options|startup|begin_\w+|print_bibliography)\b",
            rb"^#\+(?i:author|date|language|bibliography|end_\w+|filetags)\b",
            rb"\[\[https?://[^\[\]\n]+\]\[[^\[\]\n]+\]\]",
            rb"\[fn:[\w-]+\]",
            rb"^[ \t]*:PROPERTIES:",
            rb"^\*{2,6} \S",
            rb"\[cite(?:/\w+)?:[^\[\]\n]*@",
        ),
    ),
    (
        ".mediawiki",
        2,
        _signs(
            rb"^={2,6} ?[^=\n]+?={2,6}[ \t]*\r?$",
            rb"<ref(?:\s[^<>]*)?>[^<]{0,400}</ref>|<references\s?/?>",
            rb"\{\{[^{}\n]{1,80}[|}]",
            rb"\'\'\'[^\'\n]+\'\'\'",
            rb"\[\[(?:File|Image|Category|Datei|Kategorie|Fichier|Archivo):",
            rb"(?<!\[)\[https?://[^\s\[\]]+ [^\[\]\n]+\](?![(\]])",
        ),
    ),
    (
        ".adoc",
        2,
        _signs(
            rb"^={1,6} \S[^\n]*[^=\s]\s*?$",
            rb"^={2,6} \S[^\n]*[^=\s]\s*?$",
            rb"^:[a-z][\w-]*:(?: |\r?$)",
            rb"(?:https?://|link:)[^\s\[\]()]{1,300}+\[[^\[\]\w\n]{0,20}+\d{0,20}+[^\W\d][^\[\]\n]{0,200}\]",
            rb"<<[\w-]+(?:,[^<>\n]+)?>>",
            rb"footnote:\[",
        ),
    ),
    (
        ".rst",
        1,
        _signs(
            rb"^\.\. [\w-]+::",
            rb"^\.\. _[^:\n]+:",
            rb"`[^`\n]+ <[^<>\n]+>`_",
            rb"(?<!\w):[a-z]+:`[^`\n]+`",
            rb"\[#[\w-]*\]_",
            rb"\A(?=[^\0]*\[\d{1,3}\]_(?!\w))(?=[^\0]*^\.\. \[\d{1,3}\])",
        ),
    ),
    (".jira", 2, _signs(rb"^h[1-6]\. \S", rb"\[[^\[\]|\n]+\|https?://[^\[\]\n]+\]", rb"^h[2-6]\. \S")),
)
"""Markups that are not Markdown, by suffix: the least number of their signs, and the signs. Code is left out."""


def markdown_of(content: bytes, name: str = "") -> bytes:
    """Return a report as Markdown or plain text.

    Args:
        content: Bytes of the report.
        name: Name of its file; empty for a text that is part of another file.

    Raises:
        UnreadableReport: The content has a kind that is not read, or is HTML without text.
    """
    suffix, head = PurePath(name).suffix.lower(), content[:_SNIFF]
    if content.startswith(_PDF):
        suffix = ".pdf"
    elif content.startswith(_ZIP):
        suffix = suffix if suffix in (*_PANDOC, *_ROWS) else ".docx"
    elif suffix in ("", *TEXT_SUFFIXES) and not _HTML.match(head):
        suffix = _markup_of(content) or suffix
    reason = why_not_read(name, suffix)
    if reason is not None:
        raise UnreadableReport(reason)
    if suffix in HTML_SUFFIXES or _HTML.match(head) or _is_fragment(content):
        from local_judge.documents.from_html import markdown_of_html  # loads lxml

        return markdown_of_html(decode(content)).encode()
    return content


def _is_fragment(content: bytes) -> bool:
    """Check whether a text is a part of a page, without Markdown."""
    return _FRAGMENT.match(content) is not None and _MARKDOWN.search(content) is None


def _markup_of(content: bytes) -> str:
    """Return the suffix of the markup that a text is written in; empty for Markdown and plain text."""
    text = _FENCED.sub(b"", content.removeprefix(b"\xef\xbb\xbf"))
    for suffix, least, signs in _MARKUPS:
        if sum(sign.search(text) is not None for sign in signs) >= least:
            return suffix
    if text[:_SNIFF].lstrip()[:1] in (b"{", b"["):
        with suppress(ValueError, RecursionError):
            json.loads(text)
            return ".json"
    return ".xml" if _XML.match(text[:_SNIFF]) else ""


def is_html(name: str) -> bool:
    """Check whether a file is HTML by its name."""
    return PurePath(name).suffix.lower() in HTML_SUFFIXES


def why_not_read(name: str, suffix: str) -> str | None:
    """Return why files with a suffix are not read, and what to do instead; None for a kind that is read.

    Args:
        name: Name of the file; may be empty.
        suffix: Its suffix, or that of the kind that its content shows.
    """
    path = PurePath(name or f"REPORT{suffix}")
    if suffix in ("", *REPORT_SUFFIXES):
        return None
    if suffix in _ASCIIDOC:
        return f"AsciiDoc is not read; convert it: asciidoctor {quote(path.name)} -o {quote(f'{path.stem}.html')}"
    if suffix in _PANDOC:
        form = "" if path.suffix.lower() == suffix else f" -f {_PANDOC[suffix]}"
        cited = " --citeproc" if suffix in (".tex", ".latex") else ""
        command = f"pandoc {quote(path.name)}{form}{cited} -s -o {quote(f'{path.stem}.html')}"
        other = f", or, where it has \\bibitem, make4ht {quote(path.name)}" if cited else ""
        return f"{suffix} is not read; convert it: {command}{other}"
    if suffix == ".pdf":
        return "a PDF has no paragraphs, and often not its links; give the Markdown, HTML or Word file it was made from"
    if suffix in _ROWS:
        return f"{suffix} is not read; write each row as a line of JSON, with `id` and `report`, to {path.stem}.jsonl"
    return f"{suffix} is not read; reports are {', '.join(REPORT_SUFFIXES)} or .jsonl files"
