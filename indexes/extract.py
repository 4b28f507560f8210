"""From the bytes of a page to its text.

Invariant: the text is a function of the bytes, the file name and the versions recorded in the manifest. It
does not depend on other pages, their order, or what the process did before (so trafilatura's `deduplicate`,
which remembers, is off). Whatever the bytes are, the answer is a text or a status with a reason, never an
exception.

Options: Markdown output, because it keeps headings, lists and tables as rows; emphasis is taken out before,
because `**` inside a sentence breaks verbatim quotations; tables in, comments, links and images out.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import trafilatura

from indexes.decode import MEDIA_TYPES, clean, sniff
from indexes.limits import MAX_GZIP_RATIO, MAX_MARKUP, MAX_PAGE_BYTES, MAX_PDF_PAGES, PDF_SECONDS
from indexes.model import Frozen, SourceStatus

# What it says of a page is in the page's reason; on standard error it would only break a progress bar.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

_etree: Any = importlib.import_module("lxml.etree")  # has no types
_EMPHASIS = ("b", "strong", "i", "em", "u", "tt", "kbd", "samp", "var", "del", "s", "strike", "mark")
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")
_MARKDOWN_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_WHOLE_PAGE = re.compile(r"<(?:html|body)\b", re.IGNORECASE)
_MAX_TITLE = 300

EXTRACTION: dict[str, str | int | bool] = {
    "output_format": "markdown",
    "deduplicate": False,
    "include_comments": False,
    "include_images": False,
    "include_links": False,
    "include_tables": True,
    "strip_emphasis": True,
    "max_page_bytes": MAX_PAGE_BYTES,
    "max_markup": MAX_MARKUP,
    "max_gzip_ratio": MAX_GZIP_RATIO,
    "max_pdf_pages": MAX_PDF_PAGES,
}
_LIBRARIES = ("trafilatura", "lxml", "pypdfium2", "charset-normalizer", "sentencex")


class Extracted(Frozen):
    """What was found in one file. `text` is empty unless `status` is `ok`."""

    status: SourceStatus
    reason: str = ""
    media_type: str
    title: str = ""
    text: str = ""


def extractor_versions() -> dict[str, str]:
    """The libraries that text passes through, with their installed versions."""
    return {name: version(name) for name in _LIBRARIES}


def extract(data: bytes, name: str) -> Extracted:
    """Text and title of a page.

    Args:
        data: the bytes of the page, decompressed.
        name: its file name (see `decode.sniff`).
    """
    if not data.strip():
        return Extracted(status="empty", reason="the file is empty", media_type="")
    kind, media_type, text = sniff(data, name)
    if kind == "unsupported":
        return Extracted(status="unsupported_type", reason=f"{media_type} is not read", media_type=media_type)
    if kind == "pdf":
        return _pdf(data)
    if kind == "html":
        return _html(text)
    title = ""
    if kind == "markdown" and (found := _MARKDOWN_TITLE.search(text)):
        title = found.group(1).strip().rstrip("#")
    return _finish(media_type, title, text, "the file holds white space only")


def _finish(media_type: str, title: str, text: str, why_empty: str) -> Extracted:
    text = clean(text).strip("\n")
    if not text.strip():
        return Extracted(status="empty", reason=why_empty, media_type=media_type)
    short = " ".join(clean(title).split())[:_MAX_TITLE]
    return Extracted(status="ok", media_type=media_type, title=short, text=text)


def _html(markup: str) -> Extracted:
    media_type = MEDIA_TYPES["html"]
    if len(markup) > MAX_MARKUP:
        reason = f"the HTML has {len(markup):,} characters, more than {MAX_MARKUP:,}"
        return Extracted(status="unsupported_type", reason=reason, media_type=media_type)
    # lxml refuses text that declares an encoding, and would believe the declaration over the text.
    if declaration := _XML_DECLARATION.match(markup):
        markup = markup[declaration.end() :]
    if not _WHOLE_PAGE.search(markup):
        markup = f"<html><body>{markup}</body></html>"  # the library takes a lone fragment for something else
    try:
        tree: Any = trafilatura.load_html(markup)
        if tree is None:
            return Extracted(status="empty", reason="no HTML elements in the file", media_type=media_type)
        title: str = tree.findtext(".//title") or ""
        # In one pass: taking them out one by one copies the paragraph each time.
        _etree.strip_tags(tree, *_EMPHASIS)
        text = trafilatura.extract(
            tree,
            output_format="markdown",
            deduplicate=False,
            include_comments=False,
            include_images=False,
            include_links=False,
            include_tables=True,
        )
    except (
        Exception
    ) as error:  # markup from strangers: a parser's fault is that page's reason, not the import's end
        reason = f"the HTML could not be read ({type(error).__name__})"
        return Extracted(status="unsupported_type", reason=reason, media_type=media_type)
    return _finish(media_type, title, text or "", "no main text was found in the HTML")


def _pdf(data: bytes) -> Extracted:
    """Read a PDF in a process of its own: a fault in the native library must not end the import."""
    media_type = MEDIA_TYPES["pdf"]
    # -P and the path: this very package is run, whatever the working directory holds.
    command = [sys.executable, "-P", "-m", "indexes.pdf"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=PDF_SECONDS, check=False, env=env
        )
    except subprocess.TimeoutExpired:
        reason = f"the PDF gave no text within {PDF_SECONDS} s"
        return Extracted(status="unsupported_type", reason=reason, media_type=media_type)
    if done.returncode != 0:
        reason = f"the PDF reader ended with code {done.returncode}"
        return Extracted(status="unsupported_type", reason=reason, media_type=media_type)
    answer: dict[str, str] = json.loads(done.stdout)
    if "error" in answer:
        return Extracted(status="unsupported_type", reason=answer["error"], media_type=media_type)
    return _finish(media_type, answer["title"], answer["text"], "the PDF has no text layer (a scan?)")
