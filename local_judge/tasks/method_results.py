"""Reports in DeepResearchEval's layout: a folder for each system, a JSON file for each report.

    <base>/<system>/deep_research_<id>_<time>.json    or <id>.json
        entries[0]: response, the report; query, the request; the task's id under query_id or in the file's name
    a file of response and query (or user_query) alone is read too

What a chat has put around a response is taken off where reports are parsed (`documents.preamble`), and not here.

Invariant: systems come in the order of their names and reports in that of their ids; of a report nothing is read but
its text, its request and the task's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from indexes.strict_json import strict_json
from local_judge.errors import InputError
from local_judge.rows import row_id

_NAMED = re.compile(r"(?:deep_research_(?P<task>\d+)_.*|(?P<plain>\d+))\.json", re.DOTALL)
_OTHERS = (".md", ".markdown", ".txt")
BASE = "method_results"
"""Name of the folder of all systems in the published project."""


class MethodReport(NamedTuple):
    """One report."""

    task_id: str
    query: str
    response: str
    path: Path
    system: str | None
    """Name of its folder, where that says which system it is of."""


def is_method_folder(path: Path) -> bool:
    """Whether a folder is one of systems, or of one system: it has such files in it, and no report of another form."""
    return path.is_dir() and (
        _holds(path) or any(_holds(inner) for inner in path.iterdir() if inner.is_dir())
    )


def _holds(folder: Path) -> bool:
    """Whether a folder has such reports in it; what cannot be looked into has none."""
    try:
        files = [file for file in folder.iterdir() if file.is_file()]
    except OSError:
        return False
    return any(_NAMED.fullmatch(file.name) for file in files) and not any(
        file.suffix.lower() in _OTHERS for file in files
    )


def method_reports(path: Path) -> Iterator[MethodReport]:
    """The reports of a folder of systems, or of one system's; other files are passed over.

    Raises:
        InputError: a file is no such report.
    """
    folders = [path] if _holds(path) else [inner for inner in sorted(path.iterdir()) if _holds(inner)]
    for folder in folders:
        found = [method_report(file) for file in folder.iterdir() if _NAMED.fullmatch(file.name)]
        for report in sorted(found, key=lambda one: (len(one.task_id), one.task_id, one.path.name)):
            yield report._replace(system=folder.absolute().name)


def method_report(path: Path) -> MethodReport:
    """The report of one file.

    Raises:
        InputError: it cannot be read or is no such report, or its name and its `query_id` say different ids.
    """
    named = _NAMED.fullmatch(path.name)
    by_name = (named["task"] or named["plain"]) if named else None
    try:
        data: Any = strict_json(path.read_bytes())
        identity = row_id({"id": data.get("query_id")}, str(path)) or by_name
        entry = cast("dict[str, Any]", data["entries"][0] if "entries" in data else data)
        query = entry.get("query", entry.get("user_query"))
        response = entry["response"]
        if identity is None or not isinstance(query, str) or not isinstance(response, str):
            raise TypeError
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{path}: not a report of DeepResearchEval (needs query_id and entries[0].response)"
        ) from None
    if by_name is not None and identity != by_name:
        raise InputError(f"{path}: its query_id is {identity!r}, and its name says {by_name!r}; correct one")
    above = path.absolute().parent
    system = above.name if above.parent.name == BASE else None
    return MethodReport(identity, query, response, path, system)
