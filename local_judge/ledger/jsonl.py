r"""Export of a ledger as JSONL, and import.

A line is a row: an object with the name of its `table` and the table's columns. Digests of texts are hexadecimal, and
texts are not compressed. Rows come in the order of `judges`, `texts`, `requests`, `replies`, `failures`,
`token_counts`, `calibrations`, and within a table in the order of their insertion.

Invariant: an exported ledger is imported without loss. A row that was altered in between is named and left out, since
it no longer matches its digest.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from local_judge.base.errors import InputError, os_errors
from local_judge.base.files import each_line, open_file
from local_judge.ledger.database import ANY_TEXT, COLUMNS, PAGE, Row, pages, transaction
from local_judge.ledger.file import connect, connect_to_read, ledger_errors
from local_judge.ledger.merge import Merged, merge
from local_judge.ledger.rows import DamagedText, text_row, verify_text

MOST_LINE = 64 << 20
"""Maximum number of bytes of a row: a prompt of the longest context has about 5 MB."""
_DIGESTS = frozenset({"digest", "system", "shared", "own", "schema"})
"""Columns of `texts` and `requests` that contain digests in bytes."""


def export_ledger(path: Path, damaged: list[str]) -> Iterator[str]:
    """Yield the lines of a ledger's export.

    Args:
        path: The ledger.
        damaged: Gets a line for each damaged text, which is left out; other damaged rows are exported as they are.

    Raises:
        LedgerError: Any of its kinds; the ledger must exist.
    """
    with ledger_errors(path), closing(connect_to_read(path, must_exist=True)) as connection:
        connection.text_factory = ANY_TEXT
        for table, columns in COLUMNS.items():
            names = columns.split(", ")
            for row in (row for page in pages(connection, table, columns) for row in page):
                values = dict(zip(names, row, strict=True))
                if table == "texts":
                    try:
                        values["body"] = verify_text(*row)
                    except DamagedText as error:
                        damaged.append(str(error))
                        continue
                yield (
                    json.dumps({"table": table} | {name: _plain(value) for name, value in values.items()})
                    + "\n"
                )


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def import_ledger(into: Path, file: Path) -> Merged:
    """Merge an exported ledger into a ledger, as `merge` does; a name that ends in `.gz` is decompressed.

    Raises:
        InputError: The file cannot be read, or a line is no row of a ledger.
        LedgerError: As for `merge`.
    """
    with TemporaryDirectory(prefix="ledger-") as folder:
        part = Path(folder) / file.name
        with ledger_errors(part), closing(connect(part)) as connection, transaction(connection):
            columns = {
                # A primary key of SQLite may be NULL, but a ledger's is not.
                table: {name: bool(required or key) for _, name, _, required, _, key in rows}
                for table in COLUMNS
                if (rows := connection.execute(f"PRAGMA table_info({table})").fetchall())
            }
            waiting: dict[str, list[Row]] = {table: [] for table in COLUMNS}
            for number, line in enumerate(_lines(file), 1):
                try:
                    table, row = _row(line, columns)
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    raise InputError(
                        f"{file}: line {number} is no row of an exported ledger; nothing was imported"
                    ) from None
                waiting[table].append(row)
                if len(waiting[table]) >= PAGE:
                    connection.insert(table, waiting[table])
                    waiting[table].clear()
            for table, rows in waiting.items():
                connection.insert(table, rows)
        merged = merge(into, [part])
        merged.conflicts = [line.replace(str(part), str(file)) for line in merged.conflicts]
        merged.damaged = [line.replace(str(part), str(file)) for line in merged.damaged]
        return merged


def _lines(file: Path) -> Iterator[bytes]:
    with os_errors(InputError, f"{file}: cannot be read"):
        try:
            with (
                open_file(file) as plain,
                cast("IO[bytes]", gzip.open(plain) if file.suffix == ".gz" else plain) as lines,
            ):
                yield from each_line(lines, file, MOST_LINE)
        except (EOFError, zlib.error):
            raise InputError(f"{file}: cut off; export the ledger again") from None


def _row(line: bytes, columns: dict[str, dict[str, bool]]) -> tuple[str, Row]:
    """Return the table and the row of a line; raises an error of Python if it is none.

    Args:
        line: The line.
        columns: Columns by table, each True if it has a value in every row.
    """
    values: dict[str, Any] = json.loads(line)
    table = values.pop("table")
    if values.keys() != columns[table].keys():
        raise ValueError(table)
    if not all(_is_storable(value, columns[table][name]) for name, value in values.items()):
        raise ValueError(table)
    if table in ("texts", "requests"):
        values |= {
            name: bytes.fromhex(values[name]) for name in _DIGESTS & values.keys() if values[name] is not None
        }
    if table == "texts":
        return table, text_row(values["digest"], values["body"])
    return table, tuple(values[name] for name in columns[table])


def _is_storable(value: object, required: bool) -> bool:
    """Check whether SQLite stores a value as it is."""
    if isinstance(value, str):
        value.encode()  # what was invalid UTF-8 matches no digest
        return True
    if isinstance(value, int):
        return not isinstance(value, bool) and -(2**63) <= value < 2**63
    return math.isfinite(value) if isinstance(value, float) else value is None and not required
