"""Extraction of the text of a page from its bytes.

Invariant: the result for a page is a function of its bytes, its file name, its URL, the time of fetching and the
versions recorded in the manifest. It does not depend on other pages, their order, the clock, or what the process did
before (so trafilatura's `deduplicate`, which remembers, is off). Whatever the bytes are, the answer is a text or a
status with a reason, never an exception. An endless page is not ended here but by `extracting`.

How HTML is read is in `markup`, how it is dated in `dates`, what is no page but a wall before one in `walls`.
"""

from __future__ import annotations

import json
import re
import subprocess
from datetime import date
from importlib.metadata import version

from indexes.confining import child_command
from indexes.limits import (
    HTML_SECONDS,
    MAX_GZIP_RATIO,
    MAX_MARKUP,
    MAX_PAGE_BYTES,
    MAX_PDF_PAGES,
    PAGE_MEMORY,
    PDF_SECONDS,
)
from indexes.model import SourceStatus
from indexes.text.dates import EARLIEST, LATEST, day_in_pdf, latest_date
from indexes.text.decode import MEDIA_TYPES, clean, sniff
from indexes.text.facts import read_facts, text_facts
from indexes.text.language import MIN_PROBABILITY, MODEL_SAMPLE, SAMPLE, detect_language
from indexes.text.markup import MAX_DEPTH, OPTIONS, MarkupRefused, read_markup
from indexes.text.walls import UNKNOWN, Arrival, may_be_wall, recognise
from local_judge.base.model import Frozen

_MARKDOWN_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_MAX_TITLE = 300

EXTRACTION: dict[str, str | int | bool] = {
    **OPTIONS,
    "strip_emphasis": True,
    "unescape": True,
    "boxes": True,
    "walls": True,
    "decoding": "whatwg",
    "date_extensive_search": False,
    "date_original": True,
    "date_earliest": EARLIEST.isoformat(),
    "date_latest": LATEST.isoformat(),
    "language_sample": SAMPLE,
    "language_model_sample": MODEL_SAMPLE,
    "language_min_percent": round(100 * MIN_PROBABILITY),
    "max_page_bytes": MAX_PAGE_BYTES,
    "max_markup": MAX_MARKUP,
    "max_depth": MAX_DEPTH,
    "max_gzip_ratio": MAX_GZIP_RATIO,
    "max_pdf_pages": MAX_PDF_PAGES,
    "html_seconds": HTML_SECONDS,
    "pdf_seconds": PDF_SECONDS,
    "page_memory": PAGE_MEMORY,
}
_LIBRARIES = (
    "trafilatura",
    "lxml",
    "htmldate",
    "pypdfium2",
    "charset-normalizer",
    "py3langid",
    "sentencex",
)


class Extracted(Frozen):
    """Content of one file. `text` is empty unless `status` is `ok`."""

    status: SourceStatus
    reason: str = ""
    media_type: str
    title: str = ""
    text: str = ""
    published: str | None = None
    """`YYYY-MM-DD`, where the page says it."""
    changed: str | None = None
    """Day of the page's last change, where it says one."""
    language: str = ""
    """ISO 639-1 code of the text, `und` where it cannot be told, empty where there is no text."""


def extractor_versions() -> dict[str, str]:
    """The libraries that text passes through, with their installed versions."""
    return {name: version(name) for name in _LIBRARIES}


def extract(
    data: bytes,
    name: str,
    *,
    url: str | None = None,
    fetched: str | None = None,
    charset: str | None = None,
    arrived: Arrival = UNKNOWN,
) -> Extracted:
    """Text, title, date and language of a page.

    Args:
        data: the bytes of the page, decompressed.
        name: its file name (see `decode.sniff`).
        url: where it came from; may hold the date.
        fetched: ISO 8601 time; no page was published after it.
        charset: as the server said.
        arrived: what address and header fields say of it.

    Raises:
        ValueError: `fetched` is no such time.
    """
    latest = latest_date(fetched)
    if not data.strip():
        return Extracted(status="empty", reason="the file is empty", media_type="")
    kind, media_type, text = sniff(data, name, charset)
    if kind == "unsupported":
        return _refuse(media_type, f"{media_type} is not read")
    if kind == "pdf":
        return _pdf(data, latest)
    if kind == "html":
        return _html(text, url, latest, arrived)
    if kind != "json" and (wall := recognise(arrived, text, text_facts(text))):
        return Extracted(status="blocked", reason=wall, media_type=media_type)
    title = ""
    if kind == "markdown" and (found := _MARKDOWN_TITLE.search(text)):
        title = found.group(1).strip().rstrip("#")
    return _finish(media_type, title, text, "the file holds white space only")


def _refuse(media_type: str, reason: str) -> Extracted:
    return Extracted(status="unsupported_type", reason=reason, media_type=media_type)


def _finish(
    media_type: str,
    title: str,
    text: str,
    why_empty: str,
    published: str | None = None,
    changed: str | None = None,
) -> Extracted:
    text = clean(text).strip("\n")
    if not text.strip():
        return Extracted(status="empty", reason=why_empty, media_type=media_type)
    return Extracted(
        status="ok",
        media_type=media_type,
        title=" ".join(clean(title).split())[:_MAX_TITLE],
        text=text,
        published=published,
        changed=changed,
        language=detect_language(text),
    )


def _html(markup: str, url: str | None, latest: date, arrived: Arrival) -> Extracted:
    media_type = MEDIA_TYPES["html"]
    if len(markup) > MAX_MARKUP:
        return _refuse(media_type, f"the HTML has {len(markup):,} characters, more than {MAX_MARKUP:,}")
    try:
        found = read_markup(markup, url, latest)
    except MarkupRefused as error:
        return _refuse(media_type, str(error))
    except (
        Exception
    ) as error:  # markup from strangers: a parser's fault is that page's reason, not the import's end
        return _refuse(media_type, f"the HTML could not be read ({type(error).__name__})")
    suspect = may_be_wall(arrived, markup, "" if found is None else found.text)
    if suspect and (wall := recognise(arrived, markup, read_facts(markup))):
        return Extracted(status="blocked", reason=wall, media_type=media_type)
    if found is None:
        return Extracted(status="empty", reason="no HTML elements in the file", media_type=media_type)
    why_empty = "no main text was found in the HTML"
    return _finish(media_type, found.title, found.text, why_empty, found.published, found.changed)


def _pdf(data: bytes, latest: date) -> Extracted:
    """Read a PDF in a process of its own: a fault in the native library must not end the import."""
    media_type = MEDIA_TYPES["pdf"]
    command, env = child_command("indexes.text.pdf")
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=PDF_SECONDS, check=False, env=env
        )
    except subprocess.TimeoutExpired:
        return _refuse(media_type, f"the PDF gave no text within {PDF_SECONDS} s")
    if done.returncode != 0:
        return _refuse(media_type, f"the PDF reader ended with code {done.returncode}")
    answer: dict[str, str] = json.loads(done.stdout)
    if "error" in answer:
        return _refuse(media_type, answer["error"])
    published = day_in_pdf(answer["created"], latest)
    why_empty = "the PDF has no text layer (a scan?)"
    return _finish(
        media_type, answer["title"], answer["text"], why_empty, published, day_in_pdf(answer["changed"])
    )
