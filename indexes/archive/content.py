"""Selection of the bytes of a capture that make its page.

Invariant: one capture gives one content: the rendered document if there is one, else the imported file, else the body
of the last answer that was not "not modified", with its Content-Encoding undone within the bounds of `limits`.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from indexes.archive.model import Capture, Exchange, Headers, header
from indexes.limits import GzipRefused, gunzip, inflate
from indexes.model import Frozen

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


def content_of(capture: Capture) -> Content:
    """The content of a capture; empty for one without a page."""
    if capture.rendered is not None:
        return Content(data=capture.rendered.html, name="page.html", charset="utf-8")
    if capture.imported is not None:
        return Content(data=capture.imported.data, name=capture.imported.name)
    answer = answer_of(capture)
    if answer is None:
        return Content()
    media_type, charset = content_type(answer.headers)
    path = PurePosixPath(unquote(urlsplit(answer.url).path))
    name = f"page{_SUFFIXES.get(media_type) or path.suffix.lower()}"
    try:
        data = decoded(answer)
    except GzipRefused as error:
        return Content(name=name, http_status=answer.status, refused=str(error))
    return Content(data=data, name=name, charset=charset, http_status=answer.status)


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


def decoded(exchange: Exchange) -> bytes:
    """The body with its Content-Encoding undone. Raises GzipRefused as `undone` does."""
    return undone(exchange.body, header(exchange.headers, "content-encoding") or "")


def undone(data: bytes, encoding: str) -> bytes:
    """Bytes without their content encoding.

    Args:
        data: as they came.
        encoding: value of Content-Encoding; '' for none.

    Raises:
        GzipRefused: they would pass the bounds, are damaged, or in an encoding that is not read.
    """
    codings = [coding.strip().lower() for coding in encoding.split(",")]
    for coding in reversed([coding for coding in codings if coding not in ("", "identity")]):
        if not data:
            return data
        if coding in ("gzip", "x-gzip"):
            data = gunzip(data)
        elif coding == "deflate":
            data = inflate(data)
        else:
            raise GzipRefused(f"its content encoding {coding[:40]!r} is not read")
    return data
