"""The page of presets shows what their files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.preset_table import PAGE, page, preset_table
from serving.launch import command
from serving.presets import list_presets, load_preset


def test_the_table_of_presets_is_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run: python -m scripts.preset_table"


def test_a_row_has_the_facts_of_its_preset() -> None:
    commit = "b968826d9c46dd6066d109eabc6255188de91218"
    assert (
        "| `qwen3-8b` | Qwen/Qwen3-8B | Apache-2.0 | 32,768 | 32,768 | 15.3 | 144 | 24 GB | 1 | off or on "
        f"| [b968826](https://huggingface.co/Qwen/Qwen3-8B/tree/{commit}) |\n"
    ) in preset_table()


def test_a_page_without_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one table of presets, found 0"):
        page("# Presets\n")


def test_every_flag_of_a_server_is_explained() -> None:
    text = (PAGE.parents[1] / "reference" / "presets.md").read_text(encoding="utf-8")
    for preset in map(load_preset, list_presets()):
        if preset.vllm is not None:
            words = command(preset, model=Path("/model"))
            assert [word for word in words if word.startswith("--") and f"`{word}`" not in text] == []
