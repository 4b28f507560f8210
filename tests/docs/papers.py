"""The text of the five papers in `../shared/papers`: its sections, tables, figures and equations."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ROOT.parent / "shared" / "papers"
FILES = {
    "DEER": "deer",
    "DeepResearch Bench": "deepresearch_bench",
    "LiveResearchBench": "liveresearchbench",
    "DREAM": "dream",
    "DeepResearchEval": "deepresearcheval",
}
KINDS = {
    "section": "sections",
    "appendix": "appendices",
    "Table": "Tables",
    "Figure": "Figures",
    "Equation": "Equations",
}

CAPTIONS_BELOW = ("DEER", "LiveResearchBench")
"""Papers whose text has captions below the tables; in the others they stand above."""
LONGEST = 45
"""Maximum number of lines of a table."""

_NUMBER = r"(?:[A-Z]|\d+)(?:\.\d+)*(?![\w%/])"
_LIST = rf"{_NUMBER}(?:(?:, and |, | and | or | to ){_NUMBER})*"
_WORDS = "|".join(word for pair in KINDS.items() for word in pair)
_PART = rf"(?:{_WORDS}) {_LIST}"
CITATION = re.compile(rf"({'|'.join(FILES)}), ({_PART}(?:(?:, and |, | and ){_PART})*)")
"""A citation: `DEER, section 4.4`, `DREAM, Tables 2 and 9`, `DEER, section 4.4 and appendix F.4`."""
_ANY_WORD = r"(?i:\b(?:sections?|appendix|appendices|tables?|figures?|equations?|figs?\.|eqs?\.))"
BARE = re.compile(rf"(?:{_ANY_WORD} |§ ?){_NUMBER}")
"""A number of a section, table, figure or equation, cited in any form."""


class Place(NamedTuple):
    """A numbered place of a paper, such as ("DEER", "Table", "3")."""

    paper: str
    kind: str
    number: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.kind} {self.number}"


def places(paper: str, parts: str) -> list[Place]:
    """Return the places of a citation's part after the name: `Tables 2 and 4 to 6` are four."""
    found: list[Place] = []
    for kind, plural in KINDS.items():
        for match in re.finditer(rf"(?:{plural}|{kind}) ({_LIST})", parts):
            for item in re.split(r", and |, | and | or ", match[1]):
                first, _, last = item.partition(" to ")
                numbers = map(str, range(int(first), int(last) + 1)) if last.isdigit() else item.split(" to ")
                found += [Place(paper, kind, number) for number in numbers]
    return found


@cache
def lines_of(paper: str) -> list[str]:
    return (PAPERS / f"{FILES[paper]}.txt").read_text(encoding="utf-8").splitlines()


@cache
def headings(paper: str) -> dict[str, int]:
    """Return the numbers of headings, with their lines. Sections are those before the first appendix."""
    found: dict[str, int] = {}
    letter = ""
    for n, line in enumerate(lines_of(paper)):
        match = re.match(r"[#\s]*([A-Z]|\d+)((?:\.\d+)*)\.? +[A-Z][^\t]{3,90}$", line)
        if match is None:
            continue
        top, below = match.groups()
        if top.isdigit():
            if not letter:
                found.setdefault(top + below, n)
        elif (top == "A" and not letter) or (
            letter and 0 <= ord(top) - ord(letter) <= 2
        ):  # two headings are lost
            letter = top
            found.setdefault(top + below, n)
    return found


def _is_no_caption(line: str) -> bool:
    return re.match(r"[^\w]*(?:Table|Figure) \d+[.:]", line) is None


def _captions(place: Place) -> list[int]:
    start = re.compile(rf"[^\w]*{place.kind} {place.number}[.:]")
    return [n for n, line in enumerate(lines_of(place.paper)) if start.match(line)]


def exists(place: Place) -> bool:
    """Return True if the paper has the place; a heading that is lost in the text counts if a later one is there."""
    if place.kind in ("Table", "Figure"):
        return bool(_captions(place))
    if place.kind == "Equation":
        end = re.compile(rf"(?:\({place.number}\)|tag\{{{place.number}\}})\$*$")
        return any(end.search(line.strip()) for line in lines_of(place.paper))
    if place.number[0].isdigit() != (place.kind == "section"):
        return False
    *above, last = place.number.split(".")
    known = [number.split(".") for number in headings(place.paper)]
    level = [
        number[len(above)] for number in known if number[: len(above)] == above and len(number) > len(above)
    ]
    return any(len(last) < len(one) or last <= one for one in level if one.isdigit() == last.isdigit())


def text_near(place: Place) -> list[str]:
    """Return the lines of a section, a table, or the caption of a figure; an appendix without heading begins early."""
    lines = lines_of(place.paper)
    if place.kind == "Figure":
        return [lines[n] for n in _captions(place)]
    if place.kind == "Table":
        step = -1 if place.paper in CAPTIONS_BELOW else 1
        tables = (takewhile(_is_no_caption, lines[n + step :: step]) for n in _captions(place))
        return [line for table in tables for line in islice(table, LONGEST)]
    known = headings(place.paper)
    before = (n for number, n in known.items() if number.isalpha() and number < place.number)
    start = known.get(place.number, max(before, default=None) if place.number.isalpha() else None)
    if start is None:
        return []
    level = place.number.count(".")
    ends = [n for number, n in known.items() if n > start and number.count(".") <= level]
    return lines[start : min(ends, default=len(lines))]
