"""Kinds and characters of hostile and ordinary files."""

from __future__ import annotations

import codecs

import pytest

from indexes.text.decode import clean, decode, sniff


@pytest.mark.parametrize(
    ("data", "name", "kind", "media_type"),
    [
        (b"<!DOCTYPE html><html><body>x</body></html>", "a.txt", "html", "text/html"),
        (b"<!-- saved --> <HTML><body>x", "noext", "html", "text/html"),
        (b'<?xml version="1.0"?><html xmlns="x"><body>x</body></html>', "a", "html", "text/html"),
        (b"%PDF-1.4\n%\xe2\xe3", "page.html", "pdf", "application/pdf"),
        (b"junk before\n%PDF-1.7", "a", "pdf", "application/pdf"),
        (b"# Title\n\nText with <b>html</b>.", "a.md", "markdown", "text/markdown"),
        (b"plain words < more", "a.txt", "text", "text/plain"),
        (b'{"a": [1, 2]}', "a", "json", "application/json"),
        (b"[1] a footnote, not JSON", "a", "text", "text/plain"),
        (b"\x89PNG\r\n\x1a\n....", "a.html", "unsupported", "image/png"),
        (b"PK\x03\x04....", "report.docx", "unsupported", "application/zip"),
        (b"<?xml version='1.0'?><rss><item/></rss>", "feed", "unsupported", "application/xml"),
        (bytes(range(1, 9)) * 50, "a.txt", "unsupported", "application/octet-stream"),
    ],
)
def test_kind_is_told_from_bytes(data: bytes, name: str, kind: str, media_type: str) -> None:
    assert sniff(data, name)[:2] == (kind, media_type)


def test_gz_suffix_is_looked_through() -> None:
    assert sniff(b"## h", "notes.md.gz")[0] == "markdown"


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + "Größe 中文".encode(),
        codecs.BOM_UTF16_LE + "Größe 中文".encode("utf-16-le"),
        codecs.BOM_UTF32_LE + "Größe 中文".encode("utf-32-le"),
        "Größe 中文".encode(),
    ],
)
def test_unicode_forms_give_the_same_text(data: bytes) -> None:
    assert decode(data) == "Größe 中文"


@pytest.mark.parametrize(
    ("declaration", "codec", "text"),
    [
        ('<meta charset="gb2312">', "gb18030", "深度研究报告的评估"),
        ("<meta charset=big5>", "big5hkscs", "深度研究報告"),
        ("<meta charset='EUC-JP'>", "euc_jp", "調査報告"),
        ("<meta charset=x-sjis>", "cp932", "①調査報告"),
        ('<meta content="text/html; charset=windows-1251" http-equiv=Content-Type>', "cp1251", "отчёт"),
        ("<meta name=a content='charset=utf-8'><META CHARSET=latin1 >", "cp1252", "Größe 3 €"),
        ('<?xml version="1.0" encoding="iso-8859-2"?>', "iso8859-2", "surówka na dziesiątej"),
        ("<!-- <meta charset=windows-1251> --><meta charset=windows-1252>", "cp1252", "Größe"),
        (f"<!-- {'-' * 3_000} --><meta charset=koi8-u>", "koi8-u", "звіт"),  # browsers start again there
        ("<meta charset=utf-16>", "utf-8", "Größe"),  # read as ASCII, so that it is not true
        ("", "utf-8", "Größe und Wärme"),
    ],
)
def test_a_bad_byte_costs_one_character(declaration: str, codec: str, text: str) -> None:
    """As in browsers: U+FFFD stands for a byte that no character of the declared encoding has."""
    # Unassigned, or the beginning of a character that a space does not end.
    bad = {"cp1251": b"\x98", "cp1252": b"\x81", "cp932": b"\x81", "utf-8": b"\xe2\x80"}.get(codec, b"\xff")
    page = f"{declaration}<p>{text}</p>".encode(codec)
    assert decode(page) == page.decode(codec)
    if codec not in ("koi8-u", "iso8859-2"):  # in these every byte is a character
        assert decode(page + b"<p>" + bad + b" z</p>") == f"{page.decode(codec)}<p>\ufffd z</p>"


def test_the_senders_label_precedes_the_pages() -> None:
    page = b"<meta charset=windows-1252><p>\xc0\xc1\xc2"
    assert decode(page).endswith("ÀÁÂ")
    assert decode(page, "windows-1251").endswith("АБВ")
    assert decode(page, "no-such-code").endswith("ÀÁÂ")
    assert decode("調査".encode("iso2022_jp"), "iso-2022-jp") == "調査"
    assert decode("調査".encode("utf-16-be"), "utf-16be") == "調査"


def test_wrongly_declared_charset_is_passed_over() -> None:
    # Bytes in windows-1252 under a declaration of UTF-8: 0xfc alone is no UTF-8.
    page = '<meta charset="utf-8"><p>Die Größe der Prüfung über viele Jahre, für alle Schüler.</p>'
    assert "Größe" in decode(page.encode("windows-1252"))
    # UTF-8 under a declaration of latin-1.
    page = '<meta charset="iso-8859-1"><p>Größe</p>'
    assert decode(page.encode()) == page
    assert decode(b'<meta charset="no-such-code">' + "Größe".encode("latin-1") * 20).count("Gr") == 20


def test_any_bytes_decode_to_writable_text() -> None:
    text = decode(bytes(range(256)) * 3)
    assert text.encode("utf-8")
    assert "\0" not in text


def test_clean() -> None:
    assert clean("a\r\nb\rc\0d\ud800") == "a\nb\ncd?"


@pytest.mark.parametrize("name", ["idna", "punycode", "unicode-escape", "raw_unicode_escape"])
def test_a_codec_that_is_no_charset_is_not_used(name: str) -> None:
    # Not UTF-8, so that the declaration is looked at; each of these codecs would read "\\x41" or the ACE label.
    data = f'<meta charset="{name}">\\x41 xn--bcher-kva '.encode() + b"caf\xe9"
    assert decode(data).startswith(f'<meta charset="{name}">\\x41 xn--bcher-kva caf')


@pytest.mark.parametrize(
    "charset", ["utf-16", "utf-32-be", "cp037", "no-such-charset", "hex", "utf-7", "x" * 40]
)
def test_a_charset_that_its_own_declaration_contradicts_is_passed_over(charset: str) -> None:
    page = f"<html><meta charset={charset}><p>Größe und Übermaß der café-Häuser in Köln</p>".encode(
        "windows-1252"
    )
    assert "Größe und Übermaß der café-Häuser in Köln" in decode(page)
