"""Run directory.

    manifest.json              inputs, judges and settings (`runs.manifest`); of a finished run its seal (`runs.seal`)
    cases.jsonl                one line per report, in input order: id, file key, document id, failure
    claims/<key>.json          claim set of one report
    findings/<protocol>/<key>.json
    scores/<protocol>.jsonl    one line per report and profile
    evidence_gaps.jsonl        pages and queries that the protocols' agents missed in the snapshot, if they have agents
    agreement.jsonl            of several judges: one line per protocol, metric and set of judges compared
    journal.jsonl              of an unfinished run: see `runs.resume`
    ledger.sqlite              the judges' replies, unless another ledger was given
    .lock                      while a command writes here: see `runs.lock`

With several judges, each has its own claim sets and findings: claims/<judge>/<key>.json and
findings/<protocol>/<judge>/<key>.json.

Invariants: a file is complete or absent (written beside its place, then renamed), except the journal, whose last line
may be cut off; file names are hashes, never report ids; the same inputs and replies give the same bytes, so no file
contains a clock time; a file with a known digest is read only if it still matches.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from local_judge.errors import RunError, brief, first_problem, not_json, os_errors, reason_of

T = TypeVar("T", bound=BaseModel)

MANIFEST = "manifest.json"
FORMAT = 2
"""Version of a run's files, `format_version` in the manifest; a manifest without one has version 1. It is raised when
the form of findings, scores or records changes."""
CASES = "cases.jsonl"

PARTIAL = ".partial"
"""Suffix of a file that is being written; the number of the writing process comes before it."""


def file_key(case_id: str) -> str:
    """Return the name of a report's files: the first 16 hex digits of the SHA-256 of its id."""
    return hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def claims_file(key: str, judge: str | None) -> str:
    """Return the name of a report's claim set; `judge` is None for the only judge."""
    return f"claims/{key}.json" if judge is None else f"claims/{judge}/{key}.json"


def findings_file(protocol: str, key: str, judge: str | None) -> str:
    """Return the name of a protocol's findings on a report; `judge` is None for the only judge."""
    return f"findings/{protocol}/" + (f"{key}.json" if judge is None else f"{judge}/{key}.json")


def digest_of(content: bytes) -> str:
    """Return the SHA-256 in hex digits."""
    return hashlib.sha256(content).hexdigest()


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
    """Access to the files of one run directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.digests: dict[str, str] = {}
        """SHA-256 by name, of files written through this object or found to match the seal."""
        self.checked = False
        """Whether the seal of the finished run has been checked (see `seal.check_seal`)."""

    @property
    def ledger(self) -> Path:
        """Default path of the ledger."""
        return self.root / "ledger.sqlite"

    def write_json(self, name: str, value: BaseModel | dict[str, Any]) -> None:
        """Write an indented JSON file."""
        data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        self.write_text(name, rendered(data))

    def write_jsonl(self, name: str, rows: Iterable[BaseModel | dict[str, Any]]) -> None:
        """Write one JSON object per line."""
        dumped = (row.model_dump(mode="json") if isinstance(row, BaseModel) else row for row in rows)
        self.write_text(name, "".join(canonical(row) + "\n" for row in dumped))

    def write_text(self, name: str, text: str) -> None:
        """Write a file so that it is complete or absent.

        Raises:
            RunError: it cannot be written.
        """
        path = self.root / name
        beside = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")
        with os_errors(RunError, f"{path}: cannot be written"):
            self.check_inside(path.parent)
            path.parent.mkdir(parents=True, exist_ok=True)
            # A command line may contain bytes that are not UTF-8; inside JSON their escapes are valid.
            content = text.encode("utf-8", "backslashreplace")
            beside.unlink(missing_ok=True)
            with beside.open("xb") as file:  # never through an existing link
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
            self.digests[name] = digest_of(content)

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

    def sweep(self) -> None:
        """Remove the incomplete files of processes that were killed."""
        for path in sorted(self.root.rglob(f".*{PARTIAL}")):
            process = path.name.removesuffix(PARTIAL).rpartition(".")[2]
            if process.isdecimal() and not _runs(int(process)):
                path.unlink(missing_ok=True)

    def read_text(self, name: str) -> str:
        """Read a text file.

        Raises:
            RunError: the file is missing, or differs from what was written or sealed.
        """
        content = self.read_bytes(name)
        if name in self.digests and digest_of(content) != self.digests[name]:
            raise RunError(f"{self.root / name}: changed by another process; run the command again")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RunError(f"{self.root / name}: {error}") from None

    def read_bytes(self, name: str) -> bytes:
        """Read a file without checking its digest.

        Raises:
            RunError: the file is missing.
        """
        path = self.root / name
        try:
            if path.exists() and not path.is_file():  # reading from a pipe may never end
                raise RunError(f"{path}: not a file")
            return path.read_bytes()
        except FileNotFoundError:
            if not self.root.exists():
                raise RunError(f"{self.root}: no such folder") from None
            if not self._has_manifest():
                raise RunError(f"{self.root}: not a run; `local-judge run` makes one") from None
            if name == CASES or not (self.root / CASES).exists():
                raise RunError(f"{self.root}: the run is not finished; repeat its command") from None
            raise RunError(f"{self.root}: no {name} there; repeat the command of the run") from None
        except OSError as error:
            raise RunError(f"{path}: {reason_of(error)}") from None

    def _has_manifest(self) -> bool:
        """Check whether the directory has the manifest of a run; a snapshot has a file of the same name."""
        try:
            manifest: object = json.loads((self.root / MANIFEST).read_bytes())
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
        # Not `splitlines`: it also splits at U+2028 and others, which JSON texts may contain.
        lines = enumerate(self.read_text(name).split("\n"), 1)
        return [_validated(model, line, f"{self.root / name}:{number}") for number, line in lines if line]


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written[:40]} is not a JSON number")
    return number


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's process, and alive
    return True


def _validated(model: type[T], text: str, place: str) -> T:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise RunError(f"{place}: {first_problem(error, 'the record', model)}") from None
