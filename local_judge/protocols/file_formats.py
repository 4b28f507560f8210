"""File formats: a run's findings as the files of a published project, and such files read as findings.

A protocol offers a format with one class and `BaseProtocol.file_format`; commands, checks of the target folder and
messages follow from it.

Invariants: a format takes plain data and returns texts: it neither reads a run nor writes a file. Names of folders
consist of numbers and plain letters, never of a report's text. A report that has no place in the files is named, with
the reason.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast

from local_judge.base.errors import InputError, os_errors
from local_judge.base.files import read_file
from local_judge.base.model import Frozen
from local_judge.base.output import count
from local_judge.base.rows import is_text, parse_object, read_text
from local_judge.base.strict_json import strict_json

F = TypeVar("F")

UNNAMED = "unnamed"
"""Folder of reports without a known system."""

LARGEST = 10**9
"""A task id above it is a name made of digits, not a number."""


class ReportFindings(NamedTuple, Generic[F]):
    """One report of a run, with the findings of one judge."""

    id: str
    task: str | None
    system: str | None
    findings: F | None
    """None if the report was not evaluated."""
    status: str
    """Reason of missing findings, in a word."""


class RunFindings(NamedTuple, Generic[F]):
    """Results of a run by one protocol and one judge."""

    reports: tuple[ReportFindings[F], ...]
    """Reports in the order of the run."""
    day: str | None
    """Day of the evaluation, if the run was given one; the clock is never read."""
    engine: str | None
    model: str | None
    """The judge's; None in a run that was imported."""

    @property
    def systems(self) -> tuple[str | None, ...]:
        """Systems in the order of the run."""
        return tuple(dict.fromkeys(report.system for report in self.reports))


class ExportedReport(Frozen):
    """Row of one report in the list beside the files. Each format adds the fields that its files need."""

    report: str
    """Id of the report."""
    task: str | None
    """Id of its task."""
    system: str | None
    """System that wrote it."""

    @classmethod
    def of(cls, report: ReportFindings[Any], **fields: Any) -> Self:
        """Return the row of a report with the fields of its format."""
        return cls(report=report.id, task=report.task, system=report.system, **fields)


class NumberedReport(ExportedReport):
    """A report that has a number in the files of its system's folder."""

    folder: str
    """Folder of its files: `.`, or the system's folder. The folder of a name with other characters than plain lower
    case ends in a hash; `unnamed` stands for an unknown system."""
    sample: int | None
    """Its number; None if it was left out."""
    left_out: str = ""
    """Reason, or the part that was left out, in a few words."""
    n_failed: int = 0
    """Answers that failed, as the format writes them."""
    n_sentences_failed: int = 0
    """Sentences with unknown claims, which no figure includes."""
    n_pairs_failed: int = 0
    """Pairs of claim and page without a verdict through a failure, which the figures charge to the report."""


class Outcome(NamedTuple):
    """Result of one report in an export, with its row in the list."""

    row: ExportedReport
    written: bool
    """The files contain something of it."""
    left_out: str
    """Reason of its absence, or the part that is left out, in a few words; empty if nothing is."""


class ReportList(NamedTuple):
    """The list of all reports and their results, next to the files."""

    name: str
    """Name of the list's file."""
    what: str
    """Description of the files, in a few words, such as `2 files`."""
    outcomes: Sequence[Outcome]
    """Outcomes in the order of the run."""
    notes: Sequence[str] = ()
    """Notes that a reader of the files needs, such as how failures are written."""
    part: str = ""
    """Part of a report that the list is about, if there are several lists."""


class Exported(NamedTuple):
    """Files and lists to be written."""

    files: Mapping[str, str]
    """Texts by name, relative to the folder; none where no report has anything to write."""
    lists: Sequence[ReportList]


class ImportedReport(NamedTuple, Generic[F]):
    """One report, or all reports of a system together, read from files."""

    findings: F
    """Its findings; `case` is its id, unique within the files."""
    task: str | None
    """Id of its task; `all` where the findings are about all reports of a system."""
    system: str | None = None
    """System that wrote it, if the files name it."""
    text: str = ""
    """Its text, if the files have it."""


class FailedReport(NamedTuple):
    """A report that the published code could not evaluate."""

    id: str
    """Its id, unique within the files."""
    task: str
    """Id of its task."""
    system: str | None
    """System that wrote it, if the files name it."""
    error: str
    """Reason as the file states it."""


class Imported(NamedTuple, Generic[F]):
    """Findings read from files."""

    reports: Sequence[ImportedReport[F]]
    """Reports in the order of the files; one at least."""
    sha256: str
    """Digest of the file; of several files, of their digests in order."""
    failed: Sequence[FailedReport] = ()
    """Reports without findings, in the order of the files."""


class Glimpse(NamedTuple):
    """A file or folder as far as it takes to recognise its format."""

    names: frozenset[str]
    """Names in the folder; of a file, its own name."""
    keys: frozenset[str]
    """Keys of the JSON object in a file, or of the first object of a list or of JSON lines; empty for other files."""
    text: str
    """Text of a file."""

    def has(self, pattern: str) -> bool:
        """Check whether the file, or a file or folder in the folder, has such a name (`fnmatch`)."""
        return any(fnmatchcase(name, pattern) for name in self.names)


def glimpse(path: Path) -> Glimpse:
    """Read what the formats are recognised by.

    Raises:
        InputError: it cannot be read.
    """
    if path.is_dir():
        with os_errors(InputError, f"{path}: cannot be read"):
            return Glimpse(frozenset(one.name for one in path.iterdir()), frozenset(), "")
    text = read_text(path)
    found: object = None
    with suppress(ValueError, RecursionError):
        found = strict_json(text)
    if found is None:
        with suppress(ValueError, RecursionError):
            found = strict_json(next((line for line in text.split("\n") if line.strip()), ""))
    if isinstance(found, list) and found:
        found = cast("list[object]", found)[0]
    keys = cast("dict[str, object]", found).keys() if isinstance(found, dict) else ()
    return Glimpse(frozenset({path.name}), frozenset(keys), text)


def file_digest(*paths: Path) -> str:
    """Return the SHA-256 of a file; of several, of their digests in order.

    Raises:
        InputError: one cannot be read.
    """
    digests: list[bytes] = []
    for path in paths:
        with os_errors(InputError, f"{path}: cannot be read"):
            digests.append(hashlib.sha256(read_file(path)).digest())
    return digests[0].hex() if len(digests) == 1 else hashlib.sha256(b"".join(digests)).hexdigest()


def content_id(*values: object) -> str:
    """Return a digest of JSON data, which stands for the text of a report that the files do not have."""
    content = json.dumps(values[0] if len(values) == 1 else values, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def read_record(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, which an export writes back.

    Raises:
        InputError: it cannot be read or is no object, or a text in it cannot be written as UTF-8.
    """
    data = parse_object(read_text(path), str(path))
    if not is_text(json.dumps(data, ensure_ascii=False)):
        raise InputError(f"{path}: contains a lone surrogate, which cannot be written as UTF-8")
    return data


def printed_lines(path: Path) -> dict[str, str]:
    """Return the lines `name: value` of a file that a published script prints, by name.

    Raises:
        InputError: it cannot be read.
    """
    found: dict[str, str] = {}
    for line in read_text(path).split("\n"):
        name, _, value = line.partition(":")
        if line.strip():
            found[name.strip()] = value.strip()
    return found


def folder_system(path: Path, kind: str) -> str | None:
    """Return the system whose results a file holds: DeepResearch Bench keeps them in `KIND/SYSTEM/`."""
    folder = path.resolve().parent
    return folder.name if folder.parent.name == kind else None


def result_file(path: Path, patterns: Sequence[str]) -> Path:
    """Return a file, or the file in a folder that has the first of several names (`fnmatch`).

    Raises:
        InputError: the folder has none, or several of one name.
    """
    if not path.is_dir():
        return path
    for pattern in patterns:
        found = sorted(path.glob(pattern))
        if len(found) > 1:
            raise InputError(f"{path}: contains {len(found)} files {pattern}; import one of them")
        if found:
            return found[0]
    raise InputError(f"{path}: contains neither {' nor '.join(patterns)}")


class FileFormat(ABC, Generic[F]):
    """The files of a published project, which an export writes with the numbers of the profile `upstream`."""

    title: ClassVar[str]
    """The project's name for people."""

    @abstractmethod
    def write(self, run: RunFindings[F]) -> Exported:
        """Return the files of a run."""


class ReadableFormat(FileFormat[F]):
    """A format whose files can also be read as findings."""

    reads: ClassVar[str]
    """Files that `read` takes, in a few words."""

    @abstractmethod
    def recognises(self, seen: Glimpse) -> bool:
        """Check whether a file or folder looks like one that `read` takes."""

    @abstractmethod
    def read(self, path: Path) -> Imported[F]:
        """Return the findings in a file or folder.

        Raises:
            InputError: it cannot be read, or has another format.
        """


class NumberedFormat(FileFormat[F]):
    """A format with a folder per system and a number per report; `samples.json` says which report has which number."""

    @abstractmethod
    def files(self, numbered: Mapping[int, F]) -> Mapping[str, str]:
        """Return the texts of a system's files by name, from the findings that they hold, by number."""

    def describe(self, findings: F) -> tuple[bool, dict[str, Any]]:
        """Return whether the files hold anything of a report, and the other fields of its row."""
        return True, {}

    def notes(self, written: Sequence[NumberedReport]) -> list[str]:
        """Return what a reader of the files must know about the reports in them."""
        return []

    def write(self, run: RunFindings[F]) -> Exported:
        """Write the files of each system, with the numbers of `by_folder`."""
        rows: dict[str, NumberedReport] = {}
        files: dict[str, str] = {}
        for folder, own in by_folder(run):
            numbered: dict[int, F] = {}
            for number, report in own:
                kept = False
                fields: dict[str, Any] = {"left_out": report.status}
                if report.findings is not None:
                    kept, fields = self.describe(report.findings)
                    if kept:
                        numbered[number] = report.findings
                sample = number if kept else None
                rows[report.id] = NumberedReport.of(report, folder=folder, sample=sample, **fields)
            if numbered:
                files |= {f"{folder}/{name}": text for name, text in self.files(numbered).items()}
        listed = [rows[report.id] for report in run.reports]
        outcomes = [Outcome(row, row.sample is not None, row.left_out) for row in listed]
        notes = self.notes([row for row in listed if row.sample is not None])
        return Exported(files, [ReportList("samples.json", count(len(files), "file"), outcomes, notes)])


def json_text(data: object) -> str:
    """Return the content of a JSON file."""
    return json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def jsonl_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the content of a JSONL file."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


_HASHED = re.compile(r"(?:^|-)[0-9a-f]{8}$")
"""A name that looks as if it had a hash is given one, so that no two systems share a folder."""


def folder_name(system: str | None) -> str:
    """Return a folder's name for a system: its own name if plain, else with other characters replaced, and a hash."""
    if system is None:
        return UNNAMED
    plain = re.sub(r"[^a-z0-9._-]+", "-", system).strip(".-")[:40]
    if (
        plain == system
        and plain not in ("", UNNAMED)
        and not plain.endswith(".json")
        and not _HASHED.search(plain)
    ):
        return plain
    digest = hashlib.sha256(system.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}" if plain else digest


def by_folder(run: RunFindings[F]) -> Iterator[tuple[str, list[tuple[int, ReportFindings[F]]]]]:
    """Yield each system's folder, `.` where there is one system, with its reports and their numbers.

    A number is the task's id where the reports of a system all have whole numbers for ids, each its own; else the
    report's position in the run, from 1.
    """
    for system in run.systems:
        own = [(number, report) for number, report in enumerate(run.reports, 1) if report.system == system]
        numbers = [_number(report.task) for _, report in own]
        known = [number for number in numbers if number is not None]
        if len(known) == len(set(known)) == len(own):
            own = [(number, report) for number, (_, report) in zip(known, own, strict=True)]
        yield "." if len(run.systems) == 1 else folder_name(system), own


def _number(task: str | None) -> int | None:
    if task is None or not re.fullmatch(r"[0-9]+", task) or int(task) > LARGEST:
        return None
    return int(task)
