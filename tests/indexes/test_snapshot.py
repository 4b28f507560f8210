"""Import, open, read, verify."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from indexes.archive.captures import read_captures
from indexes.archive.model import Capture
from indexes.archive.warc import ArchiveWriter
from indexes.errors import (
    DigestMismatch,
    ImportRefused,
    NotASnapshot,
    SnapshotError,
    SnapshotExists,
    SnapshotMissing,
    SnapshotTooNew,
)
from indexes.making import importing
from indexes.making.pagelist import PageEntry
from indexes.manifest import MANIFEST, sha256
from indexes.model import status_without_page
from indexes.search.errors import SearchError
from indexes.snapshot import Snapshot
from indexes.verify import verify

from .sealing import sealed_again

ROOT = Path(__file__).resolve().parents[2]
Line = dict[str, object]

import_pages = partial(
    importing.import_pages, workers=0
)  # no process of its own for each of these harmless pages


def html(words: str) -> bytes:
    return (
        f"<html><head><title>T</title></head><body><article><p>{words}</p></article></body></html>".encode()
    )


FILES = {
    "a.html": html("The firm sold 39,218 cars in 2019. It was a good year for all of them."),
    "b.html.gz": gzip.compress(html("A page that was kept packed, with words of its own.")),
    "c.md": b"# Notes\n\nFirst note. Second note.",
    "d.txt": "深度研究报告。引用的网页。".encode(),
    "e.html": b"<html><body></body></html>",
    "sub/f.png": b"\x89PNG\r\n\x1a\n",
    "denied.html": html("Please sign in to read what this page holds."),
}
LINES: list[Line] = [
    {"url": "https://example.org/a", "file": "a.html", "fetched": "2025-03-01T10:00:00Z", "text": "ignored"},
    {
        "url": "https://example.org/b?x=1",
        "file": "b.html.gz",
        "status": 200,
        "final_url": "https://example.net/moved",
    },
    {"url": "http://www.example.org/c/", "file": "c.md"},
    {"url": "https://example.org/d", "file": "d.txt", "status": "ok"},
    {"url": "https://example.org/e", "file": "e.html"},
    {"url": "https://example.org/f", "file": "sub/f.png"},
    {"url": "https://example.org/gone", "status": 404},
    {"url": "https://example.org/denied", "file": "denied.html", "status": 403},
    {"url": "https://example.org/lost", "status": "dead", "reason": "no such host"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "pages", LINES)


def make_folder(folder: Path, lines: list[Line]) -> Path:
    for name, data in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    write_list(folder, lines)
    return folder


def write_list(folder: Path, lines: list[Line]) -> None:
    (folder / "pages.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def snapshot(folder: Path, tmp_path: Path) -> Snapshot:
    import_pages(folder, tmp_path / "snap")
    return Snapshot.open(tmp_path / "snap")


def tree(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("status", "statuses"),
    [
        ("dead", (404, 410)),
        ("blocked", (401, 402, 403, 407, 418, 429, 451)),
        ("unavailable", (206, 304, 400, 405, 408, 500, 502, 503, 504, 520, 999)),
    ],
)
def test_only_a_page_that_is_not_there_is_dead(status: str, statuses: tuple[int, ...]) -> None:
    assert {status_without_page(number) for number in statuses} == {status}


def test_statuses_and_reasons(snapshot: Snapshot) -> None:
    found = {page.original_url: (page.status, page.reason) for page in snapshot.pages()}
    status, reason = found.pop("https://example.org/e")
    assert status == "empty" and "main text" in reason
    assert found == {
        "https://example.org/a": ("ok", ""),
        "https://example.org/b?x=1": ("ok", ""),
        "http://www.example.org/c/": ("ok", ""),
        "https://example.org/d": ("ok", ""),
        "https://example.org/f": ("unsupported_type", "image/png is not read"),
        "https://example.org/gone": ("dead", "HTTP 404"),
        "https://example.org/denied": ("blocked", "HTTP 403"),
        "https://example.org/lost": ("dead", "no such host"),
    }


def test_a_page_is_found_by_any_form_of_its_url(snapshot: Snapshot) -> None:
    page = snapshot.page("http://www.example.org/a/#part")
    assert page.text == "The firm sold 39,218 cars in 2019. It was a good year for all of them."
    assert (page.title, page.fetched) == ("T", "2025-03-01T10:00:00Z")
    assert snapshot.page("https://example.net/moved").original_url == "https://example.org/b?x=1"
    assert snapshot.page("https://example.org/c").text == "# Notes\n\nFirst note. Second note."


@pytest.mark.parametrize(
    "url", ["https://example.org/none", "not a url", "", "ftp://example.org/a", "http://[::1"]
)
def test_what_is_not_there(snapshot: Snapshot, url: str) -> None:
    page = snapshot.page(url)
    assert (page.status, page.original_url, page.text) == ("not_in_snapshot", url, "")
    assert snapshot.chunks(page) == ()
    assert snapshot.passages(page, ["cars"], 3) == [[]]


def test_raw_bytes_are_kept(snapshot: Snapshot) -> None:
    for line in LINES:
        page = snapshot.page(str(line["url"]))
        if "file" in line:
            data = FILES[str(line["file"])]
            assert snapshot.raw(page) == (
                gzip.decompress(data) if str(line["file"]).endswith(".gz") else data
            )
        else:
            assert snapshot.raw(page) == b""


def test_chunks_and_passages(snapshot: Snapshot) -> None:
    page = snapshot.page("https://example.org/a")
    for chunk in snapshot.chunks(page):
        assert page.text[chunk.start : chunk.end] == chunk.text
        assert chunk.id.startswith(page.text_digest[:12])
    [[first], [second]] = snapshot.passages(page, ["39218 cars", "zebra"], 5)
    assert first.score > 0 == second.score
    assert first.chunk.text == page.text


def test_info(snapshot: Snapshot) -> None:
    info = snapshot.info()
    assert info.n_pages == len(snapshot) == 9
    assert info.statuses == {"blocked": 1, "dead": 2, "empty": 1, "ok": 4, "unsupported_type": 1}
    assert info.media_types == {"text/html": 2, "text/markdown": 1, "text/plain": 1}
    assert info.n_chunks == 4
    assert info.digest == snapshot.digest
    assert set(info.extractor) >= {"trafilatura", "pypdfium2"}


def test_order_processes_and_repetition_change_no_page(folder: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    import_pages(folder, tmp_path / "one", progress=lambda done, total: seen.append((done, total)))
    write_list(folder, LINES[::-1])
    import_pages(folder, tmp_path / "two", workers=2)
    write_list(folder, LINES[4:] + LINES[:4])
    import_pages(folder, tmp_path / "three")
    one, two, three = (tree(tmp_path / name) for name in ("one", "two", "three"))
    for name in ("pages.jsonl", "texts.utf8"):
        assert one[name] == two[name] == three[name]
    assert len({Snapshot.open(tmp_path / name).digest for name in ("one", "two", "three")}) == 1
    write_list(folder, LINES)
    import_pages(folder, tmp_path / "again")
    assert tree(tmp_path / "again") == one  # not even of the archive
    assert seen == [(n, 9) for n in range(1, 10)]


def test_digest_covers_contents_and_not_the_clock(folder: Path, tmp_path: Path) -> None:
    first = import_pages(folder, tmp_path / "one")
    (folder / "c.md").write_bytes(b"# Notes\n\nFirst note. Second note!")
    assert import_pages(folder, tmp_path / "two").digest != first.digest
    assert "time" not in (tmp_path / "one" / MANIFEST).read_text()


def test_page_list_elsewhere(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "some.jsonl"
    other.write_text(json.dumps(LINES[0]) + "\n\n")
    assert import_pages(folder, tmp_path / "snap", pages=other).n_pages == 1


def test_same_bytes_under_one_url_are_one_page(folder: Path, tmp_path: Path) -> None:
    write_list(folder, [*LINES, {"url": "https://www.example.org/a/", "file": "a.html"}])
    assert import_pages(folder, tmp_path / "snap").n_pages == 9
    assert (
        Snapshot.open(tmp_path / "snap").page("https://example.org/a").original_url == "https://example.org/a"
    )


def test_different_pages_under_one_url_are_refused(folder: Path, tmp_path: Path) -> None:
    write_list(folder, [*LINES, {"url": "https://www.example.org/a/", "file": "c.md"}])
    with pytest.raises(
        ImportRefused, match=r"lines 1 and 10 of the page list give different pages for .*/a;"
    ):
        import_pages(folder, tmp_path / "snap")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pages"]


def test_a_redirect_shared_by_different_pages_names_none(folder: Path, tmp_path: Path) -> None:
    login = "https://example.org/login"
    lines: list[Line] = [
        {"url": "https://example.org/1", "file": "a.html", "final_url": login},
        {"url": "https://example.org/2", "file": "c.md", "final_url": login},
    ]
    write_list(folder, lines)
    import_pages(folder, tmp_path / "snap")
    assert Snapshot.open(tmp_path / "snap").page(login).status == "not_in_snapshot"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"url": "https://e.org/a", "file": "../secret"}', "file '../secret' leaves the folder"),
        ('{"url": "https://e.org/a", "file": "/etc/passwd"}', "file '/etc/passwd' leaves the folder"),
        ('{"url": "https://e.org/a", "file": "out.txt"}', "file 'out.txt' is a link that leaves the folder"),
        ('{"url": "https://e.org/a", "file": "a\\u0000"}', "leaves the folder"),
        ('{"url": "https://e.org/a", "file": "none.html"}', "no file 'none.html'"),
        ('{"url": "https://e.org/a", "file": "sub"}', "no file 'sub'"),
        ('{"url": "https://e.org/a"}', "an ok page needs a file"),
        ('{"url": "javascript:alert(1)", "file": "a.html"}', "not http or https"),
        ('{"url": "https://", "file": "a.html"}', "url 'https://'"),
        (
            f'{{"url": "https://e.org/{"a" * 70_000}", "text": "A."}}',
            "more than 65,536 characters",
        ),
        (
            f'{{"url": "https://e.org/a", "text": "A.", "title": "{"a" * 10_001}"}}',
            "title must have at most",
        ),
        ('{"file": "a.html"}', "url is missing"),
        ('{"url": "https://e.org/a", "file": "a.html", "status": "fine"}', "status must be"),
        ('{"url": "https://e.org/a", "file": "a.html", "fetched": "last week"}', "fetched: "),
        ("[1, 2]", "the line must be a mapping"),
        ('{"url": ', "not JSON in UTF-8"),
        ("[" * 100_000, "not JSON in UTF-8"),
        ('{"url": "https://e.org/a", "url": "https://e.org/b", "text": "A."}', "the key 'url' stands twice"),
    ],
)
def test_wrong_lines(folder: Path, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "secret.txt").write_text("not to be read")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "pages.jsonl").write_text(f"{json.dumps(LINES[0])}\n{line}\n")
    with pytest.raises(ImportRefused) as caught:
        import_pages(folder, tmp_path / "snap")
    text = str(caught.value)
    assert message in text
    assert "pages.jsonl:2: " in text
    assert "\n" not in text
    assert not (tmp_path / "snap").exists()


def test_lists_that_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="no folder at"):
        import_pages(tmp_path / "none", tmp_path / "snap")
    with pytest.raises(ImportRefused, match=r"cannot read the page list .*none\.jsonl"):
        import_pages(folder, tmp_path / "snap", pages=folder / "none.jsonl")
    (folder / "pages.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(ImportRefused, match=r"pages\.jsonl:1: not JSON in UTF-8"):
        import_pages(folder, tmp_path / "snap")
    (folder / "pages.jsonl").write_bytes(b"\n \n")
    with pytest.raises(ImportRefused, match="names no page"):
        import_pages(folder, tmp_path / "snap")


def test_a_bomb_is_one_page_that_is_not_read(folder: Path, tmp_path: Path) -> None:
    (folder / "a.html").write_bytes(gzip.compress(b"<p>" + b"\0" * 20_000_000, compresslevel=9))
    import_pages(folder, tmp_path / "snap")
    page = Snapshot.open(tmp_path / "snap").page("https://example.org/a")
    assert page.status == "unsupported_type"
    assert page.reason.startswith("gzip of 19,4") or "holds more than" in page.reason
    assert page.raw_digest == ""


def test_a_page_over_the_size_limit(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MAX_PAGE_BYTES", 120)
    import_pages(folder, tmp_path / "snap")
    page = Snapshot.open(tmp_path / "snap").page("https://example.org/a")
    assert (page.status, page.reason) == (
        "unsupported_type",
        f"the file has {len(FILES['a.html'])} bytes, more than 120",
    )


def test_very_even_pages_can_be_read_back(folder: Path, tmp_path: Path) -> None:
    """A plain file may pack better than what is let in packed."""
    (folder / "d.txt").write_bytes(b"a " * 1_000_000)
    import_pages(folder, tmp_path / "snap")
    found = Snapshot.open(tmp_path / "snap")
    assert len(found.raw(found.page("https://example.org/d"))) == 2_000_000
    assert verify(tmp_path / "snap").ok


def test_an_import_over_a_directory(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "snap"
    out.mkdir()
    first = import_pages(folder, out)  # an empty directory is no obstacle
    before = tree(out)
    assert import_pages(folder, out) == first  # the same again is left alone
    (folder / "c.md").write_bytes(b"other")
    with pytest.raises(SnapshotExists, match=f"holds snapshot {first.digest[:12]} and these pages make"):
        import_pages(folder, out)
    assert tree(out) == before
    (folder / "c.md").write_bytes(FILES["c.md"])
    (out / "texts.utf8").write_bytes(b"")
    with pytest.raises(SnapshotExists, match="holds this snapshot, but damaged"):
        import_pages(folder, out)
    (tmp_path / "file").write_text("x")
    with pytest.raises(SnapshotExists, match="exists and is not a snapshot"):
        import_pages(folder, tmp_path / "file")
    with pytest.raises(SnapshotExists, match="exists and is not a snapshot"):
        import_pages(folder, folder)


def test_an_interrupted_import_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_pages(folder, tmp_path / "snap", progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


def test_open_names_what_is_wrong(snapshot: Snapshot, tmp_path: Path) -> None:
    with pytest.raises(SnapshotMissing, match=r"no snapshot at .*/none"):
        Snapshot.open(tmp_path / "none")
    with pytest.raises(NotASnapshot, match=r"has no manifest\.json"):
        Snapshot.open(tmp_path / "pages")
    path = snapshot.path / MANIFEST
    good = path.read_text()
    for text, error, message in [
        ("{", NotASnapshot, "is not JSON"),
        ("[]", NotASnapshot, "is not the manifest"),
        ('{"format": "wheel", "format_version": 1}', NotASnapshot, "format 'wheel'"),
        (good.replace('"format_version": 2', '"format_version": 3'), SnapshotTooNew, "has format 3"),
        (good.replace('"format_version": 2', '"format_version": 1'), NotASnapshot, "has format 1"),
        (good.replace('"dead": 2', '"dead": "two"'), NotASnapshot, "statuses.dead must be"),
        (good.replace('"texts.utf8"', '"../texts.utf8"'), NotASnapshot, "leaves the snapshot"),
        (good.replace('"deduplicate": false', '"deduplicate": true'), DigestMismatch, "says digest"),
    ]:
        assert text != good
        path.write_text(text)
        with pytest.raises(error, match=message) as caught:
            Snapshot.open(snapshot.path)
        assert "\n" not in str(caught.value)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def test_verify_finds_a_changed_byte_in_any_file(snapshot: Snapshot, tmp_path: Path) -> None:
    report = verify(snapshot.path)
    assert report.ok
    assert (report.digest, report.n_files) == (
        snapshot.digest,
        11,
    )  # archive, its index, records, texts, words
    for name in sorted(tree(snapshot.path)):
        if name == MANIFEST:
            continue
        copy = tmp_path / "copy"
        shutil.copytree(snapshot.path, copy)
        _flip(copy / name)
        problems = verify(copy).problems
        assert (name, "wrong") in [(problem.path, problem.kind) for problem in problems]
        assert all(problem.path.startswith(name.partition("/")[0]) for problem in problems)
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"dead": 2', '"dead": 3'),
        ('"files": [', '"files":  ['),
        ('"digest": "', '"digest": "0'),
        ('"max_pdf_pages": 5000', '"max_pdf_pages": 5001'),
    ],
)
def test_verify_finds_a_changed_manifest(snapshot: Snapshot, old: str, new: str) -> None:
    path = snapshot.path / MANIFEST
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    assert [(p.path, p.kind) for p in verify(snapshot.path).problems] == [(MANIFEST, "wrong")]


def test_verify_names_missing_and_extra_files(snapshot: Snapshot) -> None:
    name = "archive/data-00000.warc.gz"
    (snapshot.path / name).unlink()
    (snapshot.path / "notes.txt").write_text("mine")
    problems = verify(snapshot.path).problems
    assert ("notes.txt", "extra") in [(p.path, p.kind) for p in problems]
    assert (name, "missing") in [(p.path, p.kind) for p in problems]
    assert next(p.detail for p in problems if p.path == "archive").endswith(" https://example.org/a")
    with pytest.raises(DigestMismatch, match=f"{name} is missing; run `snapshot verify`"):
        Snapshot.open(snapshot.path)


def test_verify_compares_the_archive_with_the_records(snapshot: Snapshot, tmp_path: Path) -> None:
    """An archive with one page altered, whose file the manifest was made to fit."""
    altered = tmp_path / "altered"
    with ArchiveWriter(altered) as archive:
        for stored in read_captures([snapshot.path / "archive/data-00000.warc.gz"], pytest.fail):
            capture = stored.capture
            if capture.imported is not None and capture.url == "https://example.org/d":
                other = capture.imported.model_copy(update={"data": "另一页。".encode()})
                capture = capture.model_copy(update={"imported": other})
            archive.write(capture)
    shutil.copy(altered / "data-00000.warc.gz", snapshot.path / "archive")
    sealed_again(snapshot.path)
    reopened = Snapshot.open(snapshot.path)  # the digest still holds: it is over pages and texts
    assert [(p.path, p.detail) for p in verify(snapshot.path).problems] == [
        ("archive", "it does not hold https://example.org/d")
    ]
    with pytest.raises(DigestMismatch, match="the archive has no record"):
        reopened.raw(reopened.page("https://example.org/d"))


def test_reading_checks_what_it_reads(snapshot: Snapshot) -> None:
    texts = snapshot.path / "texts.utf8"
    texts.write_bytes(texts.read_bytes().replace(b"Second", b"Fourth"))
    reopened = Snapshot.open(snapshot.path)  # sizes still fit
    with pytest.raises(DigestMismatch, match=r"the text of .*/c was altered"):
        reopened.page("https://example.org/c")
    assert reopened.page("https://example.org/a").status == "ok"
    archive = snapshot.path / "archive/data-00000.warc.gz"
    archive.write_bytes(archive.read_bytes()[:-1500])
    assert snapshot.raw(snapshot.page("https://example.org/a")) == FILES["a.html"]
    with pytest.raises(DigestMismatch, match="run `snapshot verify`"):
        for line in LINES:
            snapshot.raw(snapshot.page(str(line["url"])))


def test_cut_records_are_refused(snapshot: Snapshot) -> None:
    path = snapshot.path / "pages.jsonl"
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"ok"', b'"no"'))
    with pytest.raises(DigestMismatch, match=r"pages\.jsonl is not the file of the manifest"):
        Snapshot.open(snapshot.path)
    path.write_bytes(data[:-10])
    with pytest.raises(DigestMismatch, match=r"pages\.jsonl has [\d,]+ bytes, not"):
        Snapshot.open(snapshot.path)


@pytest.mark.parametrize("end", [b"", b" "])
def test_a_last_record_without_an_end_is_refused(snapshot: Snapshot, end: bytes) -> None:
    path = snapshot.path / "pages.jsonl"
    path.write_bytes(path.read_bytes().removesuffix(b"\n") + end)
    sealed_again(snapshot.path)
    with pytest.raises(NotASnapshot, match="is no record"):
        Snapshot.open(snapshot.path)
    assert "its last line has no end" in str(verify(snapshot.path).problems)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("offset", -5, "must be at least 0"),
        ("size", -1, "must be at least 0"),
        ("size", 10**18, "was altered"),
        ("chunks", [[-7, -3]], "no stretch of a text"),
        ("chunks", [[5, 2]], "no stretch of a text"),
        ("url", "http://[::1", "Invalid IPv6 URL"),
    ],
)
def test_records_that_name_no_place_are_refused(
    snapshot: Snapshot, field: str, value: object, said: str
) -> None:
    path = snapshot.path / "pages.jsonl"
    records = [json.loads(line) | {field: value} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    sealed_again(snapshot.path)
    with pytest.raises((NotASnapshot, DigestMismatch), match=said):
        list(Snapshot.open(snapshot.path).pages())
    assert not verify(snapshot.path).ok


def test_texts_that_are_no_utf8_are_refused(snapshot: Snapshot) -> None:
    data = b"\xff" * 100
    (snapshot.path / "texts.utf8").write_bytes(data)
    path = snapshot.path / "pages.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    place = {"offset": 0, "size": 100, "text_digest": sha256(data)}
    path.write_text("".join(json.dumps(one | place) + "\n" for one in records if one["text_digest"]))
    sealed_again(snapshot.path)
    with pytest.raises(DigestMismatch, match="is not UTF-8"):
        list(Snapshot.open(snapshot.path).pages())
    assert not verify(snapshot.path).ok


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("filename", "../../pipe", "names '../../pipe'"),
        ("filename", "data-00009.warc.gz", "names 'data-00009.warc.gz'"),
        ("offset", "-9", "a line cannot be read"),
        ("offset", "9" * 30, "a line cannot be read"),
    ],
)
def test_the_index_leads_to_no_other_file(snapshot: Snapshot, field: str, value: str, said: str) -> None:
    os.mkfifo(snapshot.path.parent / "pipe")
    os.mkfifo(snapshot.path / "archive/data-00009.warc.gz")
    path = snapshot.path / "indexes/index.cdxj"
    path.write_text(re.sub(f'"{field}": "[^"]*"', f'"{field}": "{value}"', path.read_text()))
    sealed_again(snapshot.path)
    opened = Snapshot.open(snapshot.path)
    with pytest.raises(DigestMismatch, match=said):
        opened.raw(opened.page("https://example.org/a"))


@pytest.mark.parametrize(
    "name", [MANIFEST, "pages.jsonl", "texts.utf8", "archive/data-00000.warc.gz", "search/bm25/index.json"]
)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(snapshot: Snapshot, name: str) -> None:
    (snapshot.path / name).unlink()
    os.mkfifo(snapshot.path / name)
    with pytest.raises((SnapshotError, SearchError)):
        Snapshot.open(snapshot.path).corpus().search(["tower"], 1)
    if name != MANIFEST:
        assert name in {problem.path for problem in verify(snapshot.path).problems}


def test_an_endless_page_list_is_refused(folder: Path, tmp_path: Path) -> None:
    with gzip.open(folder / "pages.jsonl", "wb") as packed:
        for _ in range(3):
            packed.write(b"\n" * 500_000)
    with pytest.raises(ImportRefused, match="more than 1,000,000 empty lines"):
        import_pages(folder, tmp_path / "snap")


def test_one_line_many_times_takes_no_longer_each_time() -> None:
    line = PageEntry(
        line=1, url="https://example.org/a", original_url="https://example.org/a", final_url=None, file=None,
        text=None, title="", fetched=None, status="dead", reason="",
    )  # fmt: skip
    capture = Capture(url=line.url, fetched=None, outcome="dead", reason="")
    seen = importing._Seen()  # pyright: ignore[reportPrivateUsage]
    begun = time.process_time()
    for number in range(30_000):
        seen.check(line.model_copy(update={"line": number}), capture)
    assert time.process_time() - begun < 10  # it took minutes
    seen.close()


DISK_FULL = """
import resource, signal, sys
from pathlib import Path
from indexes.errors import IndexesError
from indexes.making.importing import import_pages

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing fails as on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    import_pages(Path(sys.argv[1]), Path(sys.argv[2]), workers=0)
except IndexesError as error:
    print(error)
"""


@pytest.mark.parametrize("room", [1_000, 5_000, 20_000, 60_000])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, room: int) -> None:
    listed: list[Line] = [
        {"url": f"https://example.org/{n}", "text": f"Page {n} says that {n * 7919} is large."}
        for n in range(300)
    ]
    pages = tmp_path / "pages"
    pages.mkdir()
    write_list(pages, listed)
    command = [sys.executable, "-c", DISK_FULL, str(pages), str(tmp_path / "snap"), str(room)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert len(done.stdout.splitlines()) == 1
    assert re.search("no room left on the disk|is the disk full|File too large", done.stdout), done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pages"]


def test_a_url_of_ten_thousand_characters_is_a_page_like_others(tmp_path: Path) -> None:
    url = "https://example.org/" + "a" * 10_000
    write_list(tmp_path, [{"url": url, "text": "A page of a long name."}])
    import_pages(tmp_path, tmp_path / "snap", pages=tmp_path / "pages.jsonl")
    snapshot = Snapshot.open(tmp_path / "snap")
    assert snapshot.page(url).text == "A page of a long name."
    assert snapshot.raw(snapshot.page(url)) == b"A page of a long name."


def test_empty_files_and_an_empty_text_are_empty(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"")
    lines: list[Line] = [
        {"url": "https://example.org/a", "file": "a.html"},
        {"url": "https://example.org/b", "text": ""},
    ]
    write_list(tmp_path, lines)
    import_pages(tmp_path, tmp_path / "snap", pages=tmp_path / "pages.jsonl")
    assert Snapshot.open(tmp_path / "snap").manifest.statuses == {"empty": 2}
    assert verify(tmp_path / "snap").ok


def test_two_processes_do_not_make_one_snapshot(folder: Path, tmp_path: Path) -> None:
    def other(done: int, total: int) -> None:
        with pytest.raises(ImportRefused, match="another process is making"):
            import_pages(folder, tmp_path / "snap")

    import_pages(folder, tmp_path / "snap", progress=other)
    assert verify(tmp_path / "snap").ok


def test_a_search_opens_no_socket(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    [hits] = Snapshot.open(snapshot.path).corpus().search(["cars sold"], 3)
    assert [hit.url for hit in hits] == ["https://example.org/a"]
