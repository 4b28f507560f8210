"""`python -m indexes.text.pdf`: a PDF on standard input, its title, date and text on standard output.

The answer is JSON: `{"title", "created", "text"}` or `{"error"}`.

Invariant: runs alone in a process that its parent may end, and never raises for what a PDF holds. Pages are
joined by a blank line; the lines of a page are kept, hyphens that a line break left inside a word are closed.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pypdfium2 as pdfium  # pyright: ignore[reportMissingTypeStubs]

from indexes.confining import deny_sockets, limit_memory
from indexes.limits import MAX_PDF_PAGES

# PDFium marks a hyphen at a line's end by U+FFFE, or by U+0002 in older builds.
_LINE_HYPHEN = re.compile("[\ufffe\x02]\\s*")


def read_pdf(data: bytes) -> dict[str, str]:
    """Title, dates as written and text of a PDF, or the reason why there is none."""
    try:
        document: Any = pdfium.PdfDocument(data)
        if len(document) > MAX_PDF_PAGES:
            return {"error": f"the PDF has {len(document):,} pages, more than {MAX_PDF_PAGES:,}"}
        pages: list[str] = []
        for index in range(len(document)):
            text: str = document[index].get_textpage().get_text_bounded()
            pages.append(_LINE_HYPHEN.sub("", text.replace("\r\n", "\n")).strip())
        return {
            "title": _metadata(document, "Title"),
            "created": _metadata(document, "CreationDate"),
            "changed": _metadata(document, "ModDate"),
            "text": "\n\n".join(filter(None, pages)),
        }
    except pdfium.PdfiumError as error:
        encrypted = "assword" in str(error)
        return {"error": "the PDF is encrypted" if encrypted else f"the PDF is damaged ({error})"}


def _metadata(document: Any, key: str) -> str:
    """An entry of the document's information; '' for one that is no text."""
    try:
        return document.get_metadata_value(key)
    except UnicodeError:
        return ""


def main() -> None:
    """Read standard input, answer on standard output."""
    limit_memory()
    deny_sockets()
    answer = read_pdf(sys.stdin.buffer.read())
    sys.stdout.buffer.write(json.dumps(answer).encode("ascii"))


if __name__ == "__main__":
    main()
