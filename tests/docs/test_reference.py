"""Reference pages in docs/appendix show what the code says, and other pages lead to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from scripts.write_reference import APPENDIX, MODELS, PAGES, field_table, on_page_markdown, presets, sections
from serving.launch import command
from serving.presets import list_presets, load_preset

from .test_links import DOCUMENTS


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_current(name: str) -> None:
    current = (APPENDIX / name).read_text(encoding="utf-8") == PAGES[name]()
    assert current, f"docs/appendix/{name} is out of date; run: python -m scripts.write_reference"


def test_every_model_is_linked_from_a_page() -> None:
    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS]
    linked = {anchor for text in texts for anchor in re.findall(r"\bfields\.md#(\w+)", text)}
    for models in MODELS.values():
        for module, names in models.items():
            for name in names.split():
                anchors = {name.lower(), f"{module}.{name}".replace(".", "").lower()}
                assert anchors & linked, name


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


def test_a_table_of_fields_has_values_defaults_and_docstrings() -> None:
    assert field_table(Part).splitlines() == [
        "| `Part` | value | |",
        "|---|---|---|",
        "| `name` | text | Name of the thing. |",
        "| `size` | integer, 1 to 50; default `20` | Number of parts. |",
        "| `kind` | `a`, `b` or null |  |",
        "| `whole` | list of `Base` |  |",
    ]


def test_a_docstring_becomes_lists_and_code() -> None:
    docstring = (
        "Add.\n\nArgs:\n    a: first,\n        a number.\n    b: second.\n\nExamples:\n    >>> 1 + 1\n    2\n"
    )
    assert sections(docstring) == (
        "Add.\n\n**Args:**\n\n- `a`: first,\n    a number.\n- `b`: second.\n\n```pycon doctest\n>>> 1 + 1\n2\n```"
    )


def test_the_site_shows_a_block_without_how_it_is_checked() -> None:
    assert on_page_markdown("```json run file=a.json\n{}\n```\n") == "```json\n{}\n```\n"


def test_a_row_has_the_facts_of_its_preset() -> None:
    commit = "b968826d9c46dd6066d109eabc6255188de91218"
    assert (
        "| `qwen3-8b` | Qwen/Qwen3-8B | Apache-2.0 | 32,768 | 32,768 | 15.3 | 144 | 23.5 | 24 GB | 1 | off or on "
        f"| [b968826](https://huggingface.co/Qwen/Qwen3-8B/tree/{commit}) |\n"
    ) in presets()


def test_every_flag_of_a_server_is_explained() -> None:
    text = (APPENDIX.parent / "guides" / "servers.md").read_text(encoding="utf-8")
    for preset in map(load_preset, list_presets()):
        if preset.vllm is not None:
            words = command(preset, model=Path("/model"))
            assert [word for word in words if word.startswith("--") and f"`{word}`" not in text] == []
