"""Detection of the kind of a file and decoding of its characters.

Invariant: the kind is detected from the bytes first and from the name only between kinds of text; decoding
depends on the bytes alone, never fails, and gives text that can be written as UTF-8.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Literal

from charset_normalizer import from_bytes

Kind = Literal["html", "pdf", "markdown", "text", "json", "unsupported"]

MEDIA_TYPES: dict[Kind, str] = {
    "html": "text/html",
    "pdf": "application/pdf",
    "markdown": "text/markdown",
    "text": "text/plain",
    "json": "application/json",
}

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-executable"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"%!PS", "application/postscript"),
)

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    # UTF-32 before UTF-16: its little-endian mark begins with the other's.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
# The web reads these names as the wider Windows or Chinese code page that pages so labelled really use.
_WEB_NAMES = {"iso-8859-1": "windows-1252", "latin-1": "windows-1252", "us-ascii": "windows-1252"} | {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
}
_NO_CHARSETS = frozenset({"idna", "punycode", "raw_unicode_escape", "unicode_escape"})
"""Names that Python decodes by and no page is written in; the first two take a time that grows with the square."""

_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta|article|main|section|div|p|h1|table)\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML_ANYWHERE = re.compile(r"<(?:html|body)\b", re.IGNORECASE)
_XML = re.compile(r"\s*<\?xml\b|\s*<(?:rss|feed|svg|urlset)\b", re.IGNORECASE)
_HTML_SUFFIXES = (".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx")
_MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd")
_SNIFF = 4096
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_BINARY_SHARE = 0.02


def is_pdf(data: bytes) -> bool:
    """Check whether these bytes start like a PDF; readers tolerate some bytes before it."""
    return b"%PDF-" in data[:1024]


def sniff(data: bytes, name: str, charset: str | None = None) -> tuple[Kind, str, str]:
    """Tell what a page is.

    Args:
        data: its bytes, decompressed.
        name: its file name; only the suffix is looked at, and only to tell kinds of text apart.
        charset: as the sender says beside the bytes.

    Returns:
        Kind, media type, and the decoded text, which is empty for a PDF and for what is not text.
    """
    if is_pdf(data):
        return "pdf", MEDIA_TYPES["pdf"], ""
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return "unsupported", media_type, ""
    text = decode(data, charset)
    head = text[:_SNIFF]
    if len(_CONTROL.findall(head)) > _BINARY_SHARE * len(head):
        return "unsupported", "application/octet-stream", ""
    kind = _kind_of_text(text, name.lower().removesuffix(".gz"))
    return (kind, MEDIA_TYPES[kind], text) if kind != "unsupported" else (kind, "application/xml", "")


def _kind_of_text(text: str, name: str) -> Kind:
    head = text[:_SNIFF]
    if name.endswith(_MARKDOWN_SUFFIXES):
        return "markdown"
    if _HTML.match(head) or (name.endswith(_HTML_SUFFIXES) and "<" in text):
        return "html"
    if _XML.match(head):
        return "html" if _HTML_ANYWHERE.search(head) else "unsupported"
    if head.lstrip()[:1] in ("{", "["):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "text"
        return "json"
    return "text"


def decode(data: bytes, charset: str | None = None) -> str:
    """Bytes to text: by byte-order mark, as UTF-8, as said beside them, as declared in them, or by a guess.

    Whichever fits first; a charset that the bytes contradict is passed over. Where nothing fits, U+FFFD stands for
    what is not UTF-8.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return clean(data[len(mark) :].decode(encoding, "replace"))
    candidates = ["utf-8"]
    if charset is not None and charset.replace("-", "_") not in _NO_CHARSETS:
        candidates.append(_WEB_NAMES.get(charset, charset))
    declared = _DECLARED.search(data[:_SNIFF])
    if declared:
        name = declared.group(1).decode("ascii").lower()
        if name.replace("-", "_") not in _NO_CHARSETS and _reads_itself(name, declared.group()):
            candidates.append(_WEB_NAMES.get(name, name))
    for encoding in candidates:
        try:
            return clean(data.decode(encoding))
        except (LookupError, ValueError):  # an unknown name, or bytes that do not fit
            continue
    best = from_bytes(data).best()
    return clean(str(best) if best is not None else data.decode("utf-8", "replace"))


def _reads_itself(charset: str, declaration: bytes) -> bool:
    """Check whether a declaration found as ASCII reads the same in the charset that it names; in UTF-16 it does not."""
    try:
        return declaration.decode(charset) == declaration.decode("ascii")
    except (LookupError, ValueError):
        return False


def clean(text: str) -> str:
    r"""Newlines as `\n`, no NUL, no lone surrogates: text that SQLite, XML and UTF-8 all take."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8")
