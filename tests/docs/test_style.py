"""Style of docstrings and prose, as far as `docs/development/style.md` can be checked by a program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = sorted(
    path.relative_to(ROOT).as_posix()
    for package in ("local_judge", "serving", "indexes", "scripts")
    for path in ((ROOT / package), *(ROOT / package).iterdir())
    if path.is_dir() and path.name != "__pycache__"
)
"""Folders whose own modules, and for the second level all modules below, are checked together."""

OPENINGS = frozenset(
    {
        "what",
        "who",
        "whose",
        "whom",
        "which",
        "whether",
        "how",
        "where",
        "when",
        "why",
        "of",
        "by",
        "with",
        "without",
        "from",
        "for",
        "in",
        "on",
        "at",
        "to",
        "into",
        "over",
        "under",
        "as",
        "if",
        "than",
        "that",
        "those",
        "nobody",
        "nothing",
        "per",
    }
)
"""Question words, prepositions and the like, with which no docstring opens."""

ODD = {
    r"\basks nobody\b": "makes no model calls",
    r"\bnobody\b": "no one, or the passive",
    r"\btwins?\b": "perturbed report",
    r"\bobedien\w+": "prompt injection",
    r"\bconcord\b": "inter-judge agreement",
    r"(?<!practices of )\bbelie(f|ve[ds]?)\b": "probability, or trust",  # topics in a prompt name religious belief
    r"\baffairs?\b": "timeline",
    r"\brivals?\b": "other systems' reports",
    r"\bmend(s|ed|able|ing)?\b": "fix",
    r"\banew\b": "again",
    r"\bto be had\b": "available",
    r"\bby (?:it|them)sel(?:f|ves) only\b": "alone",
    r"\bof its own accord\b": "by itself",
    r"\bis worth\b": "how reliable it is",
    r"\b(?:is|are) told\b": "is reported",
    r"\bis said of\b": "is reported about",
    r"\b(?:above|below|beside|behind|under) (?:it|them|which) (?:stand|lie)s?\b": "use a plain sentence",
    r"\bfrom which \w+ on\b": "minimum",
    r"\bwhere there is none\b": "if it is missing",
    r"\bhearsay\b": "unsupported claim",
    r"\bat its end stands\b": "ends with",
}
"""Wording that reads as if translated, as a regular expression -> what to write."""


PARTICIPLE = re.compile(
    "_*(?:(?!feed)[a-z]+ed|begun|cut|done|found|given|held|kept|known|left|lost|made|met|put|said|seen|shown|taken|told)"
)
"""Name of a function that is one past participle: a function is a verb (`join`), or a noun phrase (`joined_parts`)."""

PARTICIPLES: Mapping[str, int] = {
    "local_judge": 4,
    "local_judge/agents": 9,
    "local_judge/base": 2,
    "local_judge/claims": 9,
    "local_judge/cleaning": 2,
    "local_judge/cli": 26,
    "local_judge/documents": 47,
    "local_judge/judge": 18,
    "local_judge/lab": 102,
    "local_judge/ledger": 9,
    "local_judge/protocols": 17,
    "local_judge/reporting": 35,
    "local_judge/runs": 65,
    "local_judge/scoring": 12,
    "local_judge/stats": 18,
    "local_judge/tasks": 34,
    "scripts": 3,
    "scripts/benchmarking": 28,
    "scripts/mutation": 1,
}
"""Part -> the most such functions that it may have; 0 for all others."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module with their lines: modules, classes, functions and documented fields."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for place, statement in enumerate(node.body):
                if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
                    continue
                text = statement.value.value
                if isinstance(text, str) and (place == 0 or isinstance(node, ast.Module | ast.ClassDef)):
                    yield statement.lineno, text


def modules(part: str) -> list[Path]:
    """Return the modules of a part: of a package only its own, of a folder below it all."""
    folder = ROOT / part
    found = folder.rglob("*.py") if "/" in part else folder.glob("*.py")
    return sorted(found)


@pytest.mark.parametrize("part", PARTS)
def test_docstrings_open_with_a_verb_or_a_noun_phrase(part: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text.strip().splitlines()[0][:70]}"
        for path in modules(part)
        for line, text in docstrings(path)
        if text.split() and text.split()[0].strip("`,.:'").lower() in OPENINGS
    ]
    assert not wrong, f"{len(wrong)} docstrings:\n" + "\n".join(wrong)


@pytest.mark.parametrize("part", PARTS)
def test_code_uses_plain_words(part: str) -> None:
    _assert_plain(modules(part))


@pytest.mark.parametrize("part", PARTS)
def test_functions_are_verbs(part: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in modules(part)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and PARTICIPLE.fullmatch(node.name)
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]
    assert len(wrong) <= PARTICIPLES.get(part, 0), f"{len(wrong)} functions:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_prose_uses_plain_words(path: Path) -> None:
    _assert_plain([path])


def _assert_plain(paths: list[Path]) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {found.group()!r}: {instead}"
        for path in paths
        if path.name != "style.md"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for pattern, instead in ODD.items()
        for found in re.finditer(pattern, line, re.IGNORECASE)
    ]
    assert not wrong, f"{len(wrong)} places:\n" + "\n".join(wrong)
