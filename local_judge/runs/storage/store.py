"""Run directory.

    manifest.json              inputs, judges and settings (`runs.manifest`); of a finished run its seal (`runs.seal`)
    inputs.jsonl               one line per report: digests of it and of its task
    cases.jsonl                one line per report, in input order: id, file key, document id, failure
    claims.jsonl               one line per report: its claim set
    findings/<protocol>.jsonl  one line per report: the protocol's findings
    *.index                    beside each file of claims or findings: place and digest of each line (`runs.items`)
    scores/<protocol>.jsonl    one line per report and profile
    scores/<protocol>.systems.jsonl    one line per score of each system (`runs.summaries`)
    evidence_gaps.jsonl        pages and queries that the protocols' agents missed in the snapshot, if they have agents
    agreement.jsonl            of several judges: one line per protocol, metric and set of judges compared
    journal.jsonl              of an unfinished run: see `runs.resume`
    ledger.sqlite              the judges' replies, unless another ledger was given
    .lock                      while a command writes here: see `runs.lock`

With several judges, each has its own claim sets and findings: claims/<judge>.jsonl and
findings/<protocol>/<judge>.jsonl.

Invariants: a file is complete or absent (written beside its place, then renamed), except the journal, whose last line
may be cut off; file names contain no report ids; the same inputs and replies give the same bytes, so no file but the
journal contains a clock time; a file with a known digest is read only if it still matches; items are read and written
one by one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from local_judge.base.errors import RunError, brief, first_problem, not_json, os_errors, reason_of
from local_judge.base.files import MOST_FILE, MOST_JSON, MOST_TEXT, each_line, open_file, read_file, replacing
from local_judge.base.rows import is_text
from local_judge.runs.storage.items import (
    Index,
    ItemFile,
    ItemWriter,
    Journal,
    digest_of,
    file_key,
    index_of,
    item_json,
    line_of,
)

T = TypeVar("T", bound=BaseModel)

MANIFEST = "manifest.json"
FORMAT = 4
"""Version of a run's files, `format_version` in the manifest; a manifest without one has version 1. It is raised when
the form of findings, scores or records changes."""
INPUTS = "inputs.jsonl"
CASES = "cases.jsonl"
JOURNAL = "journal.jsonl"


def check_format(root: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse the directory of a run of another format version.

    Raises:
        RunError: the format version differs.
    """
    found = manifest.get("format_version", 1)
    if found != FORMAT:
        raise RunError(
            f"{root}: a run of format {brief(found)}, and this version of local_judge reads format {FORMAT}; "
            "run the evaluation again with another --out (--ledger reuses the replies)"
        )


def canonical(value: object) -> str:
    """Return JSON with sorted keys and no NaN: equal values give equal bytes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def rendered(value: Mapping[str, Any]) -> str:
    """Return the only text of a JSON file with this content."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


class RunStore:
    """Access to the files of one run directory.

    Args:
        root: the directory.
        linked: whether its files may be links to files elsewhere.
    """

    def __init__(self, root: Path, *, linked: bool = False) -> None:
        self.root = root
        self._bounds = None if linked else root
        self.digests: dict[str, str] = {}
        """SHA-256 by name, of files written through this object or sealed; a file is checked when it is read."""
        self.checked = False
        """Whether the seal of the finished run has been checked (see `seal.check_seal`)."""
        self.remedy = ""
        """What restores a file that differs from the seal; empty before the seal has been checked."""
        self.journal: Journal | None = None
        """Items of an unfinished run; None if they are in their files."""
        self._opened: dict[str, ItemFile] = {}

    @property
    def ledger(self) -> Path:
        """Default path of the ledger."""
        return self.root / "ledger.sqlite"

    def write_json(self, name: str, value: BaseModel | dict[str, Any]) -> None:
        """Write an indented JSON file."""
        data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        self.write_text(name, rendered(data))

    def write_jsonl(self, name: str, rows: Iterable[BaseModel | dict[str, Any]]) -> None:
        """Write one JSON object per line, models without their defaults; nothing if a row cannot be written."""
        with self.replacing(name) as file:
            for row in rows:
                line = (
                    row.model_dump_json(exclude_defaults=True)
                    if isinstance(row, BaseModel)
                    else canonical(row)
                )
                file.write(line.encode() + b"\n")

    def write_text(self, name: str, text: str) -> None:
        """Write a file so that it is complete or absent.

        Raises:
            RunError: it cannot be written.
        """
        with self.replacing(name) as file:
            # A command line may contain bytes that are not UTF-8; inside JSON their escapes are valid.
            file.write(text.encode("utf-8", "backslashreplace"))

    @contextmanager
    def replacing(self, name: str) -> Generator[_Hashed]:
        """Open a new file that replaces `name` when the block ends, and is removed if the block raises.

        Raises:
            RunError: it cannot be written.
        """
        path = self.root / name
        with os_errors(RunError, f"{path}: cannot be written"):
            self.check_inside(path.parent)
            with replacing(path) as file:
                hashed = _Hashed(file)
                yield hashed
            self.digests[name] = hashed.digest
            self._opened.pop(name, None)

    def append(self, key: str, record: BaseModel, items: Mapping[str, bytes], *, complete: bool) -> None:
        """Add a report to the journal; without one that `resume` began, to one that ends with `collect`.

        Args:
            key: key of the report.
            record: its line of `cases.jsonl`.
            items: its lines (`items.line_of`) by the names of their files.
            complete: whether a continued run may reuse them.

        Raises:
            RunError: the journal cannot be written.
        """
        with os_errors(RunError, f"{self.root / JOURNAL}: cannot be written"):
            if self.journal is None:
                self.root.mkdir(parents=True, exist_ok=True)
                self.journal = Journal.new(self.root / JOURNAL, b"")
            self.journal.add(key, record, items, complete=complete)

    def collect(self, keys: Iterable[str]) -> None:
        """Write the items in the journal to their files, in the order of `keys`, and close the journal.

        Raises:
            RunError: a file cannot be written.
        """
        if self.journal is None:
            return
        with ExitStack() as opened:
            writers: dict[str, ItemWriter] = {}
            for key in keys:
                for name, line in self.journal.items(key).items():
                    if name not in writers:
                        writers[name] = opened.enter_context(self._writing(name))
                    writers[name].add(key, line)
        if not self.journal.header():
            (self.root / JOURNAL).unlink()
        self.journal.close()
        self.journal = None

    def write_items(self, name: str, items: Iterable[tuple[str, BaseModel]]) -> None:
        """Write a file of items: pairs of a report's id and its claim set or findings, in input order.

        Raises:
            RunError: it cannot be written.
        """
        with self._writing(name) as writer:
            for case, item in items:
                writer.add(file_key(case), line_of(case, item))

    @contextmanager
    def _writing(self, name: str) -> Generator[ItemWriter]:
        with self.replacing(name) as items, self.replacing(index_of(name)) as index:
            yield ItemWriter(items, index)

    def check_inside(self, folder: Path) -> None:
        """Refuse a folder of the run that a link leads out of the run directory.

        Raises:
            RunError: the folder is outside.
        """
        try:
            whole = folder.exists() or not folder.is_symlink()  # Python 3.13 resolves links in a circle
            inside = whole and folder.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):  # links in a circle
            inside = False
        if not inside:
            raise RunError(f"{folder}: a link that leads out of {self.root}; remove it")

    def is_new(self) -> bool:
        """Check whether the directory is free for a run: absent, empty, or with nothing but a ledger.

        Raises:
            RunError: the directory contains something else, or cannot be read.
        """
        if (self.root / MANIFEST).exists():
            return False
        with os_errors(RunError, f"{self.root}: cannot be the directory of a run; choose another --out"):
            names = [entry.name for entry in self.root.iterdir()] if self.root.exists() else []
        if any(not name.startswith((".", self.ledger.name)) for name in names):
            raise RunError(f"{self.root}: not empty and not a run; choose another --out")
        return True

    def unfinish(self) -> None:
        """Remove the list of reports, which marks the run as unfinished.

        The run's files are about to be written again, and old files must not be read together with new ones.

        Raises:
            RunError: the list cannot be removed.
        """
        with os_errors(RunError, f"{self.root}: cannot be written"):
            (self.root / CASES).unlink(missing_ok=True)

    def read_text(self, name: str) -> str:
        """Read a text file.

        Raises:
            RunError: the file is missing, or differs from what was written or sealed.
        """
        content = self.read_bytes(name)
        if name in self.digests and digest_of(content) != self.digests[name]:
            raise self._differs(name)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RunError(f"{self.root / name}: {error}") from None

    def read_bytes(self, name: str) -> bytes:
        """Read a file without checking its digest.

        Raises:
            RunError: the file is missing.
        """
        with self._open(name, MOST_TEXT) as file:
            return file.read()

    def file_digest(self, name: str) -> str:
        """Return the SHA-256 of a file. Raises RunError: it cannot be read."""
        with self._open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def _open(self, name: str, most: int = MOST_FILE) -> Generator[BufferedReader]:
        """Open a file of the run for reading.

        Raises:
            RunError: it is missing, cannot be read, has more than `most` bytes, or a link leads out of the run.
        """
        path = self.root / name
        try:
            with open_file(path, most, inside=self._bounds) as file:
                yield file
        except (FileNotFoundError, NotADirectoryError):
            raise self._absent(name) from None
        except OSError as error:
            raise RunError(f"{path}: {reason_of(error)}") from None

    def _absent(self, name: str) -> RunError:
        if not self.root.exists():
            return RunError(f"{self.root}: no such folder")
        if not self._has_manifest():
            return RunError(f"{self.root}: not a run; `local-judge run` makes one")
        if not (self.root / CASES).exists():
            return RunError(f"{self.root}: the run is not finished; repeat its command")
        return RunError(f"{self.root}: no {name} there; repeat the command of the run")

    def _differs(self, name: str, of: str = "") -> RunError:
        if not self.remedy:
            return RunError(f"{self.root / name}: changed by another process; run the command again")
        return RunError(
            f"{self.root}: modified since the run ended: {name} differs from the seal{of}; {self.remedy}, "
            "--allow-modified reads it anyway"
        )

    def _has_manifest(self) -> bool:
        """Check whether the directory has the manifest of a run; a snapshot has a file of the same name."""
        try:
            manifest: object = json.loads(read_file(self.root / MANIFEST, MOST_JSON))
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(manifest, dict) and "config" in manifest

    def read_json(self, name: str) -> Any:
        """Read a JSON file; NaN and infinity are refused."""
        try:
            return json.loads(self.read_text(name), parse_constant=_finite, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self.root / name}: {not_json(error)}") from None

    def read_model(self, name: str, model: type[T]) -> T:
        """Read a JSON file as a model."""
        return _validated(model, self.read_text(name), f"{self.root / name}")

    def read_models(self, name: str, model: type[T]) -> list[T]:
        """Read one model per line."""
        return list(self.each_model(name, model))

    def each_model(
        self, name: str, model: type[T], keep: Callable[[bytes], bool] = lambda line: True
    ) -> Iterator[T]:
        """Yield one model per line; a file that differs from what was written or sealed raises at its end.

        Args:
            name: name of the file.
            model: type of a line.
            keep: returns False for lines that are left out without being parsed.

        Raises:
            RunError: as `read_text`, or a line cannot be read.
        """
        lines = self.lines(name)
        for number, line in enumerate(lines, 1):
            if line and keep(line):
                try:
                    yield _validated(model, line, f"{self.root / name}:{number}")
                except RunError:
                    for _ in lines:  # a modified file is named as that
                        pass
                    raise

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file without their ends; raises as `each_model`."""
        digest = hashlib.sha256()
        with self._open(name) as file:
            for line in each_line(file, self.root / name):
                digest.update(line)
                yield line.removesuffix(b"\n")
        if digest.hexdigest() != self.digests.get(name, digest.hexdigest()):
            raise self._differs(name)

    def read_item(self, name: str, key: str, model: type[T]) -> T:
        """Return an item of a report; arguments and errors as `find_item`, and RunError if there is none."""
        found = self.find_item(name, key, model)
        if found is None:
            raise self._absent(f"line {key} in {name}")
        return found

    def find_item(self, name: str, key: str, model: type[T]) -> T | None:
        """Return an item of a report; None if there is none.

        Args:
            name: name of the file (`items.claims_file`, `items.findings_file`).
            key: key of the report.
            model: type of the item.

        Raises:
            RunError: it differs from what was written or sealed, or cannot be read.
        """
        line = self.item(name, key)
        if line is None:
            return None
        return _validated(model, item_json(line, model), f"{self.root / name}: {key}")

    def inputs(self) -> Iterator[dict[str, Any]]:
        """Yield the reports of the run, finished or not, in input order. Raises RunError: they cannot be read."""
        for number, line in enumerate(self.lines(INPUTS), 1):
            try:
                row: object = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise RunError(f"{self.root / INPUTS}:{number}: {not_json(error)}") from None
            fields = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
            texts = [fields.get("id"), *(fields.get(name) or "" for name in ("system", "task", "sha256"))]
            if not all(isinstance(one, str) and is_text(one) for one in texts):
                raise RunError(f"{self.root / INPUTS}:{number}: not a report")
            yield fields

    def item(self, name: str, key: str) -> bytes | None:
        """Return the line of a report in a file of items, without its end; None if it has none.

        Raises:
            RunError: it differs from what was written or sealed.
        """
        if self.journal is not None:
            return self.journal.items(key).get(name)
        file = self.item_file(name)
        place = None if file is None else file.index.find(key)
        if file is None or place is None:
            return None
        line = file.read(place)
        if line is None:
            raise self._differs(name, f" ({key})")
        return line

    def items(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield the keys and lines of a finished file of items, in its order; raises as `item`."""
        file = self.item_file(name)
        for place in file.index if file is not None else ():
            line = self.item(name, place.key)
            if line is not None:
                yield place.key, line

    def find_moved(self, name: str) -> None:
        """Look for the items of a modified file: those that its index knows are read from where they are now."""
        file = self.item_file(name)
        if file is not None:
            with os_errors(RunError, f"{self.root / name}: cannot be read"):
                now = Index.of(self.root / name, self._bounds)
                known = {(place.key, place.sha256) for place in file.index}
                same = (place.line() for place in now if (place.key, place.sha256) in known)
                self._opened[name] = ItemFile(self.root / name, Index(b"".join(same)), self._bounds)

    def item_file(self, name: str) -> ItemFile | None:
        """Return a finished file of items, None if the run has none of this name.

        A sealed or written file is read through its index. The index of any other follows from the file.
        """
        if name not in self._opened:
            path = self.root / name
            if not path.is_file():
                return None
            with os_errors(RunError, f"{path}: cannot be read"):
                known = name in self.digests
                index = (
                    Index(self.read_text(index_of(name)).encode()) if known else Index.of(path, self._bounds)
                )
                self._opened[name] = ItemFile(path, index, self._bounds)
        return self._opened[name]


class _Hashed:
    """File that is written, and the SHA-256 of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._digest = file, hashlib.sha256()

    @property
    def digest(self) -> str:
        """SHA-256 in hex digits."""
        return self._digest.hexdigest()

    def write(self, content: bytes) -> None:
        """Write some bytes."""
        self._digest.update(content)
        self._file.write(content)


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written[:40]} is not a JSON number")
    return number


def _validated(model: type[T], text: str | bytes, place: str) -> T:
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise RunError(f"{place}: {first_problem(error, 'the record', model)}") from None
