"""Export, import again, merge, compare: the same pages are the same snapshot, wherever they come from."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from indexes.archive import wacz
from indexes.archive.cdxj import sort_key, timestamp
from indexes.archive.model import Capture, Imported
from indexes.archive.signing import read_public_key
from indexes.archive.wacz import NO_DEMANDS, Trust
from indexes.compare import compare
from indexes.corpus import Filters
from indexes.errors import DigestMismatch, ImportRefused, MissingExtra, SnapshotExists
from indexes.making.exporting import export_wacz
from indexes.making.importing import import_archives, import_pages, make, merge_snapshots
from indexes.making.reindexing import reindex
from indexes.manifest import MANIFEST, FileEntry, hash_file, sha256
from indexes.search.encoder import EncoderIdentity, unit_vectors
from indexes.search.errors import IndexDamaged
from indexes.search.model import Vectors
from indexes.search.weights import Bm25Settings
from indexes.snapshot import Snapshot
from indexes.verify import verify
from indexes.websearch import SEARCHES, WebResult, WebSearch, found_pages, read_searches, render_search

from ..sealing import sealed_again

PAGES: dict[str, dict[str, object]] = {
    "a": {
        "url": "https://example.org/a",
        "text": "The tower is 93 m high.",
        "title": "Tower",
        "fetched": "2025-01-01",
    },
    "b": {"url": "https://example.org/b", "text": "The river is 12 km long."},
    "gone": {"url": "https://example.org/gone", "status": 410},
    "later": {
        "url": "https://example.org/a",
        "text": "The tower is 95 m high.",
        "fetched": "2025-06-01T12:30:00+02:00",
    },
}


def snapshot(folder: Path, name: str, *pages: str) -> Snapshot:
    listed = folder / f"{name}.jsonl"
    listed.write_text("".join(json.dumps(PAGES[page]) + "\n" for page in pages), encoding="utf-8")
    import_pages(folder, folder / name, pages=listed, workers=0)
    return Snapshot.open(folder / name)


def test_an_exported_snapshot_comes_back_the_same(tmp_path: Path) -> None:
    first = snapshot(tmp_path, "first", "a", "b", "gone", "later")
    export_wacz(first, tmp_path / "first.wacz")
    import_archives([tmp_path / "first.wacz"], tmp_path / "back", warn=pytest.fail, workers=0)
    assert Snapshot.open(tmp_path / "back").digest == first.digest
    assert verify(tmp_path / "back").ok
    for name in ("pages.jsonl", "texts.utf8", "archive/data-00000.warc.gz", "indexes/index.cdxj"):
        assert (tmp_path / "back" / name).read_bytes() == (first.path / name).read_bytes()
    with pytest.raises(SnapshotExists, match="choose another name"):
        export_wacz(first, tmp_path / "first.wacz")


def test_the_layout_of_a_wacz(tmp_path: Path) -> None:
    """Names, digests and page list as https://specs.webrecorder.net/wacz/1.1.1/ wants them."""
    export_wacz(snapshot(tmp_path, "first", "a", "gone"), tmp_path / "one.wacz", title="Two pages")
    export_wacz(Snapshot.open(tmp_path / "first"), tmp_path / "two.wacz", title="Two pages")
    assert (tmp_path / "one.wacz").read_bytes() == (tmp_path / "two.wacz").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.wacz") as packed:
        names = packed.namelist()
        package = json.loads(packed.read("datapackage.json"))
        lines = [json.loads(line) for line in packed.read("pages/pages.jsonl").splitlines()]
        assert packed.getinfo("archive/data-00000.warc.gz").compress_type == zipfile.ZIP_STORED
    assert names == [
        "archive/data-00000.warc.gz",
        "indexes/index.cdx",
        "pages/pages.jsonl",
        "datapackage.json",
        "datapackage-digest.json",
    ]
    assert (package["profile"], package["wacz_version"], package["title"]) == (
        "data-package",
        "1.1.1",
        "Two pages",
    )
    assert package["created"] == "2025-01-01T00:00:00Z"
    assert [entry["path"] for entry in package["resources"]] == names[:3]
    assert lines[0]["format"] == "json-pages-1.0"
    assert (lines[1]["url"], lines[1]["ts"], lines[1]["title"], lines[1]["text"]) == (
        "https://example.org/a",
        "2025-01-01T00:00:00Z",
        "Tower",
        "The tower is 93 m high.",
    )
    assert len(lines) == 2


def test_a_wacz_that_was_altered_is_refused(tmp_path: Path) -> None:
    export_wacz(snapshot(tmp_path, "first", "a"), tmp_path / "good.wacz")
    export_wacz(snapshot(tmp_path, "other", "b"), tmp_path / "other.wacz")
    with zipfile.ZipFile(tmp_path / "good.wacz") as good, zipfile.ZipFile(tmp_path / "other.wacz") as other:
        with zipfile.ZipFile(tmp_path / "bad.wacz", "w") as bad:
            for name in good.namelist():
                bad.writestr(name, (other if name.startswith("archive/") else good).read(name))
        with zipfile.ZipFile(tmp_path / "none.wacz", "w") as none:
            none.writestr("../../evil.warc.gz", b"x")
    with pytest.raises(
        ImportRefused, match=r"archive/data-00000\.warc\.gz is not the file that datapackage\.json"
    ):
        import_archives([tmp_path / "bad.wacz"], tmp_path / "snap", warn=pytest.fail)
    with pytest.raises(ImportRefused, match="is not a name inside the archive"):
        import_archives([tmp_path / "none.wacz"], tmp_path / "snap", warn=pytest.fail)
    data = (tmp_path / "good.wacz").read_bytes()
    (tmp_path / "cut.wacz").write_bytes(data[: len(data) // 2])
    with pytest.raises(ImportRefused, match=r"cut\.wacz is no zip file, or is cut off"):
        import_archives([tmp_path / "cut.wacz"], tmp_path / "snap", warn=pytest.fail)
    assert not (tmp_path / "snap").exists()


def test_a_zip_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.wacz", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("archive/data.warc", b"\0" * 50_000_000)
    with pytest.raises(ImportRefused, match=r"archive/data\.warc of [\d,]+ bytes unpacks to more than"):
        import_archives([tmp_path / "bomb.wacz"], tmp_path / "snap", warn=pytest.fail)


def test_a_page_that_repeats_itself_comes_back(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/a.txt").write_text("The lake froze. " * 120_000)
    (tmp_path / "pages/pages.jsonl").write_text('{"url": "https://a.example/x", "file": "a.txt"}\n')
    import_pages(tmp_path / "pages", tmp_path / "first", workers=0)
    export_wacz(Snapshot.open(tmp_path / "first"), tmp_path / "first.wacz")
    with zipfile.ZipFile(tmp_path / "first.wacz") as packed:
        entry = packed.getinfo("pages/pages.jsonl")
        assert entry.file_size > 200 * entry.compress_size
    import_archives([tmp_path / "first.wacz"], tmp_path / "again", warn=pytest.fail, workers=0)
    assert Snapshot.open(tmp_path / "again").digest == Snapshot.open(tmp_path / "first").digest


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ("_MOST_TEXT", "unpacks to more than 1,000,000 bytes"),
        ("_MOST_LINE", "a line of more than 1,000,000 bytes"),
    ],
)
def test_a_page_list_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, message: str
) -> None:
    monkeypatch.setattr(wacz, bound, 1_000_000)
    snapshot(tmp_path, "first", "a")
    with zipfile.ZipFile(tmp_path / "list.wacz", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(next((tmp_path / "first/archive").iterdir()), "archive/data.warc.gz")
        packed.writestr("pages/pages.jsonl", b" " * 2_000_000)
    with pytest.raises(ImportRefused, match=message):
        import_archives([tmp_path / "list.wacz"], tmp_path / "snap", warn=pytest.fail)


def test_merging_is_the_union_in_any_order(tmp_path: Path) -> None:
    whole = snapshot(tmp_path, "whole", "a", "b", "gone", "later")
    snapshot(tmp_path, "left", "a", "gone", "b")
    snapshot(tmp_path, "right", "later", "b")
    merge_snapshots([tmp_path / "left", tmp_path / "right"], tmp_path / "one", workers=0)
    merge_snapshots([tmp_path / "right", tmp_path / "left"], tmp_path / "two", workers=0)
    assert Snapshot.open(tmp_path / "one").digest == Snapshot.open(tmp_path / "two").digest == whole.digest


def test_the_latest_text_is_found_and_an_earlier_one_by_its_day(tmp_path: Path) -> None:
    found = snapshot(tmp_path, "snap", "a", "later")
    url = "https://example.org/a"
    assert found.page(url).text == "The tower is 95 m high."
    assert found.page(url).fetched == "2025-06-01T10:30:00Z"
    assert found.page(url, as_of=date(2025, 5, 31)).text == "The tower is 93 m high."
    assert found.page(url, as_of=date(2025, 6, 1)).text == "The tower is 95 m high."
    before = found.page(url, as_of=date(2024, 12, 31))
    assert (before.status, before.reason) == ("not_in_snapshot", "not known by 2024-12-31")


def test_a_day_sees_what_was_fetched_by_then_before_what_says_it_was_published(tmp_path: Path) -> None:
    """A page that was rewritten and kept its date must not show its later text to an earlier day."""
    folder = tmp_path / "pages"
    folder.mkdir()
    template = (
        '<html><head><meta property="article:published_time" content="2020-01-02"></head><body><article>'
        "<p>The tower is {} m high, says the council of the town today.</p></article></body></html>"
    )
    (folder / "old.html").write_text(template.format(93))
    (folder / "new.html").write_text(template.format(95))
    lines = [
        {"url": "https://example.org/t", "file": "old.html", "fetched": "2021-01-01"},
        {"url": "https://example.org/t", "file": "new.html", "fetched": "2025-01-01"},
    ]
    (folder / "pages.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_pages(folder, tmp_path / "snap", workers=0)
    found = Snapshot.open(tmp_path / "snap")
    for day, height in ((date(2020, 6, 1), "95"), (date(2022, 1, 1), "93"), (date(2025, 1, 1), "95")):
        text = found.page("https://example.org/t", as_of=day).text
        assert f"is {height} m high" in text, day
        [hits] = found.corpus().search(["tower council"], 5, filters=Filters(as_of=day))
        assert [f"is {height} m" in hit.chunk.text for hit in hits] == [True]
    assert found.page("https://example.org/t", as_of=date(2019, 1, 1)).status == "not_in_snapshot"
    assert found.corpus().search(["tower"], 5, filters=Filters(as_of=date(2019, 1, 1))) == [[]]


def test_a_page_does_not_vouch_for_a_day_before_its_last_change(tmp_path: Path) -> None:
    """A wiki's page was made in 2003 and says that its text is of 2020."""
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "wiki.html").write_text(
        '<html><head><script type="application/ld+json">{"datePublished": "2003-02-28T10:00:00Z"}</script></head>'
        "<body><article><p>The tower is 93 m high, says the council of the town today.</p></article>"
        "<footer>This page was last edited on 24 February 2020.</footer></body></html>"
    )
    line = {"url": "https://example.org/t", "file": "wiki.html", "fetched": "2025-01-01"}
    (folder / "pages.jsonl").write_text(json.dumps(line))
    import_pages(folder, tmp_path / "snap", workers=0)
    found = Snapshot.open(tmp_path / "snap")
    page = found.page("https://example.org/t")
    assert (page.published, page.changed) == ("2003-02-28", "2020-02-24")
    for day, known in ((date(2004, 1, 1), False), (date(2020, 2, 23), False), (date(2020, 2, 24), True)):
        assert (found.page("https://example.org/t", as_of=day).status == "ok") == known
        [hits] = found.corpus().search(["tower council"], 5, filters=Filters(as_of=day))
        assert len(hits) == known


def test_a_text_that_several_addresses_have_is_found_once(tmp_path: Path) -> None:
    lines = [
        {"url": f"https://{name}.org/", "text": text}
        for name, text in (
            ("c", "The tower is 93 m high."),
            ("a", "The tower is 93 m high."),
            ("b", "A tower of glass."),
        )
    ]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_pages(tmp_path, tmp_path / "snap", pages=tmp_path / "list.jsonl", workers=0)
    found = Snapshot.open(tmp_path / "snap")
    corpus = found.corpus()
    assert [hit.url for hit in corpus.search(["tower high"], 5)[0]] == ["https://a.org", "https://b.org"]
    only_c = corpus.search(["tower high"], 5, filters=Filters(hosts=("c.org",)))
    assert [hit.url for hit in only_c[0]] == ["https://c.org"]
    assert [corpus.shown_as(found.page(f"https://{name}.org")) for name in "abc"] == [
        "https://a.org",
        "https://b.org",
        "https://a.org",
    ]


def test_an_address_met_in_two_snapshots_is_found_in_their_merger(tmp_path: Path) -> None:
    for name, text, fetched in (("x", "First text.", "2024-01-01"), ("y", "Second text.", "2025-01-01")):
        line = {
            "url": f"https://{name}.org/",
            "text": text,
            "fetched": fetched,
            "final_url": "https://a.org/",
        }
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
        import_pages(tmp_path, tmp_path / name, pages=tmp_path / f"{name}.jsonl", workers=0)
    merge_snapshots([tmp_path / "x", tmp_path / "y"], tmp_path / "both", workers=0)
    both = Snapshot.open(tmp_path / "both")
    assert both.page("https://a.org").text == "Second text."
    assert both.page("https://a.org", as_of=date(2024, 6, 1)).text == "First text."


def test_a_merger_holds_the_searches_of_both_for_a_page_that_both_found(tmp_path: Path) -> None:
    searches = [
        WebSearch(query=query, at=f"2026-01-31T12:00:0{second}Z", results=(WebResult(rank=rank, url=url),))
        for second, query, rank, url in (
            (2, "mill", 4, "https://a.org/ice"),
            (1, "ice", 2, "https://a.org/ice"),
        )
    ]
    page = Imported(url="https://a.org/ice", data=b"Ice.", media_type="text/plain")
    for name, search in zip("xy", searches, strict=True):
        [(url, found_by)] = found_pages([search], 1).items()
        one = Capture(
            url=url, fetched="2026-01-31T13:00:00Z", outcome="page", imported=page, found_by=found_by
        )
        make(
            lambda one=one: iter([one]),
            tmp_path / name,
            progress=None,
            total=1,
            workers=0,
            notes={SEARCHES: render_search(search)},
        )
    for order in ("xy", "yx"):
        merge_snapshots([tmp_path / name for name in order], tmp_path / order, workers=0)
        merged = Snapshot.open(tmp_path / order)
        assert [(one.query, one.rank) for one in merged.page("https://a.org/ice").found_by] == [
            ("ice", 2),
            ("mill", 4),
        ]
        assert list(read_searches(tmp_path / order / SEARCHES)) == searches[::-1]
        assert len(merged) == 1
    assert Snapshot.open(tmp_path / "xy").digest == Snapshot.open(tmp_path / "yx").digest
    stored = tmp_path / "x" / SEARCHES
    stored.write_text(stored.read_text().replace("mill", "MILL"))
    with pytest.raises(DigestMismatch, match=f"{SEARCHES} is not"):
        merge_snapshots([tmp_path / "x", tmp_path / "y"], tmp_path / "tampered", workers=0)


def test_a_killed_index_leaves_a_snapshot_that_opens_and_is_mended(tmp_path: Path) -> None:
    first = snapshot(tmp_path, "first", "a", "b")

    class Killed(BaseException):
        pass

    def words(folder: Path, *_: object) -> None:
        (folder / "search/bm25/index.json").unlink()
        raise Killed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr("indexes.making.reindexing.index_words", words)
        reindex(first.path, words=Bm25Settings())
    assert Snapshot.open(first.path).digest == first.digest
    with pytest.raises(IndexDamaged, match="build it again with `snapshot index`"):
        Snapshot.open(first.path).corpus()
    assert not verify(first.path).ok
    reindex(first.path, words=Bm25Settings(k1=0.9))
    assert verify(first.path).ok
    assert Snapshot.open(first.path).digest == first.digest
    assert len(Snapshot.open(first.path).corpus().search(["tower"], 3)[0]) == 1


@pytest.mark.parametrize(
    "name",
    [
        "bm25/params.index.json",
        "bm25/vocab.index.json",
        "bm25/data.csc.index.npy",
        "bm25/indices.csc.index.npy",
        "bm25/indptr.csc.index.npy",
        "bm25/index.json",
        "pages.npy",
    ],
)
def test_one_changed_bit_of_an_index_is_named(tmp_path: Path, name: str) -> None:
    first = snapshot(tmp_path, "first", "a", "b")
    path = first.path / "search" / name
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        IndexDamaged, match=f"{name} is not the file of the manifest; make it again with `snap"
    ):
        Snapshot.open(first.path).corpus()


class Lengths:
    """A real embedding, if a poor one."""

    dimension = 2
    identity = EncoderIdentity(model="lengths", revision="1")

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return unit_vectors([[len(text), 9.0] for text in texts], len(texts), "lengths")

    encode_queries = encode_documents


def test_vectors_are_compared_when_they_are_first_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing takes about two seconds a gigabyte, which a search by words does not pay for them."""
    first = snapshot(tmp_path, "first", "a", "b")
    reindex(first.path, encoder=Lengths())
    hashed: list[str] = []

    def noted(path: Path) -> FileEntry:
        hashed.append(path.relative_to(first.path).as_posix())
        return hash_file(path)

    monkeypatch.setattr("indexes.snapshot.hash_file", noted)
    vectors = first.path / "search/dense/vectors.f32"
    data = bytearray(vectors.read_bytes())
    data[0] ^= 1
    vectors.write_bytes(data)
    found = Snapshot.open(first.path)
    assert found.corpus(encoder=Lengths()).search(["tower"], 3)[0]
    assert "search/dense/vectors.f32" not in hashed
    with pytest.raises(IndexDamaged, match=r"vectors\.f32 is not .*--dense"):
        found.corpus(encoder=Lengths()).search(["tower"], 3, mode="dense")
    assert len(hashed) == len(set(hashed))  # once for each opened snapshot


def test_a_fetch_that_was_begun_is_not_taken_for_litter(tmp_path: Path) -> None:
    (tmp_path / ".snap.fetch.db").touch()
    (tmp_path / ".snap.part/archive").mkdir(parents=True)
    with pytest.raises(ImportRefused, match=r"a fetch into .*snap was begun and is not whole; go on with it"):
        snapshot(tmp_path, "snap", "a")
    assert (tmp_path / ".snap.part/archive").is_dir()


def test_a_damaged_archive_is_not_exported(tmp_path: Path) -> None:
    first = snapshot(tmp_path, "first", "a")
    archive = first.path / "archive/data-00000.warc.gz"
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(bytes(data))
    with pytest.raises(DigestMismatch, match=r"data-00000\.warc\.gz is not the file of the manifest"):
        export_wacz(first, tmp_path / "first.wacz")
    assert not list(tmp_path.glob("*.wacz*"))


def test_a_later_failure_hides_no_text(tmp_path: Path) -> None:
    listed = tmp_path / "list.jsonl"
    lines = [PAGES["a"], {"url": "https://example.org/a", "status": 503, "fetched": "2025-12-01"}]
    listed.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    import_pages(tmp_path, tmp_path / "snap", pages=listed, workers=0)
    assert Snapshot.open(tmp_path / "snap").page("https://example.org/a").status == "ok"


def test_differences_are_named_once(tmp_path: Path) -> None:
    first = snapshot(tmp_path, "first", "a", "b")
    second = snapshot(tmp_path, "second", "later", "gone", "b")
    found = compare(first, second)
    assert not found.equal
    assert found.settings == ()
    assert [(page.url[-4:], page.kind, page.first, page.second) for page in found.pages] == [
        ("rg/a", "bytes", "ok", "ok"),
        ("gone", "added", None, "dead"),
    ]
    assert [page.kind for page in compare(second, first).pages] == ["bytes", "removed"]
    shutil.copytree(first.path, tmp_path / "copy")
    assert compare(first, Snapshot.open(tmp_path / "copy")).equal


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.Example.org:443/A/b/?z=1&a=2", "org,example)/a/b?a=2&z=1"),
        ("http://www2.example.org", "org,example)/"),
        ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
        ("http://[::1]/x y", "::1)/x%20y"),
        ("urn:rendered:http://example.org/", "urn:rendered:org,example)/"),
        ("http://www.org/", "org)/"),
        ("http://example.org/x//y/", "org,example)/x/y"),
        ("http://example.org/%7Efoo/ü?", "org,example)/~foo/%c3%bc"),
        ("http://example.org/%25/%23", "org,example)/%25/%23"),
    ],
)
def test_keys_of_the_index(url: str, key: str) -> None:
    assert sort_key(url) == key


def test_times_of_the_index() -> None:
    assert timestamp("2026-01-31T12:00:59Z") == "20260131120059"
    assert timestamp("2026-01-31T12:00:59.123456Z") == "20260131120059"


def repacked(path: Path, out: Path, change: dict[str, bytes | None], *, honest: bool = False) -> Path:
    """A WACZ with other contents; `honest` gives datapackage.json the digests of what is there then."""
    with zipfile.ZipFile(path) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    files = {name: data for name, data in (files | change).items() if data is not None}
    if honest:
        package = json.loads(files["datapackage.json"])
        for entry in package["resources"]:
            entry["hash"] = f"sha256:{sha256(files[entry['path']])}"
        files["datapackage.json"] = json.dumps(package).encode()
        said = json.loads(files["datapackage-digest.json"])
        said["hash"] = f"sha256:{sha256(files['datapackage.json'])}"
        files["datapackage-digest.json"] = json.dumps(said).encode()
    with zipfile.ZipFile(out, "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return out


def imported(path: Path, out: Path, trust: Trust = NO_DEMANDS) -> list[str]:
    said: list[str] = []
    import_archives([path], out, warn=said.append, workers=0, trust=trust)
    return said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pages/pages.jsonl": b"{}"}, r"pages/pages\.jsonl is not the file that datapackage\.json names"),
        ({"indexes/index.cdx": b""}, r"indexes/index\.cdx is not the file that datapackage\.json names"),
        ({"indexes/index.cdx": None}, r"indexes/index\.cdx is missing, and datapackage\.json names it"),
        ({"archive/more.warc.gz": b""}, r"archive/more\.warc\.gz is not among the files that datapackage"),
        (
            {"datapackage.json": b'{"resources": []}'},
            r"datapackage\.json is not the file that datapackage-dig",
        ),
        (
            {"datapackage-digest.json": b"["},
            r"datapackage\.json is not the file that datapackage-digest\.json",
        ),
        ({"datapackage.json": b"[" * 100_000}, r"datapackage\.json does not list files with their digests"),
    ],
)
def test_an_altered_wacz_is_refused(tmp_path: Path, change: dict[str, bytes | None], why: str) -> None:
    export_wacz(snapshot(tmp_path, "first", "a"), tmp_path / "first.wacz")
    altered = repacked(tmp_path / "first.wacz", tmp_path / "altered.wacz", change)
    with pytest.raises(ImportRefused, match=why):
        imported(altered, tmp_path / "back")


@pytest.fixture(params=["P-256", "P-384", "P-521"])
def key_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    curve = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1, "P-521": ec.SECP521R1}[request.param]
    path = tmp_path / "key.pem"
    key = ec.generate_private_key(curve())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path


def test_a_signature_is_verified(tmp_path: Path, key_file: Path) -> None:
    """The anonymous form of https://specs.webrecorder.net/wacz-auth/0.1.0/."""
    export_wacz(snapshot(tmp_path, "first", "a"), tmp_path / "signed.wacz", key_file=key_file)
    with zipfile.ZipFile(tmp_path / "signed.wacz") as packed:
        said = json.loads(packed.read("datapackage-digest.json"))
    data = said["signedData"]
    assert data.keys() == {"hash", "created", "software", "version", "signature", "publicKey"}
    assert (data["hash"], data["version"]) == (said["hash"], "0.1.0")
    [line] = imported(tmp_path / "signed.wacz", tmp_path / "back")
    assert line.endswith(f"is signed, and the signature holds; public key {data['publicKey']}")
    imported(tmp_path / "signed.wacz", tmp_path / "by key", Trust(True, data["publicKey"]))
    assert read_public_key(data["publicKey"]) == data["publicKey"]
    other = base64.b64encode(
        ec.generate_private_key(ec.SECP256R1())
        .public_key()
        .public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    ).decode()
    with pytest.raises(ImportRefused, match="is signed by another key: "):
        imported(tmp_path / "signed.wacz", tmp_path / "no", Trust(True, other))
    forged = repacked(tmp_path / "signed.wacz", tmp_path / "f.wacz", {"indexes/index.cdx": b""}, honest=True)
    with pytest.raises(ImportRefused, match="its signature does not hold: it is of another package"):
        imported(forged, tmp_path / "no")
    for changed, why in (
        (
            {"signature": base64.b64encode(b"\1" * len(base64.b64decode(data["signature"]))).decode()},
            "not by",
        ),
        ({"signature": "%%"}, "not base64"),
        ({"publicKey": base64.b64encode(b"no key").decode()}, "does not hold"),
        ({"publicKey": 7}, "no key or no signature"),
        ({"extra": ""}, "properties"),
    ):
        digest = json.dumps(said | {"signedData": data | changed}).encode()
        path = repacked(tmp_path / "signed.wacz", tmp_path / "f.wacz", {"datapackage-digest.json": digest})
        with pytest.raises(ImportRefused, match=why):
            imported(path, tmp_path / "no")


def test_what_cannot_be_verified_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_wacz(snapshot(tmp_path, "first", "a"), tmp_path / "first.wacz")
    with pytest.raises(ImportRefused, match="is not signed; import it without asking for a signature"):
        imported(tmp_path / "first.wacz", tmp_path / "no", Trust(True))
    with zipfile.ZipFile(tmp_path / "first.wacz") as packed:
        said = json.loads(packed.read("datapackage-digest.json"))
    domain = said | {"signedData": {"hash": said["hash"], "domain": "example.org", "domainCert": "x"}}
    change: dict[str, bytes | None] = {"datapackage-digest.json": json.dumps(domain).encode()}
    path = repacked(tmp_path / "first.wacz", tmp_path / "domain.wacz", change)
    [line] = imported(path, tmp_path / "domain")
    assert line.endswith(
        "was not verified: it is by a domain's certificate, which cannot be verified offline"
    )
    with pytest.raises(ImportRefused, match="its signature was not verified"):
        imported(path, tmp_path / "no", Trust(True))
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    with pytest.raises(MissingExtra, match=r"signatures need cryptography: .*pip install"):
        export_wacz(Snapshot.open(tmp_path / "first"), tmp_path / "signed.wacz", key_file=tmp_path / "key")
    assert not (tmp_path / "signed.wacz").exists()


@pytest.mark.parametrize("content", [b"", b"no key", None])
def test_a_file_that_is_no_key(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    first = snapshot(tmp_path, "first", "a")
    with pytest.raises(ImportRefused, match=r"key: (cannot be read|not a private key for ECDSA in PEM)"):
        export_wacz(first, tmp_path / "signed.wacz", key_file=tmp_path / "key")


def test_a_file_beside_the_archive_brings_no_page_in(tmp_path: Path) -> None:
    first, other = snapshot(tmp_path, "first", "a"), snapshot(tmp_path, "other", "b")
    shutil.copy(other.path / "archive/data-00000.warc.gz", first.path / "archive/data-00009.warc.gz")
    with pytest.raises(DigestMismatch, match=r"data-00009\.warc\.gz is not"):
        merge_snapshots([first.path], tmp_path / "merged", workers=0)
    with pytest.raises(DigestMismatch, match=r"data-00009\.warc\.gz is not"):
        export_wacz(first, tmp_path / "out.wacz")
    assert not (tmp_path / "merged").exists() and not (tmp_path / "out.wacz").exists()


def test_a_zip_that_breaks_its_own_rules_is_refused(tmp_path: Path) -> None:
    warc = (snapshot(tmp_path, "first", "a").path / "archive/data-00000.warc.gz").read_bytes()
    name = b"archive/data-00000.warc.gz"
    with zipfile.ZipFile(tmp_path / "names.wacz", "w") as packed:
        packed.writestr(name.decode(), warc)
        packed.writestr("\u00e9", b"")
    data = (tmp_path / "names.wacz").read_bytes()
    (tmp_path / "names.wacz").write_bytes(data.replace("\u00e9".encode(), b"\xff\xfe"))
    with pytest.raises(ImportRefused, match="damaged zip"):
        import_archives([tmp_path / "names.wacz"], tmp_path / "snap", warn=pytest.fail, workers=0)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_method_that_unpacks_without_bounds_is_refused(tmp_path: Path, method: int) -> None:
    """By bzip2, 240 bytes are 300 MB, which zipfile unpacks in one piece."""
    warc = (snapshot(tmp_path, "first", "a").path / "archive/data-00000.warc.gz").read_bytes()
    with zipfile.ZipFile(tmp_path / "odd.wacz", "w") as packed:
        packed.writestr("archive/data-00000.warc.gz", warc)
        packed.writestr("more", b"\0" * 10_000_000, compress_type=method)
    with pytest.raises(ImportRefused, match="'more' is compressed in a way that is not read"):
        import_archives([tmp_path / "odd.wacz"], tmp_path / "snap", warn=pytest.fail, workers=0)


def test_many_files_in_a_wacz_take_time_by_their_number(tmp_path: Path) -> None:
    """40,000 took 14 s, by a search of a list for each."""
    warc = (snapshot(tmp_path, "first", "a").path / "archive/data-00000.warc.gz").read_bytes()
    files = {"archive/data-00000.warc.gz": warc} | {f"more/{number:06}": b"" for number in range(40_000)}
    listed = [{"path": name, "hash": f"sha256:{sha256(data)}"} for name, data in files.items()]
    with zipfile.ZipFile(tmp_path / "many.wacz", "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)
        packed.writestr("datapackage.json", json.dumps({"resources": listed}))
    begun = time.process_time()
    with wacz.open_archives(tmp_path / "many.wacz", lambda _: None) as found:
        assert len(found.warcs) == 1
    assert time.process_time() - begun < 8


def test_a_digest_that_is_not_compared_is_named(tmp_path: Path) -> None:
    warc = (snapshot(tmp_path, "first", "a").path / "archive/data-00000.warc.gz").read_bytes()
    listed = {"resources": [{"path": "archive/data-00000.warc.gz", "hash": "md5:00"}]}
    with zipfile.ZipFile(tmp_path / "md5.wacz", "w") as packed:
        packed.writestr("archive/data-00000.warc.gz", warc)
        packed.writestr("datapackage.json", json.dumps(listed))
    said: list[str] = []
    import_archives([tmp_path / "md5.wacz"], tmp_path / "snap", warn=said.append, workers=0)
    assert ["'md5:00'" in one for one in said] == [False, True]
    assert "datapackage-digest.json is not in the file" in said[0]


@pytest.mark.parametrize(
    "name",
    [
        f".{MANIFEST}.part",
        "search",
        "search/pages.npy.part",
        "search/pages.npy",
        "search/.bm25.part",
        "search/bm25",
    ],
)
def test_an_index_is_not_written_through_a_link(tmp_path: Path, name: str) -> None:
    first = snapshot(tmp_path, "first", "a")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").write_text("mine")
    link = first.path / name
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(mine / "file" if name.endswith((".npy", ".json.part", ".npy.part")) else mine)
    with pytest.raises(ImportRefused, match="a link; remove it"):
        reindex(first.path, words=Bm25Settings())
    assert [path.name for path in mine.iterdir()] == ["file"] and (mine / "file").read_text() == "mine"


def test_a_lock_is_neither_a_link_nor_a_pipe(tmp_path: Path) -> None:
    first = snapshot(tmp_path, "first", "a")
    lock = tmp_path / ".first.lock"
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        reindex(first.path, words=Bm25Settings())
    with pytest.raises(ImportRefused, match="symbolic link"):
        snapshot(tmp_path, "first", "b")
    assert not (tmp_path / "elsewhere").exists()
    lock.unlink()
    os.mkfifo(lock)
    reindex(first.path, words=Bm25Settings())  # and does not wait for somebody who writes into it
    assert not lock.exists()


@pytest.mark.parametrize("change", [b"\xff" * 8, b"mountain"])
def test_no_altered_text_is_indexed(tmp_path: Path, change: bytes) -> None:
    first = snapshot(tmp_path, "first", "a")
    path = first.path / "texts.utf8"
    path.write_bytes(change + path.read_bytes()[8:])
    with pytest.raises(DigestMismatch, match=r"the text of https://example\.org/a was altered"):
        reindex(first.path, words=Bm25Settings())


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [0.0, 1.0], [[0], [1]], [0], [False, True]])
def test_rows_of_other_pages_are_refused(tmp_path: Path, rows: list[object]) -> None:
    """Pages a and b have one chunk each, so that the rows are 0 and 1."""
    first = snapshot(tmp_path, "first", "a", "b")
    path = first.path / "search/pages.npy"
    assert np.load(path).tolist() == [0, 1]
    made = np.array(rows)
    np.save(path, made.astype(np.int32) if made.dtype == np.int64 else made)
    sealed_again(first.path)
    with pytest.raises(IndexDamaged, match=r"pages\.npy cannot be read"):
        Snapshot.open(first.path).corpus().search(["tower"], 3)


def test_an_index_of_the_archive_that_was_altered_is_not_used(tmp_path: Path) -> None:
    """It would give the page of one address for another, or leave with the archive."""
    first = snapshot(tmp_path, "first", "a", "b")
    path = first.path / "indexes/index.cdxj"
    path.write_text(
        path.read_text().replace("org/a", "org/x").replace("org/b", "org/a").replace("org/x", "org/b")
    )
    opened = Snapshot.open(first.path)
    with pytest.raises(DigestMismatch, match=r"index\.cdxj is not"):
        opened.exchange("https://example.org/a")
    with pytest.raises(DigestMismatch, match=r"index\.cdxj is not"):
        export_wacz(opened, tmp_path / "out.wacz")
