"""Kinds of files that reports come in: Markdown and text, HTML, and those that have to be converted first.

Invariant: markup is never read as prose. A kind is recognised by the content, and by the name only where the content
could be text; what is not read is refused with the command that converts it.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from shlex import quote

from indexes.text.decode import decode
from local_judge.documents.model import UnreadableReport

TEXT_SUFFIXES = (".md", ".markdown", ".txt")
HTML_SUFFIXES = (".html", ".htm", ".xhtml")
REPORT_SUFFIXES = (*TEXT_SUFFIXES, *HTML_SUFFIXES)

_PANDOC = (".docx", ".epub", ".ipynb", ".latex", ".odt", ".org", ".rst", ".rtf", ".tex")
_ROWS = (".csv", ".parquet", ".tsv", ".xls", ".xlsx")
DOCTYPE = b"<!doctype html>"
_SNIFF = 4_096
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*+<(?:!doctype\s+html|html)\b", re.I | re.S
)
_LATEX = re.compile(rb"\s*(?:%[^\n]*\n\s*)*\\documentclass\b")
_PDF, _ZIP = b"%PDF-", b"PK\x03\x04"


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
    elif _LATEX.match(head):
        suffix = suffix if suffix == ".tex" else ".latex"
    reason = why_not_read(name, suffix)
    if reason is not None:
        raise UnreadableReport(reason)
    if suffix in HTML_SUFFIXES or _HTML.match(head):
        from local_judge.documents.from_html import markdown_of_html  # loads lxml

        return markdown_of_html(decode(content)).encode()
    return content


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
    if suffix in _PANDOC:
        form = "" if path.suffix.lower() == suffix else f" -f {suffix[1:]}"
        cited = " --citeproc" if suffix in (".tex", ".latex") else ""
        command = f"pandoc {quote(path.name)}{form}{cited} -s -o {quote(f'{path.stem}.html')}"
        other = f", or, where it has \\bibitem, make4ht {quote(path.name)}" if cited else ""
        return f"{suffix} is not read; convert it: {command}{other}"
    if suffix == ".pdf":
        return "a PDF has no paragraphs, and often not its links; give the Markdown, HTML or Word file it was made from"
    if suffix in _ROWS:
        return f"{suffix} is not read; write each row as a line of JSON, with `id` and `report`, to {path.stem}.jsonl"
    return f"{suffix} is not read; reports are {', '.join(REPORT_SUFFIXES)} or .jsonl files"
