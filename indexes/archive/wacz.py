"""WACZ 1.1.1: an archive with its index, its list of pages and a digest of each, in one zip file.

Invariant: what is written is stored uncompressed where it is compressed already, lies where the specification wants it,
and depends on the snapshot alone (no clock, no order of directories), but for a signature. What is read never leaves
the scratch folder, and its size is bounded. Of a file with a datapackage.json nothing is read that the package does not
list, with the digest that it gives, nor anything of a package whose own digest or signature does not hold.

Specification: https://specs.webrecorder.net/wacz/1.1.1/
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, cast

from indexes.archive.signing import sign, signer
from indexes.errors import DigestMismatch, ImportRefused, MissingExtra
from indexes.limits import MAX_GZIP_RATIO, RATIO_FLOOR
from indexes.zips import ZipRefused, checked_entries

VERSION = "1.1.1"
PACKAGE = "datapackage.json"
PACKAGE_DIGEST = "datapackage-digest.json"
_PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
_DATE = (1980, 1, 1, 0, 0, 0)
_STEP = 1 << 20
_MOST_TEXT = 1 << 30
"""Most bytes of the package's description, and of a page list that is packed more than `MAX_GZIP_RATIO` times: a text
that repeats itself may be."""
_MOST_LINE = 1 << 28
"""Most bytes of a line of the page list, which holds the text of a page."""


class Archive(NamedTuple):
    """WARC files to read."""

    warcs: tuple[Path, ...]
    pages: tuple[str, ...] | None
    """URLs of the pages; None where no list came with the files."""


class Trust(NamedTuple):
    """Required signatures."""

    required: bool = False
    """True if a file without a verified signature is refused."""
    key: str | None = None
    """The public key that must have signed, in base64; None for any."""


NO_DEMANDS = Trust()


@contextmanager
def open_archives(path: Path, say: Callable[[str], None], trust: Trust = NO_DEMANDS) -> Generator[Archive]:
    """A WARC file as it is, or the WARC files and the page list of a WACZ, unpacked for as long as it is open.

    Args:
        path: the file.
        say: told, in one line, what is to be said of its signature.
        trust: which signature it must have.

    Raises:
        ImportRefused: there is no such file; it is a zip without archives, or damaged; a file in it is not the one that
            was packed; its signature is wrong, or not the one asked for.
        MissingExtra: a signature is asked for and cryptography is not installed.
    """
    if not path.is_file():
        raise ImportRefused(f"no file at {path}")
    if not zipfile.is_zipfile(path):
        if path.suffix.lower() == ".wacz":
            raise ImportRefused(f"{path} is no zip file, or is cut off; get the file again")
        if trust.required:
            raise ImportRefused(
                f"{path} is no WACZ file and has no signature; import it without asking for one"
            )
        yield Archive((path,), None)
        return
    with tempfile.TemporaryDirectory(prefix="wacz-") as scratch:
        try:
            with zipfile.ZipFile(path) as packed:
                found = _unpack(packed, path, Path(scratch), say, trust)
        except ZipRefused as error:
            raise ImportRefused(f"{path}: {error}") from None
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            OSError,
            ValueError,  # a name that is not in the encoding that it says
        ) as error:
            raise ImportRefused(f"{path}: damaged zip ({str(error)[:200]})") from None
        yield found


def _unpack(
    packed: zipfile.ZipFile, path: Path, scratch: Path, say: Callable[[str], None], trust: Trust
) -> Archive:
    names = {
        name
        for name in checked_entries(packed, path.stat().st_size, lambda entry: None, most_bytes=None)
        if name[-1] != "/"
    }
    warcs = sorted(
        name for name in names if name.startswith("archive/") and name.endswith((".warc", ".warc.gz"))
    )
    if not warcs:
        raise ImportRefused(f"{path}: no archive/*.warc.gz in it; is it a WACZ file?")
    listed = _read_digests(packed, path)
    signed = _check_package(packed, path, say, trust)
    targets = {
        name: scratch / f"{number:05d}{'.warc.gz' if name.endswith('.gz') else '.warc'}"
        for number, name in enumerate(warcs)
    }
    lists = [name for name in _PAGE_LISTS if name in names]
    if listed is not None:
        for name in [*warcs, *lists]:
            if name not in listed:
                raise ImportRefused(f"{path}: {name} is not among the files that datapackage.json names")
    for name in dict.fromkeys([*(listed or ()), *warcs]):
        if name not in names:
            raise ImportRefused(
                f"{path}: {name} is missing, and datapackage.json names it; get the file again"
            )
        expected = "" if listed is None else listed[name]
        if signed and not expected.startswith("sha256:"):
            raise ImportRefused(f"{path}: {name} has no SHA-256 in datapackage.json, so it is not signed")
        if listed is not None and not expected.startswith("sha256:"):
            say(f"{path}: {name} was not compared with its digest, which is no SHA-256: {expected[:80]!r}")
        digest = _copy(packed, name, targets.get(name))
        if expected.startswith("sha256:") and expected != digest:
            raise ImportRefused(
                f"{path}: {name} is not the file that datapackage.json names; get the file again"
            )
    return Archive(tuple(targets.values()), _page_urls(packed, lists))


def _copy(packed: zipfile.ZipFile, name: str, target: Path | None) -> str:
    """Unpack one file, to nowhere where it is not read further; its digest."""
    entry = packed.getinfo(name)
    ceiling = _ceiling(entry)
    hasher = hashlib.sha256()
    size = 0
    with packed.open(entry) as source, nullcontext() if target is None else target.open("wb") as out:
        while piece := source.read(_STEP):
            size += len(piece)
            if size > ceiling:
                raise ImportRefused(
                    f"{name} of {entry.compress_size:,} bytes unpacks to more than {ceiling:,} bytes"
                )
            hasher.update(piece)
            if out is not None:
                out.write(piece)
    return f"sha256:{hasher.hexdigest()}"


def _ceiling(entry: zipfile.ZipInfo) -> int:
    """Most bytes that a file may unpack to."""
    floor = _MOST_TEXT if entry.filename in _PAGE_LISTS else RATIO_FLOOR
    return max(floor, MAX_GZIP_RATIO * entry.compress_size)


def _text(packed: zipfile.ZipFile, name: str) -> bytes:
    entry = packed.getinfo(name)
    ceiling = min(_MOST_TEXT, _ceiling(entry))
    with packed.open(entry) as source:
        data = source.read(ceiling + 1)
    if len(data) > ceiling:
        raise ImportRefused(f"{name} of {entry.compress_size:,} bytes unpacks to more than {ceiling:,} bytes")
    return data


def _read_digests(packed: zipfile.ZipFile, path: Path) -> dict[str, str] | None:
    """Digest by path, as the data package states; None if it is missing."""
    if PACKAGE not in packed.namelist():
        return None
    try:
        package: Any = json.loads(_text(packed, PACKAGE))
        return {str(entry["path"]): str(entry["hash"]) for entry in package["resources"]}
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise ImportRefused(
            f"{path}: {PACKAGE} does not list files with their digests; get the file again"
        ) from None


def _package_digest(packed: zipfile.ZipFile, path: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Return the digest that the file states for its data package, after comparison; empty if it states none."""
    names = packed.namelist()
    if PACKAGE_DIGEST not in names:
        if PACKAGE in names:
            say(f"{path}: {PACKAGE} was not compared with its digest: {PACKAGE_DIGEST} is not in the file")
        return {}
    try:
        data = json.loads(_text(packed, PACKAGE_DIGEST))
        digest = f"sha256:{hashlib.sha256(_text(packed, PACKAGE)).hexdigest()}"
        if (data["path"], data["hash"]) != (PACKAGE, digest):
            raise ValueError
        return data
    except (KeyError, ValueError, TypeError, RecursionError):
        raise ImportRefused(
            f"{path}: {PACKAGE} is not the file that {PACKAGE_DIGEST} names; get the file again"
        ) from None


def _check_package(packed: zipfile.ZipFile, path: Path, say: Callable[[str], None], trust: Trust) -> bool:
    """Compare the data package with its digest and its signature; whether somebody signed it."""
    package = _package_digest(packed, path, say)
    if "signedData" not in package:
        if trust.required:
            raise ImportRefused(f"{path} is not signed; import it without asking for a signature")
        return False
    try:
        key = signer(package["signedData"], package["hash"])
    except ValueError as error:
        raise ImportRefused(f"{path}: its signature does not hold: {error}; get the file again") from None
    except MissingExtra as error:
        if trust.required:
            raise
        say(f"{path} is signed; the signature was not verified ({error})")
        return True
    if key is None:
        why = "it is by a domain's certificate, which cannot be verified offline"
        if trust.required:
            raise ImportRefused(f"{path}: its signature was not verified: {why}")
        say(f"{path} is signed; the signature was not verified: {why}")
    elif trust.key not in (None, key):
        raise ImportRefused(f"{path} is signed by another key: {key}")
    else:
        say(f"{path} is signed, and the signature holds; public key {key}")
    return True


def _page_urls(packed: zipfile.ZipFile, names: Iterable[str]) -> tuple[str, ...] | None:
    urls: dict[str, None] = {}
    for name in names:
        for line in _lines(packed, name):
            try:
                entry: Any = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict) and isinstance(url := cast("dict[str, Any]", entry).get("url"), str):
                urls[url] = None
    return tuple(urls) or None


def _lines(packed: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The lines of a file whose size `_copy` or this bounds."""
    ceiling = _ceiling(packed.getinfo(name))
    with packed.open(name) as source:
        while line := source.readline(_MOST_LINE + 1):
            if len(line) > _MOST_LINE:
                raise ImportRefused(f"{name}: a line of more than {_MOST_LINE:,} bytes")
            if source.tell() > ceiling:
                raise ImportRefused(f"{name} unpacks to more than {ceiling:,} bytes")
            yield line


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
    key_file: Path | None = None,
) -> None:
    """Write a WACZ file.

    Args:
        out: the file to write; it must not be there.
        warcs: the archive's files, with their SHA-256.
        index: its CDXJ.
        pages: in the order in which they are to be listed.
        title: of the collection.
        created: ISO 8601 time that the package states.
        key_file: a private key to sign with (`signing.sign`).

    Raises:
        ImportRefused: it could not be written, or the key is none.
        DigestMismatch: a file of the archive has another digest.
        MissingExtra: it is to be signed and cryptography is not installed.
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
            _store(packed, PACKAGE, [data], compress=True)
            digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
            entry: dict[str, Any] = {"path": PACKAGE, "hash": digest}
            if key_file is not None:
                entry["signedData"] = sign(digest, key_file)
            _store(packed, PACKAGE_DIGEST, [json.dumps(entry, indent=2).encode()], compress=True)
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
