"""Result files of the published code: `results/<method>/task_<stem>.json`.

    [{"statement", "verification": Right | Wrong | Unknown, "evidence": [{"source", "excerpt"}], "reasoning"}]

Invariants: labels are those of the profile `upstream`, as the judge or the file gave them, with the quotations that
were found. A failed statement has no row, since the format has no word for it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from local_judge.base.errors import InputError, first_problem, reason_of
from local_judge.base.files import read_file
from local_judge.protocols.deepresearcheval.facts.findings import (
    Evidence,
    FactsFindings,
    Ruling,
    Statement,
    read_label,
)

FILE = re.compile(r"task_(.+)\.json")


def result_rows(findings: FactsFindings) -> list[dict[str, Any]]:
    """Return the rows of one report."""
    texts = {statement.id: statement.text for statement in findings.statements}
    return [
        {
            "statement": texts[ruling.statement],
            "verification": ruling.label if ruling.given is None else ruling.given,
            "evidence": [
                {"source": one.url, "excerpt": one.quote}
                for one in ruling.evidence
                if one.found or one.checked is None
            ],
            "reasoning": ruling.reasoning,
        }
        for ruling in findings.rulings
        if ruling.failure is None
    ]


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Excerpt(_Read):
    source: str = ""
    excerpt: str = ""


class _Row(_Read):
    statement: str
    verification: str
    evidence: tuple[_Excerpt, ...] = ()
    reasoning: str = ""


_ROWS = TypeAdapter(tuple[_Row, ...])


class ResultFile(NamedTuple):
    """One result file."""

    path: Path
    task: str
    """Part `<stem>` of its name."""


def result_files(path: Path) -> list[ResultFile]:
    """Return a file, or the files of a method's folder in the order of their names.

    Raises:
        InputError: no file was found, or a file has another name.
    """
    paths = sorted(path.glob("task_*.json")) if path.is_dir() else [path]
    if not paths:
        raise InputError(f"{path}: contains no file task_*.json")
    found: list[ResultFile] = []
    for one in paths:
        if not one.exists():
            raise InputError(f"{one}: no such file")
        named = FILE.fullmatch(one.name)
        if named is None:
            raise InputError(f"{one}: the name of a result file must be task_ID.json")
        found.append(ResultFile(one, named[1]))
    return found


def read_results(path: Path) -> FactsFindings:
    """Read the findings of one result file.

    Raises:
        InputError: it cannot be read, or is not a list of rows; names the row and the key.
    """
    try:
        rows = _ROWS.validate_json(read_file(path), strict=True)
    except OSError as error:
        raise InputError(f"{path}: {reason_of(error)}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from None
    return findings_of(rows)


def findings_of(rows: tuple[_Row, ...]) -> FactsFindings:
    """Return the findings of a file's rows, numbered from 1."""
    return FactsFindings(
        source="file",
        statements=tuple(
            Statement(id=str(number), text=row.statement, sentence="") for number, row in enumerate(rows, 1)
        ),
        rulings=tuple(
            Ruling(
                statement=str(number),
                label=read_label(row.verification),
                given=row.verification,
                evidence=tuple(Evidence(url=one.source, quote=one.excerpt) for one in row.evidence),
                reasoning=row.reasoning,
            )
            for number, row in enumerate(rows, 1)
        ),
    )
