"""`local-judge judge compare`: comparison of judges that were qualified on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.modified import AllowModified, marked, print_marks, write_marks
from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.lab.qualification.comparing.comparison import compare as compared
from local_judge.lab.qualification.comparing.comparison import load_finished, write_comparison
from local_judge.lab.qualification.comparing.page import comparison_page

Scored = Annotated[
    list[Path] | None,
    typer.Option("--scored", help="Finished run in which the compared judges scored reports; repeatable."),
]


def compare(
    qualifications: Annotated[
        list[Path],
        typer.Argument(help="Two or more directories from `local-judge judge qualify`."),
    ],
    scored: Scored = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write comparison.md, comparison.json and the plot to this directory."),
    ] = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Compare qualified judges: differences, costs and useful pairs. Makes no model calls."""
    side_by_side(qualifications, scored or (), out, as_json)


def side_by_side(folders: Sequence[Path], scored: Sequence[Path], out: Path | None, as_json: bool) -> None:
    """Compare judges, and write and print the comparison.

    Raises:
        InputError: a folder has no qualification, or the judges got different questions.
        RunError: a folder in `scored` is not a finished run, or `out` cannot be written.
    """
    found = compared([load_finished(folder) for folder in folders], scored)
    if out is not None:
        write_comparison(out, found)
        write_marks(out)
    if as_json:
        print_json(marked(found.model_dump(mode="json")))
        return
    print_marks()
    print(comparison_page(found, ""), end="")
