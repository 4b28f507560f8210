"""Links between the pages of the documentation: each leads to a file, and to a heading of it where it names one.

Imports nothing of the project, so that `scripts/check --static` is quick.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """Anchors of a document's headings, as code hosts make them."""
    tokens = MarkdownIt().parse(text)
    titles = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file) if file else path
        assert found.exists(), f"{path.name}: {target}"
        if anchor:
            assert anchor in anchors(found.read_text(encoding="utf-8")), f"{path.name}: {target}"
