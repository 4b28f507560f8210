"""Cited sections, appendices, tables and figures of the five papers exist, and published figures stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from local_judge.lab.replication import load_replication

from .papers import BARE, CITATION, FILES, PAPERS, ROOT, Place, exists, places, text_near

pytestmark = pytest.mark.skipif(not PAPERS.exists(), reason="the papers are not here")

FOLDERS = ("local_judge", "serving", "indexes", "docs", "configs", "scripts")
SUFFIXES = (".py", ".md", ".yaml", ".txt", ".jsonl", "")
TEXTS = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts
)
REPLICATIONS = sorted((ROOT / "configs" / "replications").glob("*.yaml"))
PAGE = ROOT / "docs" / "appendix" / "replications.md"
READMES = {"hanjanghoon/DEER": "deer", "Ayanami0730/deep_research_bench": "drb"}


def plain(text: str) -> str:
    """Text on one line, without the addresses of links and the quotes that join strings of a program."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r'"\s*\n\s*f?"', "", text)
    return re.sub(r"\s+(?:#:? )?", " ", text)


def lowered(cell: str) -> str:
    """A cell with the names of sections in small letters, as within a sentence."""
    return re.sub(r"^(?:Section|Appendix)", lambda match: match[0].lower(), cell)


def of_another_work(before: str) -> bool:
    """True if the words before a number name a year or authors, as citations of other works do."""
    return re.search(r"\b(?:19|20)\d\d\b|et al\.", before[-80:]) is not None


def cited(path: Path) -> Iterator[tuple[Place | None, str]]:
    """Places that a file cites, and numbers in another form, with the words around them.

    In the page of replications, the first column of a table cites the paper of its heading.
    """
    text = path.read_text(encoding="utf-8")
    if path == PAGE:
        paper = ""
        for line in text.splitlines(keepends=True):
            if heading := re.match(rf"### ({'|'.join(FILES)}) ", line):
                paper = heading[1]
            elif paper and (
                cell := re.match(r"\| ((?:Tables?|Figures?|[Aa]ppendix|[Ss]ection) \S.*?) \|", line)
            ):
                text = text.replace(line, line.replace(cell[1], f"{paper}, {lowered(cell[1])}", 1), 1)
    text = plain(re.sub(r"`[^`\n]*`", "", text))
    known = [match.span() for match in CITATION.finditer(text)]
    for match in CITATION.finditer(text):
        for place in places(match[1], match[2]):
            yield place, match[0]
    for match in BARE.finditer(text):
        inside = any(start <= match.start() < end for start, end in known)
        if not inside and not of_another_work(text[: match.start()]):
            yield None, text[max(match.start() - 60, 0) : match.end() + 30]


def test_citations_of_the_papers_exist_and_have_one_form() -> None:
    wrong: list[str] = []
    for path in TEXTS:
        try:
            found = list(cited(path))
        except UnicodeDecodeError:
            continue
        name = path.relative_to(ROOT)
        wrong += [
            f"{name}: cite as `PAPER, section N`: ...{words}..." for place, words in found if place is None
        ]
        wrong += [f"{name}: {place}: not in the paper" for place, _ in found if place and not exists(place)]
    assert not wrong, "\n".join(wrong)


def numbers(lines: Iterable[str]) -> list[set[float]]:
    """Numbers of each line, without signs; a number may have spaces around its point."""
    joined = (re.sub(r"(?<=\d) \. (?=\d)", ".", line) for line in lines)
    return [{float(one) for one in re.findall(r"\d*\.\d+|\d+", line)} for line in joined]


@pytest.mark.parametrize("file", REPLICATIONS, ids=lambda file: file.stem)
def test_published_figures_stand_in_the_source(file: Path) -> None:
    """A line of a cited table has all figures of a row, or of a column, except those of another cited place."""
    table = load_replication(str(file))
    if table.source.startswith("output/"):
        pytest.skip("its source is the file that it imports")
    cites = [place for match in CITATION.finditer(table.source) for place in places(match[1], match[2])]
    of_tables = numbers(line for place in cites if place.kind == "Table" for line in text_near(place))
    other = [line for place in cites if place.kind != "Table" for line in text_near(place)]
    for name, folder in READMES.items():
        path = ROOT.parent / "shared" / "originals" / folder / "README.md"
        if name in table.source and path.exists():
            other += path.read_text(encoding="utf-8").splitlines()
    elsewhere = set[float]().union(*numbers(other))
    assert of_tables or elsewhere, table.source

    def absent(lists: Iterable[tuple[float | None, ...]]) -> list[tuple[float | None, ...]]:
        wanted = [(one, {abs(figure) for figure in one if figure is not None} - elsewhere) for one in lists]
        return [one for one, figures in wanted if figures and not any(figures <= line for line in of_tables)]

    rows = table.rows.values()
    assert not absent(rows) or not absent(zip(*rows, strict=True)), absent(rows)


def test_the_page_lists_each_replication_beside_its_place() -> None:
    """A line of the page that names a file begins with a place that the file's source names."""
    listed: set[str] = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        first, _, status = line.removeprefix("| ").partition(" | ")
        for name in re.findall(r"`([a-z0-9-]+)`", re.split(r" \| ", status)[0]):
            source = load_replication(name).source
            listed.add(name)
            place = lowered(first.split(":")[0])
            assert place in source or place.startswith("README") or name == "deer-sample", (
                name,
                first,
                source,
            )
    assert listed == {file.stem for file in REPLICATIONS}
