"""Files of a folder of reports: those that are read, and why the others are not.

Invariant: every entry of a folder is one or the other, but for hidden ones and the files that belong to a saved page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from local_judge.documents.kinds import HTML_SUFFIXES, REPORT_SUFFIXES, TEXT_SUFFIXES, why_not_read
from local_judge.tasks.layouts import published_reports

_MOST_NAMED = 10
"""Maximum number of files that a message names."""


class ReportFiles(NamedTuple):
    """Entries of a folder, in order of name."""

    read: tuple[Path, ...]
    left_out: tuple[tuple[str, str], ...]
    """Names, each with the reason."""


def report_files(folder: Path) -> ReportFiles:
    """Return the files of a folder of reports."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    texts = {entry.stem: entry.name for entry in entries if entry.suffix.lower() in TEXT_SUFFIXES}
    pages = {entry.stem for entry in entries if entry.suffix.lower() in HTML_SUFFIXES}
    read: list[Path] = []
    others: list[tuple[str, str]] = []
    for entry in entries:
        if entry.is_dir() and entry.name.removesuffix("_files") in pages:
            continue  # pictures of a saved page
        reason = _why_left_out(entry, texts)
        if reason is None:
            read.append(entry)
        else:
            others.append((entry.name, reason))
    return ReportFiles(tuple(read), tuple(others))


def _why_left_out(entry: Path, texts: dict[str, str]) -> str | None:
    suffix = entry.suffix.lower()
    if not entry.is_file():
        return "a folder; name it itself"
    if suffix in (".json", ".jsonl"):
        return "rows; name it itself"
    if suffix in HTML_SUFFIXES and entry.stem in texts:
        return f"{texts[entry.stem]} is read"
    return why_not_read(entry.name, suffix) or (
        None if suffix in REPORT_SUFFIXES else "its name has no suffix"
    )


def left_out(paths: Iterable[Path]) -> Iterator[str]:
    """Yield one line for each folder that has files which are not read."""
    for path in paths:
        if path.is_dir() and published_reports(path) is None:
            read, others = report_files(path)
            if others:
                named = [f"{name} ({reason})" for name, reason in others[:_MOST_NAMED]]
                more = len(others) - len(named)
                yield (
                    f"{path}: {len(read)} of {len(read) + len(others)} files are read; left out: {'; '.join(named)}"
                    + (f"; and {more} more" if more else "")
                )
