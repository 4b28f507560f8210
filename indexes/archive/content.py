"""Selection of the bytes of a capture that make its page.

Invariant: one capture gives one content: the rendered document if there is one, else the imported file, else the body
of the last answer that was not "not modified", with its Content-Encoding undone within the bounds of `limits`.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from indexes.archive.model import Capture, Exchange, Headers, header
from indexes.limits import GzipCut, GzipRefused, gunzip, inflate
from local_judge.base.model import Frozen

_SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "application/json": ".json",
}


class Content(Frozen):
    """Bytes to extract a text from, or why there are none."""

    data: bytes = b""
    name: str = ""
    """A file name whose suffix says what the sender says that the bytes are."""
    charset: str | None = None
    """Charset as the sender states it, outside the bytes."""
    http_status: int | None = None
    refused: str = ""
    """Reason in words if the bytes are not available."""
    truncated: bool = False
    """The bytes are only the beginning of the page."""


def content_of(capture: Capture) -> Content:
    """The content of a capture; empty for one without a page."""
    if capture.rendered is not None:
        return Content(data=capture.rendered.html, name="page.html", charset="utf-8")
    if capture.imported is not None:
        imported = capture.imported
        return Content(data=imported.data, name=imported.name, truncated=imported.truncated)
    answer = answer_of(capture)
    if answer is None:
        return Content()
    media_type, charset = content_type(answer.headers)
    path = PurePosixPath(unquote(urlsplit(answer.url).path))
    name = f"page{_SUFFIXES.get(media_type) or path.suffix.lower()}"
    try:
        data, cut = undone(answer.body, header(answer.headers, "content-encoding") or "")
    except GzipRefused as error:
        return Content(name=name, http_status=answer.status, refused=str(error))
    return Content(
        data=data, name=name, charset=charset, http_status=answer.status, truncated=answer.truncated or cut
    )


def answer_of(capture: Capture) -> Exchange | None:
    """The exchange whose body is the page."""
    return next((exchange for exchange in reversed(capture.exchanges) if exchange.status != 304), None)


def content_type(headers: Headers) -> tuple[str, str | None]:
    """Media type in lower case without parameters ('' where none is given), and charset."""
    value = header(headers, "content-type") or ""
    media_type, *parameters = value.split(";")
    for parameter in parameters:
        name, _, said = parameter.partition("=")
        if name.strip().lower() == "charset" and said.strip():
            return media_type.strip().lower(), said.strip().strip("\"'").lower()
    return media_type.strip().lower(), None


def undone(data: bytes, encoding: str) -> tuple[bytes, bool]:
    """Bytes without their content encoding, as far as they go, and whether they end too soon.

    Args:
        data: as they came.
        encoding: value of Content-Encoding; '' for none.

    Raises:
        GzipRefused: they would pass the bounds, are damaged, or in an encoding that is not read.
    """
    cut = False
    codings = [coding.strip().lower() for coding in encoding.split(",")]
    for coding in reversed([coding for coding in codings if coding not in ("", "identity")]):
        if not data:
            break
        if coding not in ("gzip", "x-gzip", "deflate"):
            raise GzipRefused(f"its content encoding {coding[:40]!r} is not read")
        try:
            data = inflate(data) if coding == "deflate" else gunzip(data)
        except GzipCut as error:
            data, cut = error.data, True
    return data, cut
