"""Data that DREAM's paper prints in sentences, read from the user's own copy of its text.

    DREAM, Table 6    ten requests of the reasoning experiment
    DREAM, Table 7    15 claim pairs of the corruption sweep, with the names of the hosts that they cite
    DREAM, Table 8    meaning of the aspects in which the items of plans are rated

Invariants: none of these sentences is part of this package. A copy may break lines, words and pages anywhere, and may
be plain text, Markdown, or text in columns, as long as each table is in reading order; a table is read whole or
refused.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from local_judge.base.errors import InputError
from local_judge.base.rows import read_text
from local_judge.lab.experiments.corruption import Topic
from local_judge.lab.experiments.model import PlainPage
from local_judge.tasks.plan_asking import AXES, Rubric

N_REQUESTS, N_PAIRS = 10, 15
NEAR = 250
"""Most characters between two rows of a table, such as the head and foot of a page."""

_FURNITURE = re.compile(
    r"^[ \t]*\d{1,3}[ \t]*\n+[ \t]*\f|\f[ \t]*\d{1,3}[ \t]*$|^arXiv:\S+.*$|\f", re.MULTILINE
)
"""Page breaks with the numbers of pages, and the stamp of the first one."""
_MARKUP = re.compile(r"</?[a-z]+>|[*_|]|\\(?=[%$&_#])|-{3,}")
_BROKEN = re.compile(r"(\w+)-[ \t]*\n\s*(\w+)")
_HOST = r"[a-z0-9]+(?:[.-][a-z0-9]+)*"
_MARKS = "⟦⟧¦"
_GAP = " (?:¦ )?"
_LAST_CELL = re.compile(rf"(?:\t+|[ ]{{2,}})({_HOST})[ \t]*$", re.MULTILINE)
_BETWEEN_CELLS = re.compile(r"(?<=\S)(?:\t+|[ ]{2,})(?=\S)")


def reasoning_requests(path: Path) -> tuple[str, ...]:
    """Return the requests of DREAM, Table 6. Raises InputError: the file has no such table."""
    rows = _rows(_running(path), r"\.? (?P<request>[A-Z][^?.]{20,220}\?)", N_REQUESTS)
    if len(rows) < N_REQUESTS:
        raise _missing(path, f"DREAM, Table 6: {N_REQUESTS} numbered requests ({len(rows)} found)")
    return tuple(str(row["request"]) for row in rows)


def claim_pairs(path: Path) -> tuple[Topic, ...]:
    """Return the claim pairs of DREAM, Table 7. Raises InputError: the file has no such table.

    The paper prints names of hosts and no pages: the page of a claim is the claim itself, on a host of that name.
    """
    row = rf"\.?{_GAP}(?P<matter>[^.{_MARKS}]{{2,40}}?){_GAP}T{_GAP}{_side('true')}{_GAP}F{_GAP}{_side('false')}(?= |$)"
    rows = _rows(_running(path, columns=True), row, N_PAIRS)
    if len(rows) < N_PAIRS:
        raise _missing(
            path,
            f"DREAM, Table 7: {N_PAIRS} numbered claim pairs with the variants T and F ({len(rows)} found)",
        )
    topics: list[Topic] = []
    for number, found in enumerate(rows, 1):
        true_claim, true_page = _claim(found, "true", number)
        false_claim, false_page = _claim(found, "false", number)
        topics.append(
            Topic(
                id=f"pair-{number}",
                matter=str(found["matter"]),
                true_claim=true_claim,
                false_claim=false_claim,
                true_page=true_page,
                false_page=false_page,
            )
        )
    return tuple(topics)


def _side(name: str) -> str:
    """Return the pattern of a claim and its host, which stands behind it, or behind its first line in a column."""
    text = f"[^{_MARKS}]"
    return (
        rf"(?:(?P<{name}>{text}{{20,400}}?[.!?]) ⟦?(?P<{name}_host>{_HOST})⟧?"
        rf"|(?P<{name}_head>{text}{{5,400}}?) ⟦(?P<{name}_beside>{_HOST})⟧ (?P<{name}_tail>{text}{{3,400}}?[.!?]))"
    )


def _claim(row: dict[str, str | None], side: str, number: int) -> tuple[str, PlainPage]:
    host = row[f"{side}_host"] or row[f"{side}_beside"]
    claim = row[side] or f"{row[f'{side}_head']} {row[f'{side}_tail']}"
    url = f"https://{host}.example/{number}"
    return claim, PlainPage(url=url, title=row["matter"] or "", text=claim)


def plan_rubric_of(path: Path) -> Rubric:
    """Return the meaning of each aspect in DREAM, Table 8. Raises InputError: the file has no such table."""
    names = r"\W+".join(rf"{axis.capitalize()}\W+(?P<{axis}>[^0-9]{{20,300}}?\.)" for axis in AXES)
    found = re.search(names, _running(path))
    if found is None:
        raise _missing(path, f"DREAM, Table 8: the rows {', '.join(axis.capitalize() for axis in AXES)}")
    return {axis: found[axis] for axis in AXES}


def _missing(path: Path, what: str) -> InputError:
    return InputError(f"{path}: not the text of arXiv 2602.18940; it lacks {what}")


def _rows(text: str, row: str, n: int) -> list[dict[str, str | None]]:
    """Return the longest run of rows numbered 1 to `n`, each near the one before."""
    best: list[dict[str, str | None]] = []
    for first in re.finditer(rf"(?<![\w.])1{row}", text):
        found = [first]
        while len(found) < n:
            end = found[-1].end()
            match = re.compile(rf"(?<![\w.]){len(found) + 1}{row}").search(text, end)
            if match is None or match.start() > end + NEAR:
                break
            found.append(match)
        if len(found) > len(best):
            best = [match.groupdict() for match in found]
    return best


def _running(path: Path, *, columns: bool = False) -> str:
    """Return the text of a file on one line, without page breaks, marks of form and breaks in words.

    `columns`: ⟦ and ⟧ enclose a last cell that may be a host, and ¦ separates other cells, so that cells of several
    lines are not taken for one sentence.
    """
    text = unicodedata.normalize("NFKC", read_text(path)).replace("\xad\n", "").replace("\xad", "")
    text = _MARKUP.sub(" ", _FURNITURE.sub("\n", text))
    if columns:
        text = _BETWEEN_CELLS.sub(" ¦ ", _LAST_CELL.sub(r" ⟦\1⟧", text))
    unbroken = _BROKEN.sub(" ", text)
    words = {*re.findall(r"\w+(?:-\w+)*", unbroken), *re.findall(r"\w+", unbroken)}
    return " ".join(_BROKEN.sub(lambda broken: _whole(broken[1], broken[2], words), text).split())


def _whole(left: str, right: str, words: set[str]) -> str:
    """Return a word that a line break divides, with its hyphen if it is a compound.

    It is one if it has a hyphen elsewhere, if it is no plain word, or if both parts are words of the text and their
    union is none.
    """
    with_hyphen, union = f"{left}-{right}", left + right
    plain = left.isalpha() and right[0].islower()
    compound = with_hyphen in words or (words.issuperset((left, right)) and union not in words)
    return with_hyphen if compound or not plain else union
