"""The documentation site: it builds, and fills its tables from the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

import local_judge
from scripts.docs_hooks import GENERATED, on_page_markdown
from scripts.field_tables import field_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_site_builds_without_a_broken_link_and_fills_in_its_tables(tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(site.rglob("index.html"))) > 30
    assert "https://fonts" not in (site / "index.html").read_text(encoding="utf-8")
    commands = (site / "reference" / "cli" / "index.html").read_text(encoding="utf-8")
    assert "local-judge snapshot fetch" in commands
    run = (site / "reference" / "formats" / "run-directory" / "index.html").read_text(encoding="utf-8")
    assert "Ids of the claims that cite it, in reading order." in run
    python = (site / "reference" / "python" / "index.html").read_text(encoding="utf-8")
    public = set(local_judge.__all__) - {"__version__"}
    assert public == set(re.findall(r'id="local_judge\.api\.(\w+)"', python))
    assert ".py" not in re.sub(r"<(code|pre)>.*?</\1>", "", run, flags=re.DOTALL)


class Base(BaseModel):
    """Fields of two kinds."""

    name: str
    """Name of
    the thing."""


class Part(Base):
    """A part."""

    size: Annotated[int, Field(ge=1, le=50)] = 20
    """Number of parts."""
    kind: Literal["a", "b"] | None = None
    whole: list[Base] = []


def test_every_generated_part_is_in_one_page_and_empty_there() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    for name, generate in GENERATED.items():
        (page,) = [page for page in pages if f"\n<!-- {name} -->\n" in page]
        generated = generate()
        assert generated.count("\n") > 20
        assert on_page_markdown(f"<!-- {name} -->") == generated
        assert generated.strip() not in page  # the site fills it in: write nothing by hand


def test_a_table_of_fields_has_values_defaults_and_docstrings() -> None:
    assert field_table(__name__, "Part").splitlines() == [
        "| `Part` | value | |",
        "|---|---|---|",
        "| `name` | text | Name of the thing. |",
        "| `size` | integer, 1 to 50; default `20` | Number of parts. |",
        "| `kind` | `a`, `b` or null |  |",
        "| `whole` | list of `Base` |  |",
    ]


def test_a_link_to_a_model_alone_on_its_line_becomes_its_table() -> None:
    link = "[`Claim`](../../local_judge/claims/model.py)"
    page = on_page_markdown(f"Claims:\n\n{link}\n\n```json run file=a.json\n{{}}\n```\n")
    assert "| `Claim` | value | |\n|---|---|---|\n| `id` | text |" in page
    assert link not in page
    assert page.endswith("```json\n{}\n```\n")
    assert on_page_markdown(f"See {link}.") == f"See {link}."
