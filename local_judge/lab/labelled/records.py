"""Rows of a table or of JSON Lines, each with its place.

Invariants: an error of a file is one line that names it; a gzipped file unpacks to a limited size. An empty cell of a
CSV or Parquet file is None.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from local_judge.base.errors import InputError, optional_module, os_errors
from local_judge.base.files import open_file
from local_judge.base.rows import check_columns, parse_object, read_csv
from local_judge.runs.execution.verify import MOST_BYTES

Row = Mapping[str, Any]


def records(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a JSON Lines, CSV or Parquet file with their places.

    Raises:
        InputError: the file cannot be read.
    """
    with os_errors(InputError, f"{path}: cannot be read"):
        suffix = path.suffix.lower()
        if suffix in (".parquet", ".csv"):
            rows = read_csv(path) if suffix == ".csv" else _parquet(path)
            for place, row in rows:
                yield place, {name: _cell(value) for name, value in row.items()}
        else:
            yield from json_lines(path)


def _cell(value: Any) -> Any:
    """Return the value of a cell; None for an empty one, also as pandas writes it."""
    return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a plain or gzipped file, which may unpack to `MOST_BYTES`."""
    left = MOST_BYTES
    with open_file(path) as plain, gzip.open(plain) if path.suffix.lower() == ".gz" else plain as file:
        for number in count(1):
            place = f"{path}:{number}"
            try:
                line = file.readline(left + 1)
            except (EOFError, zlib.error):
                raise InputError(f"{place}: the gzip data is damaged or cut off") from None
            left -= len(line)
            if left < 0:
                raise InputError(f"{place}: the file unpacks to more than {MOST_BYTES:,} bytes; split it")
            if not line:
                return
            try:
                text = line.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise InputError(f"{place}: not UTF-8 (byte {error.start} of the line)") from None
            if text.strip():
                yield place, parse_object(text, place)


def _parquet(path: Path) -> Iterator[tuple[str, Row]]:
    parquet = optional_module("pyarrow.parquet", "Parquet", "frames")
    try:
        open_file(path).close()  # refuses what is no regular file
        file = parquet.ParquetFile(path)
        check_columns(file.schema_arrow.names, str(path))
        rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
        for number, row in enumerate(rows, 1):
            yield f"{path}:{number}", row
    except ValueError as error:  # pyarrow's own error is one
        raise InputError(f"{path}: not Parquet ({error})") from None
