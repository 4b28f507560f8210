"""A run directory.

    manifest.json              what was run: see `runs.manifest`; of a finished run its seal: see `runs.seal`
    cases.jsonl                one line per report, in input order: id, file key, document id, failure
    claims/<key>.json          the claim set of one report
    findings/<protocol>/<key>.json
    scores/<protocol>.jsonl    one line per report and profile
    evidence_gaps.jsonl        what the protocols' agents missed in the snapshot, where they have any
    agreement.jsonl            of several judges: one line per protocol, metric and judges compared
    journal.jsonl              of an unfinished run: see `runs.resume`
    ledger.sqlite              the judges' replies, unless another ledger was named
    .lock                      while a command is at work: see `runs.lock`

Of several judges, each has claim sets and findings of its own: claims/<judge>/<key>.json and
findings/<protocol>/<judge>/<key>.json.

Invariants: a file is whole or not there (written beside, then renamed; but for the journal, whose last line may be cut
off); file names are made from a hash, never from a report's id; the same inputs and replies give the same bytes, so
nothing that stays here holds a clock's time; a file whose digest is known is read only if it still has it.
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

from local_judge.errors import RunError, brief

T = TypeVar("T", bound=BaseModel)

MANIFEST = "manifest.json"
FORMAT = 2
"""Version of a run's files, `format_version` in the manifest; 1 is that of manifests without. Raised when findings,
scores or records change form."""
CASES = "cases.jsonl"

PARTIAL = ".partial"
"""Ends the name of a file that is being written; before it stands the process that writes."""


def file_key(case_id: str) -> str:
    """The name under which a report's files are kept: 16 hex digits of the SHA-256 of its id."""
    return hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def claims_file(key: str, judge: str | None) -> str:
    """Name of the file with a report's claim set; `judge` is None for the only one."""
    return f"claims/{key}.json" if judge is None else f"claims/{judge}/{key}.json"


def findings_file(protocol: str, key: str, judge: str | None) -> str:
    """Name of the file with a protocol's findings on a report; `judge` is None for the only one."""
    return f"findings/{protocol}/" + (f"{key}.json" if judge is None else f"{judge}/{key}.json")


def digest_of(content: bytes) -> str:
    """Hex SHA-256."""
    return hashlib.sha256(content).hexdigest()


def check_format(root: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse the directory of a run whose files have another form than those written here.

    Raises:
        RunError: it has another format version.
    """
    found = manifest.get("format_version", 1)
    if found != FORMAT:
        raise RunError(
            f"{root}: a run of format {brief(found)}, and this version of local_judge reads format {FORMAT}; "
            "run the evaluation again with another --out (--ledger reuses the replies)"
        )


def canonical(value: object) -> str:
    """JSON with sorted keys and no NaN: equal values give equal bytes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


class RunStore:
    """Reads and writes one run directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.digests: dict[str, str] = {}
        """SHA-256 by name, of what was written here and of what was found to be as it was sealed."""

    @property
    def ledger(self) -> Path:
        """Where the replies are kept unless told otherwise."""
        return self.root / "ledger.sqlite"

    def write_json(self, name: str, value: BaseModel | dict[str, Any]) -> None:
        """Write one JSON file, indented for people."""
        data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"
        self.write_text(name, text)

    def write_jsonl(self, name: str, rows: Iterable[BaseModel | dict[str, Any]]) -> None:
        """Write one JSON object per line."""
        dumped = (row.model_dump(mode="json") if isinstance(row, BaseModel) else row for row in rows)
        self.write_text(name, "".join(canonical(row) + "\n" for row in dumped))

    def write_text(self, name: str, text: str) -> None:
        """Write a file so that it is whole or absent.

        Raises:
            RunError: it cannot be written.
        """
        path = self.root / name
        beside = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")
        try:
            self.check_inside(path.parent)
            path.parent.mkdir(parents=True, exist_ok=True)
            # A command line may hold bytes that are no text: inside JSON their escapes are right.
            content = text.encode("utf-8", "backslashreplace")
            beside.unlink(missing_ok=True)
            with beside.open("xb") as file:  # never through a link that was there
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
            self.digests[name] = digest_of(content)
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None

    def check_inside(self, folder: Path) -> None:
        """Refuse a folder of the run that is elsewhere: what is there is not ours to write or remove.

        Raises:
            RunError: it is, by a link.
        """
        try:
            inside = folder.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):  # links in a circle
            inside = False
        if not inside:
            raise RunError(f"{folder}: a link that leads out of {self.root}; remove it")

    def is_new(self) -> bool:
        """Whether no run has been here; a ledger alone is none.

        Raises:
            RunError: the directory holds something else, or cannot be one.
        """
        if (self.root / "manifest.json").exists():
            return False
        try:
            names = sorted(entry.name for entry in self.root.iterdir()) if self.root.exists() else []
        except OSError as error:
            raise RunError(f"{self.root}: cannot hold a run ({error.strerror or error})") from None
        if any(not name.startswith((".", self.ledger.name)) for name in names):
            raise RunError(f"{self.root}: not empty and not a run; choose another --out")
        return True

    def unfinish(self) -> None:
        """Take away the list of reports, without which a run is not finished.

        Its files are about to be made anew, and what is old among them must not be read beside what is new.

        Raises:
            RunError: it cannot be taken away.
        """
        try:
            (self.root / CASES).unlink(missing_ok=True)
        except OSError as error:
            raise RunError(f"{self.root}: cannot be written ({error.strerror or error})") from None

    def sweep(self) -> None:
        """Remove what processes left half written that were killed."""
        for path in sorted(self.root.rglob(f".*{PARTIAL}")):
            process = path.name.removesuffix(PARTIAL).rpartition(".")[2]
            if process.isdecimal() and not _runs(int(process)):
                path.unlink(missing_ok=True)

    def read_text(self, name: str) -> str:
        """The content of a file.

        Raises:
            RunError: it is not there, or no longer what was written or sealed.
        """
        content = self.read_bytes(name)
        if name in self.digests and digest_of(content) != self.digests[name]:
            raise RunError(f"{self.root / name}: changed by another process meanwhile; run the command again")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RunError(f"{self.root / name}: {error}") from None

    def read_bytes(self, name: str) -> bytes:
        """The bytes of a file, whatever they should be.

        Raises:
            RunError: it is not there.
        """
        path = self.root / name
        try:
            if path.exists() and not path.is_file():  # a pipe, say, from which reading may never end
                raise RunError(f"{path}: not a file")
            return path.read_bytes()
        except FileNotFoundError:
            raise RunError(
                f"{self.root}: no {name} there; is it a finished run of `local-judge run`?"
            ) from None
        except OSError as error:
            raise RunError(f"{path}: {error}") from None

    def read_json(self, name: str) -> Any:
        """One JSON file, without NaN and infinity, as `write_json` leaves it."""
        try:
            return json.loads(self.read_text(name), parse_constant=_finite, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self.root / name}: not JSON ({error})") from None

    def read_model(self, name: str, model: type[T]) -> T:
        """One JSON file as a model."""
        return _validated(model, self.read_text(name), f"{self.root / name}")

    def read_models(self, name: str, model: type[T]) -> list[T]:
        """One model per line."""
        # Not `splitlines`: JSON leaves U+2028 and others as they are, which that takes for ends of lines.
        lines = enumerate(self.read_text(name).split("\n"), 1)
        return [_validated(model, line, f"{self.root / name}:{number}") for number, line in lines if line]


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written[:40]} is no number of JSON")
    return number


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's, and alive
    return True


def _validated(model: type[T], text: str, place: str) -> T:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise RunError(f"{place}: {where}: {first['msg']}") from None
