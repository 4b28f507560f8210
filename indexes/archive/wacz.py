"""WACZ 1.1.1: an archive with its index, its list of pages and a digest of each, in one zip file.

Invariant: what is written is stored uncompressed where it is compressed already, lies where the specification wants it,
and depends on the snapshot alone (no clock, no order of directories); what is read never leaves the scratch folder, and
its size is bounded.

Specification: https://specs.webrecorder.net/wacz/1.1.1/
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from indexes.errors import DigestMismatch, ImportRefused
from indexes.limits import MAX_GZIP_RATIO, RATIO_FLOOR

VERSION = "1.1.1"
_DATE = (1980, 1, 1, 0, 0, 0)
_STEP = 1 << 20
_MOST_ENTRIES = 100_000
_MOST_TEXT = 1 << 30
"""Bytes of the page list, and of the package's description."""


class Archive(NamedTuple):
    """WARC files to read."""

    warcs: tuple[Path, ...]
    pages: tuple[str, ...] | None
    """URLs of the pages; None where no list came with the files."""


@contextmanager
def opened(path: Path) -> Generator[Archive]:
    """A WARC file as it is, or the WARC files and the page list of a WACZ, unpacked for as long as it is open.

    Raises:
        ImportRefused: there is no such file, or it is a zip without archives, or damaged.
    """
    if not path.is_file():
        raise ImportRefused(f"no file at {path}")
    if not zipfile.is_zipfile(path):
        if path.suffix.lower() == ".wacz":
            raise ImportRefused(f"{path} is no zip file, or is cut off; get the file again")
        yield Archive((path,), None)
        return
    with tempfile.TemporaryDirectory(prefix="wacz-") as scratch:
        try:
            with zipfile.ZipFile(path) as packed:
                found = _unpacked(packed, path, Path(scratch))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise ImportRefused(f"{path}: damaged zip ({str(error)[:200]})") from None
        yield found


def _unpacked(packed: zipfile.ZipFile, path: Path, scratch: Path) -> Archive:
    if len(packed.namelist()) > _MOST_ENTRIES:
        raise ImportRefused(f"{path}: more than {_MOST_ENTRIES:,} files in it; is it a WACZ file?")
    names = [name for name in packed.namelist() if name.startswith("archive/") and not name.endswith("/")]
    warcs = sorted(name for name in names if name.endswith((".warc", ".warc.gz")))
    if not warcs:
        raise ImportRefused(f"{path}: no archive/*.warc.gz in it; is it a WACZ file?")
    declared = _declared(packed)
    files: list[Path] = []
    for number, name in enumerate(warcs):
        target = scratch / f"{number:05d}{'.warc.gz' if name.endswith('.gz') else '.warc'}"
        digest = _copy(packed, name, target)
        if declared.get(name, digest) != digest:
            raise ImportRefused(
                f"{path}: {name} is not the file that datapackage.json names; get the file again"
            )
        files.append(target)
    return Archive(tuple(files), _page_urls(packed))


def _copy(packed: zipfile.ZipFile, name: str, target: Path) -> str:
    """Unpack one file; its digest."""
    entry = packed.getinfo(name)
    ceiling = max(RATIO_FLOOR, MAX_GZIP_RATIO * entry.compress_size)
    hasher = hashlib.sha256()
    size = 0
    with packed.open(entry) as source, target.open("wb") as out:
        while piece := source.read(_STEP):
            size += len(piece)
            if size > ceiling:
                raise ImportRefused(
                    f"{name} of {entry.compress_size:,} bytes unpacks to more than {ceiling:,} bytes"
                )
            hasher.update(piece)
            out.write(piece)
    return f"sha256:{hasher.hexdigest()}"


def _text(packed: zipfile.ZipFile, name: str) -> bytes:
    entry = packed.getinfo(name)
    ceiling = min(_MOST_TEXT, max(RATIO_FLOOR, MAX_GZIP_RATIO * entry.compress_size))
    with packed.open(entry) as source:
        data = source.read(ceiling + 1)
    if len(data) > ceiling:
        raise ImportRefused(f"{name} of {entry.compress_size:,} bytes unpacks to more than {ceiling:,} bytes")
    return data


def _declared(packed: zipfile.ZipFile) -> dict[str, str]:
    """Digest by path, as the data package says."""
    try:
        package: Any = json.loads(_text(packed, "datapackage.json"))
        resources: list[dict[str, str]] = package["resources"]
        return {entry["path"]: entry["hash"] for entry in resources if entry["hash"].startswith("sha256:")}
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _page_urls(packed: zipfile.ZipFile) -> tuple[str, ...] | None:
    names = [name for name in ("pages/pages.jsonl", "pages/extraPages.jsonl") if name in packed.namelist()]
    urls: dict[str, None] = {}
    for name in names:
        for line in _text(packed, name).splitlines():
            try:
                entry: Any = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict) and isinstance(url := cast("dict[str, Any]", entry).get("url"), str):
                urls[url] = None
    return tuple(urls) or None


class PageLine(NamedTuple):
    """One entry of a WACZ's list of pages."""

    url: str
    at: str
    title: str
    text: str


def write_wacz(
    out: Path,
    warcs: Mapping[Path, str],
    index: Path,
    pages: Iterable[PageLine],
    *,
    title: str,
    created: str,
) -> None:
    """Write a WACZ file.

    Args:
        out: the file to write; it must not be there.
        warcs: the archive's files, with their SHA-256.
        index: its CDXJ.
        pages: in the order in which they are to be listed.
        title: of the collection.
        created: ISO 8601 time that the package states.

    Raises:
        ImportRefused: it could not be written.
        DigestMismatch: a file of the archive has another digest.
    """
    resources: list[dict[str, Any]] = []
    part = out.parent / f".{out.name}.part"
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED, allowZip64=True) as packed:
            for warc, digest in warcs.items():
                resources.append(_store(packed, f"archive/{warc.name}", _pieces(warc), compress=False))
                if resources[-1]["hash"] != f"sha256:{digest}":
                    raise DigestMismatch(f"{warc} is not the file of the manifest; run `snapshot verify`")
            resources.append(_store(packed, "indexes/index.cdx", _pieces(index), compress=True))
            resources.append(_store(packed, "pages/pages.jsonl", _page_lines(pages), compress=True))
            package = {
                "profile": "data-package",
                "wacz_version": VERSION,
                "title": title,
                "created": created,
                "software": "frozen-web-snapshot",
                "resources": resources,
            }
            data = json.dumps(package, indent=2, ensure_ascii=False).encode()
            _store(packed, "datapackage.json", [data], compress=True)
            said = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(data).hexdigest()}"}
            _store(packed, "datapackage-digest.json", [json.dumps(said, indent=2).encode()], compress=True)
        part.rename(out)
    except OSError as error:
        raise ImportRefused(f"{out}: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def _store(packed: zipfile.ZipFile, name: str, pieces: Iterable[bytes], *, compress: bool) -> dict[str, Any]:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    entry.external_attr = 0o644 << 16
    hasher = hashlib.sha256()
    size = 0
    with packed.open(entry, "w", force_zip64=True) as target:
        for piece in pieces:
            target.write(piece)
            hasher.update(piece)
            size += len(piece)
    return {
        "name": name.rpartition("/")[2],
        "path": name,
        "hash": f"sha256:{hasher.hexdigest()}",
        "bytes": size,
    }


def _pieces(path: Path) -> Iterable[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_STEP):
            yield piece


def _page_lines(pages: Iterable[PageLine]) -> Iterable[bytes]:
    head = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True}
    yield (json.dumps(head) + "\n").encode()
    for number, page in enumerate(pages):
        entry = {
            "id": f"{number:08d}",
            "url": page.url,
            "ts": page.at,
            "title": page.title,
            "text": page.text,
        }
        yield (json.dumps(entry, ensure_ascii=False) + "\n").encode()
