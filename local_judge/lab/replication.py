"""Files of published figures, one for each table, and the commands that compute them.

    command     commands of this program that make the runs, with places for what the user has
    columns     a score of the runs, the value of an experiment's curve, a number of a statistics command, or a formula
                over other published columns
    rows        published figures by system, or by another group of reports

`local_judge.lab.replication_figures` compares the figures.

Invariants: published figures are those of the file and are never computed. A command of a file writes only to the
output folder, and reads only what the user names.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from string import Formatter
from typing import Annotated, Literal, Self, cast

from pydantic import Field, StringConstraints, model_validator

from local_judge.base.errors import ConfigError
from local_judge.base.model import Frozen
from local_judge.runs.planning.config import read_mapping, validated
from local_judge.scoring.node import Profile

Line = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")
]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]

STATISTICS = (("results", "agree"), ("results", "stats"), ("lab", "benchmark-verifier"))
"""Commands that print statistics; they get the option `--json`."""
COMMANDS = (("import",), ("run",), ("sweep",), ("lab", "experiment"), *STATISTICS)
"""Commands that a file may have."""
OUT, JUDGE = "out", "judge"
"""Places in a command that every file has: the output folder, and the options of the judge."""
USER_OPTIONS = (
    *("--config", "--ledger", "--base-url", "--no-offline", "--home"),
    *("--ray", "--serve", "--storage"),
)
"""Options that only the user gives, after `--`: they say where to write and what to connect to."""
ROW = "{row}"
"""Place in a `statistic` for the name of the row in the runs."""
PRINTED = "statistics.json"
"""File in the output folder with what the command of statistics printed; of several, by their positions from 0."""


class Column(Frozen):
    """One column of a table. Without one of the five rules, its figures are only used by formulas of others."""

    score: tuple[Line, ...] = ()
    """Scores of the runs, `PROTOCOL:PATH`, or one score; several are averaged."""
    curve: Line | None = None
    """Score of an experiment, `PROTOCOL:PATH`; a row is a condition, or `change`."""
    statistic: Line | None = None
    """Place of a number in the JSON of the command of statistics: keys, and positions, `id` or `score` of elements,
    separated by dots, such as `scores.overall.measures.alpha_interval.value`; `{row}` is the name of the row. If
    several commands print statistics, the first key is the command's position among them. A figure that is not
    published, or whose row the JSON lacks, stays empty."""
    mean: tuple[Line, ...] = ()
    """Columns of this table whose published figures are averaged."""
    ratio: tuple[Line, Line] | None = None
    """Two columns of this table: published figures of the first divided by those of the second."""
    times: Number = 1.0
    """Factor of the figure, such as 100 for a percentage of a share."""
    decimals: int | None = Field(default=None, ge=0, le=6)
    """Decimals of the column's published figures; null for those of the file."""

    @model_validator(mode="before")
    @classmethod
    def _one_score(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        given = cast("dict[str, object]", data)
        return {**given, "score": [given["score"]]} if isinstance(given.get("score"), str) else given

    @property
    def n_rules(self) -> int:
        """Number of rules by which it is computed: 0 or 1."""
        return sum(map(bool, (self.score, self.curve, self.statistic, self.mean, self.ratio)))

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if self.n_rules > 1:
            raise ValueError("must have only one of `score`, `curve`, `statistic`, `mean` and `ratio`")
        return self


class Replication(Frozen):
    """A published table or figure, and how to compute it."""

    title: Line
    """Paper and number of the table or figure."""
    source: Line
    """Place in which the figures are printed."""
    needs: dict[Name, Line] = Field(default_factory=dict[str, str])
    """Descriptions of the files and folders that the commands need, by name; `--input NAME=PATH` gives one."""
    command: tuple[tuple[Line, ...], ...] = ()
    """Commands without `local-judge`, in order. `{NAME}` stands for a file or folder that is needed, `{out}` for the
    output folder, and the word `{judge}` for the options of the judge."""
    profile: Profile = "upstream"
    """Profile of the scores."""
    columns: Annotated[dict[Line, Column], Field(min_length=1)]
    """Columns of the table by name."""
    rows: Annotated[dict[Line, tuple[Number | None, ...]], Field(min_length=1)]
    """Published figures of each row, in the order of the columns; null for one that is not printed."""
    by: Literal["system", "run", "task"] = "system"
    """Attribute of reports whose values are the rows."""
    names: dict[Line, Line] = Field(default_factory=dict[str, str])
    """Names of rows in the runs, where they differ."""
    decimals: int = Field(default=2, ge=0, le=6)
    """Decimals of the published figures, for columns that have none of their own."""
    note: Line | None = None
    """Reason of known differences."""

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        for name, figures in self.rows.items():
            if len(figures) != len(self.columns):
                raise ValueError(f"row {name!r} has {len(figures)} figures for {len(self.columns)} columns")
        for name, column in self.columns.items():
            for other in (*column.mean, *(column.ratio or ())):
                if other not in self.columns:
                    raise ValueError(f"column {name!r}: there is no column {other!r}")
            if (column.score or column.curve) and not self.command:
                raise ValueError(f"column {name!r}: a score needs a command")
        if not any(column.n_rules for column in self.columns.values()):
            raise ValueError("no column has `score`, `curve`, `statistic`, `mean` or `ratio`")
        for name in self.names:
            if name not in self.rows:
                raise ValueError(f"names: there is no row {name!r}")
        return self

    @model_validator(mode="after")
    def _printing(self) -> Self:
        printing = any(map(prints_statistics, self.command))
        for name, column in self.columns.items():
            if column.statistic and not printing:
                raise ValueError(f"column {name!r}: a statistic needs a command that prints statistics")
        return self

    @model_validator(mode="after")
    def _known_places(self) -> Self:
        for command in self.command:
            if not any(command[: len(allowed)] == allowed for allowed in COMMANDS):
                names = ", ".join(" ".join(allowed) for allowed in COMMANDS)
                raise ValueError(f"command: {' '.join(command[:2])!r} is not one of {names}")
        for name in (OUT, JUDGE):
            if name in self.needs:
                raise ValueError(f"needs: {name!r} is the name of a place that every file has")
        for word in (word for command in self.command for word in command):
            _check_word(word)
            for place in places(word):
                if place not in (OUT, JUDGE, *self.needs):
                    raise ValueError(f"command: {{{place}}} is not in `needs`")
                if place == JUDGE and word != f"{{{JUDGE}}}":
                    raise ValueError(f"command: {{{JUDGE}}} must be a word of its own")
        for folder in (folder for command in self.command for folder in _written(command)):
            if folder != f"{{{OUT}}}" and not folder.startswith(f"{{{OUT}}}/"):
                raise ValueError(f"command: {folder!r}: results must be in {{{OUT}}}")
        return self

    @property
    def asks_judge(self) -> bool:
        """True if a command asks a judge."""
        return any(f"{{{JUDGE}}}" in command for command in self.command)


def prints_statistics(command: Sequence[str]) -> bool:
    """Return True if a command prints numbers that a `statistic` names."""
    return any(tuple(command[: len(allowed)]) == allowed for allowed in STATISTICS)


def _written(command: Sequence[str]) -> Iterator[str]:
    """Yield the places that a command writes: the last argument of `import`, and values of `--out`.

    An empty place stands for one that the command would choose by itself.
    """
    if command[0] == "import":
        arguments = list(takewhile(lambda word: word[0] != "-", command[1:]))
        yield arguments[-1] if len(arguments) > 1 else ""
    elif not prints_statistics(command) and not any(word.split("=")[0] == "--out" for word in command):
        yield ""
    for option, value in pairwise(word for one in command for word in one.split("=", 1)):
        if option == "--out":
            yield value


def _check_word(word: str) -> None:
    """Check one word of a command. Raises ValueError: it names a path of its own, or has an option of the user."""
    option, *_ = parts = word.split("=")
    if option in USER_OPTIONS:
        raise ValueError(f"command: {option} belongs after --, and not in a file")
    if word.removeprefix("--set=").startswith("out="):
        raise ValueError(f"command: {word!r}: name the output folder by --out")
    if ".." in word or any(part.startswith(("/", "~")) for part in parts):
        raise ValueError(
            f"command: {word!r}: a path must begin with a place, such as {{{OUT}}}, and have no '..'"
        )


def places(word: str) -> list[str]:
    """Return the names in braces of a word. Raises ValueError: a brace is not closed, or a name has a format."""
    try:
        found = list(Formatter().parse(word))
    except ValueError as error:
        raise ValueError(f"command: {word!r}: {error}") from None
    if any(spec or conversion for _, _, spec, conversion in found):
        raise ValueError(f"command: {word!r}: only a name may be in braces")
    return [name for _, name, _, _ in found if name is not None]


def packaged_replications() -> dict[str, Path]:
    """Return the files of this package by the names of their tables."""
    here = Path(__file__).parent
    packaged = here / "replications"
    folder = packaged if packaged.is_dir() else here.parents[1] / "configs" / "replications"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load_replication(name: str) -> Replication:
    """Read a file.

    Args:
        name: path of the file, or name of one of this package.

    Raises:
        ConfigError: there is none, it cannot be read, or it has another form; names the key.
    """
    path = Path(name)
    if not path.suffix:
        packaged = packaged_replications()
        if name not in packaged:
            raise ConfigError(f"no table {name!r}; `local-judge lab replicate` lists them")
        path = packaged[name]
    return validated(Replication, read_mapping(path), str(path))


def commands_of(
    file: Replication, data: Mapping[str, Path], out: Path, judge: Sequence[str]
) -> list[list[str]]:
    """Return the commands with all places filled.

    Args:
        file: the replication.
        data: what it needs, by name.
        out: output folder.
        judge: options of the judge.

    Raises:
        ConfigError: something that is needed was not given, or is not there, or was given and is not needed.
    """
    for name, path in data.items():
        if name not in file.needs:
            raise ConfigError(
                f"--input {name}={path}: {file.title} needs {', '.join(file.needs) or 'no files'}"
            )
        if not path.exists():
            raise ConfigError(f"--input {name}={path}: no such file or folder")
    missing = [f"--input {name}=PATH ({what})" for name, what in file.needs.items() if name not in data]
    if missing:
        raise ConfigError(f"{file.title} needs {' and '.join(missing)}")
    if file.asks_judge and not judge:
        raise ConfigError(
            f"{file.title} needs a judge; give its options after --, such as -- --judge qwen3-14b"
        )
    if judge and not file.asks_judge:
        raise ConfigError(f"{file.title} asks no judge; leave out {' '.join(judge)}")
    filled = {OUT: str(out), **{name: str(path) for name, path in data.items()}}
    return [
        [
            part
            for word in (*command, *(("--json",) if prints_statistics(command) else ()))
            for part in (judge if word == f"{{{JUDGE}}}" else [word.format_map(filled)])
        ]
        for command in file.command
    ]


def run_commands(commands: Sequence[Sequence[str]], out: Path) -> int:
    """Run commands of this program one after the other; their tables are not printed.

    Args:
        commands: the commands.
        out: folder for the numbers that commands of statistics print.

    Returns:
        0, or the exit code of the first command that failed. A command whose judge failed in part (3) does not stop the
        following ones.
    """
    worst, printed = 0, list[bytes]()
    for command in commands:
        # -P: the working directory is no place to import from.
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "local_judge", *command], stdout=subprocess.PIPE, check=False
        )
        if ended.returncode not in (0, 3):
            return ended.returncode
        if prints_statistics(command):
            printed.append(ended.stdout)
        worst = max(worst, ended.returncode)
    if len(printed) > 1:
        printed = [b"{%s}" % b",".join(b'"%d":%s' % one for one in enumerate(printed))]
    for text in printed:
        out.mkdir(parents=True, exist_ok=True)  # commands of statistics write no run
        (out / PRINTED).write_bytes(text)
    return worst
