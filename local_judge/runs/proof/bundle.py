"""A run with everything that its results follow from, in one file.

    bundle.json        version of the form, whether page texts are left out, SHA-256 of every other file
    run/               the run directory, without its ledger
    reports.jsonl      reports with their tasks, in the order of the run
    calls.jsonl        requests and replies that the run used, and lengths of prompts
    texts.jsonl        texts of the requests, each once
    calibrations.jsonl
    pages/             snapshot of the pages that the run looked up; the whole snapshot if a protocol searches it
    snapshot.json      manifest of the run's snapshot, if it is not the whole one that is packed

The file is a zip archive whose comment is the SHA-256 of all bytes before it. A public bundle has neither page texts
nor prompts.

Invariants: equal runs with equal replies give equal bytes (with one version of zlib); nothing is packed that does not
follow from the rest. Of a file that is read, names, number, sizes and compression are bounded before anything is
unpacked, links are refused, every file matches its digest, and a file that belongs to no part is named.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import io
import re
import shutil
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from pydantic import Base64Bytes, ValidationError

from indexes.manifest import MANIFEST as SNAPSHOT_MANIFEST
from indexes.manifest import PAGES, TEXTS, Manifest, hash_file, render_manifest
from indexes.model import Page
from indexes.records import PageRecord, render_record
from indexes.snapshot import Snapshot
from indexes.urls import normalise_url
from indexes.zips import DAMAGED, MOST_BYTES, STEP, ZipRefused, checked_entries, packing_of, unpack_entry
from local_judge.base.errors import InputError, RunError, os_errors
from local_judge.base.files import MOST_JSON, open_file, partial_of, read_file, remove_partials
from local_judge.base.model import Frozen
from local_judge.documents import Source
from local_judge.ledger.calibrations import Calibration
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified, Reply, Request, sha256
from local_judge.prompts import Prompt
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.proof.material import Material
from local_judge.runs.storage.items import digest_of
from local_judge.runs.storage.manifest import read_manifest
from local_judge.runs.storage.seal import run_files
from local_judge.runs.storage.store import MANIFEST, RunStore, canonical
from local_judge.tasks.model import Guidance, Task
from serving.types import EngineIdentity, Sampling

Row = TypeVar("Row", bound=Frozen)

FORMAT = 3
"""Version of the form."""

INDEX = "bundle.json"
_SNAPSHOT = "snapshot.json"
_TEXTS = "texts.jsonl"
_FILES = {
    *(INDEX, "reports.jsonl", "calls.jsonl", _TEXTS, "calibrations.jsonl", _SNAPSHOT),
}
"""Files of a bundle that are in no folder."""
_DATE = (1980, 1, 1, 0, 0, 0)
_TOGETHER = 500
"""Calls written to a ledger at once."""
_MARK = b"sha256:"
_COMMENT = len(_MARK) + 64
_NAME = re.compile(r"(?:run|pages)(?:/[\w][\w.+-]*)+|[a-z]+\.jsonl?")
MOST_READ = 1 << 30
"""Most bytes of a file that is read into memory: every one but those of the snapshot."""


class PackedReport(Frozen):
    """One line of `reports.jsonl`."""

    id: str
    content: Base64Bytes
    task: Task | None
    system: str | None
    task_id: str | None
    guidance: Guidance | None
    sources: tuple[Source, ...] = ()


class Call(Frozen):
    """One line of `calls.jsonl`: a request with its reply, or the length of a prompt."""

    judge: str
    """SHA-256 of the judge's identity."""
    key: str
    """Ledger key; of a length the digest of the prompt's messages."""
    tokens: int | None = None
    """Length of the prompt."""
    reply: Reply | None = None
    request: PackedRequest | None = None
    """None in a public bundle."""


class PackedRequest(Frozen):
    """Request whose texts are named by their digests."""

    kind: str
    system: str
    shared: str
    own: str
    prefix: str
    schema_text: str | None
    sampling: Sampling | None
    options: tuple[str, ...]
    draw: int
    attempt: int


class PackedText(Frozen):
    """One line of `texts.jsonl`."""

    digest: str
    text: str


Call.model_rebuild()


class _Index(Frozen):
    """Content of `bundle.json`."""

    format_version: int
    public: bool
    whole_snapshot: bool
    """The pages are the run's whole snapshot."""
    files: dict[str, str]


class NotingLedger(Ledger):
    """Ledger that notes what is read."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.used: set[str] = set()
        """Keys of the replies that were read."""
        self.counted: dict[tuple[str, str], int] = {}
        """Lengths of prompts that were read, by the digests of judge and messages."""

    def get(self, key: str) -> Reply | None:
        """Return the reply stored under `key`, and note the key."""
        found = super().get(key)
        if found is not None:
            self.used.add(key)
        return found

    def token_count(self, judge: Identified, messages: str) -> int | None:
        """Return the length of a prompt, and note it."""
        found = super().token_count(judge, messages)
        if found is not None:
            self.counted[judge.digest, messages] = found
        return found


class NotingSnapshot(Snapshot):
    """Snapshot that notes which pages are looked up."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.asked: set[str] = set()
        """Normalised URLs."""

    def page(self, url: str, *, as_of: date | None = None) -> Page:
        """Return the page of a URL as `Snapshot.page` does, and note the URL."""
        with contextlib.suppress(ValueError):
            self.asked.add(normalise_url(url))
        return super().page(url, as_of=as_of)

    def kept(self, whole: bool) -> list[PageRecord]:
        """Return all captures of the pages that were looked up under any of their addresses, or of all pages."""
        return [
            record
            for record in self.records()
            if whole or record.url in self.asked or not self.asked.isdisjoint(record.aliases)
        ]


def write_bundle(
    out: Path,
    material: Material,
    ledger: NotingLedger,
    snapshot: NotingSnapshot | None,
    calibrations: Sequence[Calibration],
    *,
    whole: bool,
    public: bool,
) -> int:
    """Write a bundle, and return its size in bytes.

    Args:
        out: new file.
        material: the run and its reports.
        ledger: ledger from which the run was replayed.
        snapshot: snapshot from which it was replayed.
        calibrations: calibrations of the judges.
        whole: whether to pack the whole snapshot instead of the pages that were looked up.
        public: whether to leave out page texts and prompts.

    Raises:
        RunError: `out` exists or cannot be written.
    """
    if out.exists():
        raise RunError(f"{out}: already exists; choose another file")
    store = material.store
    beside = partial_of(out)
    work = out.with_name(f".{out.name}.pages")
    with os_errors(RunError, f"{out}: cannot be written"):
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            remove_partials(out.parent, out.name)
            sources: dict[str, Path | bytes] = {
                f"run/{name}": store.root / name for name in (MANIFEST, *run_files(store.root))
            }
            sources["reports.jsonl"] = _lines(map(_packed_report, material.reports or ()))
            calls, texts = _calls(ledger, public)
            sources["calls.jsonl"], sources[_TEXTS] = _lines(calls), _lines(texts)
            sources["calibrations.jsonl"] = _lines(calibrations)
            if snapshot is not None:
                if not whole:
                    sources[_SNAPSHOT] = render_manifest(snapshot.manifest)
                _write_pages(work, snapshot, whole=whole, public=public)
                sources |= {
                    f"pages/{path.relative_to(work).as_posix()}": path
                    for path in sorted(work.rglob("*"))
                    if path.is_file()
                }
            _write_zip(beside, sources, public=public, whole=whole)
            beside.replace(out)
        finally:
            beside.unlink(missing_ok=True)
            shutil.rmtree(work, ignore_errors=True)
        return out.stat().st_size


def _write_zip(path: Path, sources: Mapping[str, Path | bytes], *, public: bool, whole: bool) -> None:
    files = {
        name: digest_of(source) if isinstance(source, bytes) else hash_file(source).sha256
        for name, source in sorted(sources.items())
    }
    index = _Index(format_version=FORMAT, public=public, whole_snapshot=whole, files=files)
    listed: dict[str, Path | bytes] = {INDEX: canonical(index.model_dump()).encode() + b"\n"}
    with zipfile.ZipFile(path, "w") as packed:
        for name, source in [*listed.items(), *sorted(sources.items())]:
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            with io.BytesIO(source) if isinstance(source, bytes) else open_file(source) as file:
                entry.compress_type = packing_of(file)
                file.seek(0)
                with packed.open(entry, "w", force_zip64=True) as target:
                    shutil.copyfileobj(file, target, STEP)
        packed.comment = _MARK + b"0" * 64
    with path.open("r+b") as file:
        length = file.seek(0, 2) - _COMMENT
        file.seek(0)
        digest = _hash_of(file, length)
        file.seek(length)
        file.write(_MARK + digest.encode())


def _hash_of(file: IO[bytes], length: int) -> str:
    digest = hashlib.sha256()
    while length and (piece := file.read(min(length, STEP))):
        digest.update(piece)
        length -= len(piece)
    return digest.hexdigest()


def _lines(rows: Iterable[Frozen]) -> bytes:
    return "".join(canonical(row.model_dump(mode="json")) + "\n" for row in rows).encode()


def _packed_report(report: RawReport) -> PackedReport:
    values = {name: getattr(report, name) for name in PackedReport.model_fields if name != "content"}
    return PackedReport.model_construct(content=report.content, **values)


def _calls(ledger: NotingLedger, public: bool) -> tuple[list[Call], list[PackedText]]:
    calls: list[Call] = []
    texts: dict[str, str] = {}

    def named(text: str) -> str:
        digest = sha256(text)
        texts[digest] = text
        return digest

    for key in sorted(ledger.used):
        request, reply = ledger.request(key), ledger.get(key)
        packed = None
        if not public:
            prompt = request.prompt
            packed = PackedRequest(
                kind=request.kind,
                system=named(prompt.system),
                shared=named(prompt.shared),
                own=named(prompt.own),
                prefix=prompt.prefix_key,
                schema_text=None if request.schema is None else named(request.schema),
                sampling=request.sampling,
                options=request.options,
                draw=request.draw,
                attempt=request.attempt,
            )
        calls.append(Call(judge=request.judge.digest, key=key, reply=reply, request=packed))
    calls += [
        Call(judge=judge, key=messages, tokens=tokens)
        for (judge, messages), tokens in sorted(ledger.counted.items())
    ]
    return calls, [PackedText(digest=digest, text=texts[digest]) for digest in sorted(texts)]


def _write_pages(folder: Path, snapshot: NotingSnapshot, *, whole: bool, public: bool) -> None:
    """Write a snapshot of the pages that were looked up, or of all of them, without its archive."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    kept = snapshot.kept(whole)
    names = [PAGES, TEXTS]
    if whole and not public:
        # The digest of a snapshot covers records and texts, so that it stays that of the run.
        names = [one.path for one in snapshot.manifest.files if not one.path.startswith("archive/")]
        names = [name for name in names if name.startswith("search/") or name in (PAGES, TEXTS)]
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(snapshot.path / name, folder / name)
    else:
        with (folder / PAGES).open("wb") as lines, (folder / TEXTS).open("wb") as texts:
            for record in kept:
                text = b"" if public else snapshot.text_of(record).encode()
                lines.write(render_record(record.model_copy(update={"offset": texts.tell()})))
                texts.write(text)
    manifest = snapshot.manifest
    statuses = dict(manifest.statuses)
    if not whole:
        statuses = {name: 0 for name in statuses}
        for record in kept:
            statuses[record.status] = statuses.get(record.status, 0) + 1
    entries = tuple(hash_file(folder / name).model_copy(update={"path": name}) for name in sorted(names))
    made = manifest.model_copy(update={"files": entries, "statuses": statuses})
    made = made.model_copy(update={"digest": made.expected_digest()})
    (folder / SNAPSHOT_MANIFEST).write_bytes(render_manifest(Manifest.model_validate(made.model_dump())))


class Unpacked(NamedTuple):
    """Content of a bundle, in a folder."""

    folder: Path
    public: bool
    whole_snapshot: bool
    problems: tuple[str, ...]
    """Differences between the files and their digests."""
    n_files: int


def unpack(path: Path, folder: Path) -> Unpacked:
    """Unpack a bundle into an empty folder, and compare every file with its digest.

    Raises:
        InputError: the file is no bundle, is damaged so that it cannot be unpacked, or exceeds a limit.
    """
    problems: list[str] = []
    try:
        with open_file(path) as file:
            length = file.seek(0, 2) - _COMMENT
            if length > MOST_BYTES:
                raise ZipRefused(f"{length:,} bytes, more than {MOST_BYTES:,}; not read")
            file.seek(max(length, 0))
            said = file.read(_COMMENT)
            file.seek(0)
            if length < 0 or said != _MARK + _hash_of(file, length).encode():
                problems.append(f"{path.name}: its bytes differ from the digest at its end")
        with open_file(path) as file, zipfile.ZipFile(file) as packed:
            names = checked_entries(packed, file.seek(0, 2), _problem).keys()
            if INDEX not in names:
                raise InputError(f"{path}: not a bundle (no {INDEX} in it); `local-judge bundle` writes one")
            index = _read_index(packed, path)
            for name in sorted(names - {INDEX}):
                if problem := unpack_entry(packed, name, folder / name) or _differs(name, folder, index):
                    problems.append(f"{name}: {problem}")
            if index.public and any((folder / name).stat().st_size for name in names & {_TEXTS}):
                problems.append(f"{_TEXTS}: holds texts of prompts, which a public bundle does not")
            problems += [f"{name}: missing" for name in sorted(index.files.keys() - names)]
            problems += [f"{name}: belongs to no part of a bundle" for name in sorted(names - _parts(folder))]
    except ZipRefused as error:
        raise InputError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
        raise InputError(
            f"{path}: cannot be unpacked into {folder.parent} ({error.strerror}); set TMPDIR to a folder with more room"
        ) from None
    except DAMAGED as error:
        raise InputError(f"{path}: a damaged bundle ({str(error)[:200]}); get the file again") from None
    return Unpacked(folder, index.public, index.whole_snapshot, tuple(problems), len(names))


def _differs(name: str, folder: Path, index: _Index) -> str | None:
    if name not in index.files:
        return f"not listed in {INDEX}"
    return (
        None
        if hash_file(folder / name).sha256 == index.files[name]
        else f"differs from its digest in {INDEX}"
    )


def _parts(folder: Path) -> set[str]:
    """Return the names of the files that belong to the parts of an unpacked bundle."""
    pages: tuple[str, ...] = ()
    with contextlib.suppress(OSError, ValidationError):
        manifest = Manifest.model_validate_json(
            read_file(folder / "pages" / SNAPSHOT_MANIFEST, MOST_JSON), strict=True
        )
        pages = (SNAPSHOT_MANIFEST, *(one.path for one in manifest.files))
    run = (MANIFEST, *run_files(folder / "run"))
    return {*_FILES, *(f"run/{name}" for name in run), *(f"pages/{name}" for name in pages)}


def _problem(entry: zipfile.ZipInfo) -> str | None:
    """Return what no entry of a bundle may be."""
    if not _NAME.fullmatch(entry.filename):
        return "is not a name of a bundle's file"
    if entry.file_size > MOST_READ and not entry.filename.startswith("pages/"):
        return f"has more than {MOST_READ:,} bytes; not unpacked"
    return None


def _read_index(packed: zipfile.ZipFile, path: Path) -> _Index:
    try:
        index = _Index.model_validate_json(packed.read(INDEX), strict=True)
    except ValidationError:
        raise InputError(f"{path}: {INDEX} is damaged; get the file again") from None
    if index.format_version != FORMAT:
        raise InputError(f"{path}: a bundle of form {index.format_version}; this version reads form {FORMAT}")
    return index


def material_of(unpacked: Unpacked) -> Material:
    """Return the run and the inputs of an unpacked bundle; the caller builds the ledger with `restore_ledger`.

    Raises:
        InputError: a file cannot be read.
    """
    folder = unpacked.folder
    reports = [
        RawReport(
            one.id,
            one.content,
            one.task,
            f"report {one.id}",
            one.system,
            one.task_id,
            one.guidance,
            sources=one.sources,
        )
        for one in read_rows(folder / "reports.jsonl", PackedReport)
    ]
    pages = folder / "pages"
    return Material(
        store=RunStore(folder / "run"),
        reports=reports,
        snapshot=pages if pages.is_dir() else None,
        ledger=None,
        public=unpacked.public,
        snapshot_digest=_snapshot_digest(unpacked) if pages.is_dir() else None,
    )


def _snapshot_digest(unpacked: Unpacked) -> str:
    """Return the digest of the run's snapshot, computed from its manifest. Raises InputError."""
    path = unpacked.folder / ("pages/" + SNAPSHOT_MANIFEST if unpacked.whole_snapshot else _SNAPSHOT)
    try:
        with _opened(path) as file:
            return Manifest.model_validate_json(file.read(), strict=True).expected_digest()
    except ValidationError:
        raise InputError(f"{path.name}: cannot be read; get the bundle again") from None


async def restore_ledger(folder: Path, store: RunStore, path: Path) -> None:
    """Write the calls of an unpacked bundle into a new ledger.

    Raises:
        InputError: a call is damaged, or its request does not hash to its key.
    """
    texts = {one.digest: one.text for one in read_rows(folder / _TEXTS, PackedText)}
    identities = [
        Identified.of(EngineIdentity.model_validate(judge["identity"]))
        for judge in read_manifest(store).get("judges", [])
    ]
    judges = {one.digest: one for one in identities}

    async def put(call: Call) -> None:
        try:
            judge = judges[call.judge]
            request = None if call.request is None else _request(call.key, call.request, judge, texts)
        except (KeyError, ValueError):
            raise InputError(f"calls.jsonl: the request {call.key[:12]} does not hash to its key") from None
        if call.tokens is not None:
            await ledger.put_token_count(judge, call.key, call.tokens)
        elif request is not None and call.reply is not None:
            if call.reply.key != call.key:
                raise InputError(f"calls.jsonl: the reply under {call.key[:12]} is of another request")
            await ledger.put(request, call.reply)

    calls = list(read_rows(folder / "calls.jsonl", Call))
    with Ledger.open(path) as ledger:
        for begin in range(0, len(calls), _TOGETHER):
            await asyncio.gather(*map(put, calls[begin : begin + _TOGETHER]))
        await ledger.put_calibrations(read_rows(folder / "calibrations.jsonl", Calibration))


def _request(key: str, packed: PackedRequest, judge: Identified, texts: Mapping[str, str]) -> Request:
    found = Request(
        judge,
        Prompt(
            system=texts[packed.system],
            shared=texts[packed.shared],
            own=texts[packed.own],
            prefix_key=packed.prefix,
        ),
        packed.kind,  # pyright: ignore[reportArgumentType]  # another kind gives another key
        sampling=packed.sampling,
        schema=None if packed.schema_text is None else texts[packed.schema_text],
        options=packed.options,
        draw=packed.draw,
        attempt=packed.attempt,
    )
    if found.key != key:
        raise ValueError(key)
    return found


def read_rows(path: Path, model: type[Row]) -> Iterator[Row]:
    """Yield the rows of a file of a bundle.

    Raises:
        InputError: a row cannot be read.
    """
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield model.model_validate_json(line, strict=True)
            except ValidationError:
                raise InputError(f"{path.name}: line {number} cannot be read; get the bundle again") from None


def _opened(path: Path) -> IO[bytes]:
    try:
        return open_file(path)
    except OSError:
        raise InputError(f"{path.name}: missing from the bundle; get the file again") from None
