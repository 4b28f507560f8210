"""Detection of the kind of a file and decoding of its characters.

Invariant: the kind is detected from the bytes first and from the name only between kinds of text; decoding
depends on the bytes and the sender's label alone, never fails, and gives text that can be written as UTF-8.
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

_SUPERSETS = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874"} | {
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
"""Python's codec of a label, and that of the wider code page that browsers read it as (WHATWG Encoding, 4.2)."""
_CODECS = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "cp866", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "euc_jp"}
    | {"iso2022_jp", *_SUPERSETS.values()}
    | {f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
    | {f"cp{number}" for number in range(1250, 1259)}
)
"""Encodings of the web. Python has others, which no page is written in and some of which take quadratic time."""
_LABELS = {
    label: codec
    for codec, labels in {
        "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
        "utf-16-le": "unicode ucs-2 csunicode iso-10646-ucs-2 unicodefeff",
        "utf-16-be": "unicodefffe",
        "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
        "iso8859-7": "sun_eu_greek",
        "iso8859-8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i visual logical",
        "iso8859-15": "csisolatin9",
        "koi8-r": "koi koi8",
        "koi8-u": "koi8-ru",
        "mac-roman": "mac csmacintosh",
        "mac-cyrillic": "x-mac-ukrainian",
        "cp1252": "x-user-defined",
        "gb18030": "gb_2312 gb_2312-80 csgb2312",
        "big5hkscs": "cn-big5 x-x-big5",
        "euc_jp": "cseucpkdfmtjapanese",
        "cp932": "windows-31j ms_kanji",
        "cp949": "ksc_5601 ks_c_5601-1989 csksc56011987 cseuckr iso-ir-149",
    }.items()
    for label in labels.split()
}
"""Labels that Python does not know."""
_NOT_AS_ASCII = frozenset({"utf-16-le", "utf-16-be", "iso2022_jp"})
"""Encodings whose text may be valid UTF-8 that says something else."""

_META = re.compile(rb"<!--.*?(?:-->|\Z)|<meta[\s/]([^>]*)", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(rb"""(?<![a-z-])([a-z-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_CONTENT_CHARSET = re.compile(rb"""charset\s*=\s*["']?([^\s;"']+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([^"'>]+)""")
_PRESCAN = 65_536
"""Bytes in which a declaration is looked for. Browsers scan 1,024 ahead, and start again at a later one."""
_FEW = 3
"""Bad bytes that refute no declaration, however little else there is beyond ASCII."""

HTML_OPENING = r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*+<(?:!doctype\s+html|html"
"""Beginning of a page, as a regular expression without its end, `)\\b`, before which other tags may be added."""
_HTML = re.compile(
    rf"{HTML_OPENING}|head|body|title|meta|article|main|section|div|p|h1|table)\b", re.IGNORECASE | re.DOTALL
)
_HTML_ANYWHERE = re.compile(r"<(?:html|body)\b", re.IGNORECASE)
_XML = re.compile(r"\s*<\?xml\b|\s*<(?:rss|feed|svg|urlset)\b", re.IGNORECASE)
_HTML_SUFFIXES = (".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx")
_MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd")
_SNIFF = 4096
_BAD = "\ufffd"
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
    """Decode bytes as browsers do: by byte-order mark, else as declared beside them, else as declared in them.

    U+FFFD stands for what does not fit. In two cases the declaration does not count: bytes that are valid UTF-8 are
    UTF-8, and where most characters beyond ASCII do not fit, as where nothing is declared, the encoding is guessed.

    Args:
        data: any bytes.
        charset: label that the sender states beside the bytes.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return clean(data[len(mark) :].decode(encoding, "replace"))
    codec = (charset and codec_of(charset)) or _find_declared(data[:_PRESCAN])
    if codec not in _NOT_AS_ASCII:
        try:
            return clean(data.decode("utf-8"))
        except UnicodeDecodeError:
            pass
    text = data.decode(codec or "utf-8", "replace")
    n_bad = text.count(_BAD)
    n_good = len(text) - len(text.encode("ascii", "ignore")) - n_bad
    if n_bad <= n_good or (codec is not None and n_bad <= _FEW):
        return clean(text)
    best = from_bytes(data).best()
    return clean(str(best) if best is not None else text)


def codec_of(label: str) -> str | None:
    """Return Python's name of the encoding that a WHATWG label stands for; None for a label that is none."""
    label = label.strip().lower()
    for name in (_LABELS.get(label, label), label.removeprefix("x-"), f"cp{label.rpartition('-')[2]}"):
        try:
            found = codecs.lookup(re.sub(r"^iso(8859)(?=\d)", r"iso\1-", name)).name
        except (LookupError, ValueError):  # ValueError for a name that holds a NUL
            continue
        found = _SUPERSETS.get(found, found)
        if found in _CODECS:
            return found
    return None


def _find_declared(head: bytes) -> str | None:
    """Return the encoding that a page declares in its first `<meta>` that declares any, or in its XML declaration."""
    for match in _META.finditer(head):
        fields = {
            name.lower(): value.strip(b"\"' ") for name, value in _ATTRIBUTE.findall(match.group(1) or b"")
        }
        label = fields.get(b"charset")
        if label is None and fields.get(b"http-equiv", b"").lower() == b"content-type":
            found = _CONTENT_CHARSET.search(fields.get(b"content", b""))
            label = found and found.group(1)
        if label and (codec := codec_of(label.decode("latin-1"))):
            return _as_read(codec)
    xml = _XML_ENCODING.match(head)
    codec = xml and codec_of(xml.group(1).decode("latin-1"))
    return _as_read(codec) if codec else None


def _as_read(codec: str) -> str:
    """Return UTF-8 for UTF-16: a declaration that was read as ASCII is not in UTF-16."""
    return "utf-8" if codec.startswith("utf-16") else codec


def clean(text: str) -> str:
    r"""Newlines as `\n`, no NUL, no lone surrogates: text that SQLite, XML and UTF-8 all take."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8")
