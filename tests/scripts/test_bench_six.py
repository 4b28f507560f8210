"""The benchmark of all six protocols, on an engine that caches prefixes as vLLM does and has no model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.benchmarking.one_token import OneToken
from scripts.benchmarking.original_layouts import CitedPage, Lookup, Shown, fenced_text, original_steps
from scripts.benchmarking.prefixes import BLOCK_TOKENS
from scripts.benchmarking.six_protocols import Material, rows_of, scripted
from scripts.benchmarking.six_together import six_protocols
from scripts.benchmarking.vllm_server import with_layers
from serving.presets import load_preset
from serving.types import Choice, Message, Sampling
from tests.scripts.test_bench_race import ScriptedServer

pytestmark = pytest.mark.slow

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
HERE = pytest.mark.skipif(not SHARED.exists(), reason="real reports and published projects are not here")


class Served(ScriptedServer):
    """A server that counts the prompts of closed questions too."""

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        read = await self.generate(messages, Sampling())
        return Choice(logprobs=dict.fromkeys(options, -1.0), usage=read.usage)


def test_a_scripted_reply_fits_its_schema() -> None:
    text = {"type": "string", "maxLength": 400}
    short = {"type": "string", "maxLength": 12}
    schema = {
        "type": "object",
        "properties": {"rationale": text, "label": short, "score": {"type": "integer"}},
    }
    reply = json.loads(scripted([Message(role="user", content="Rate it.")], schema))
    # 25 words take 224 characters: too many for a text of at most 12
    assert (len(reply["rationale"]), reply["label"], reply["score"]) == (224, "", 0)


def test_the_text_of_a_fence_is_found_by_its_title() -> None:
    text = "Page:\n````\nA ``` B\n\nC\n````\n\nClaims:\n```\n1. D\n```"
    assert fenced_text(text, "Page:") == "A ``` B\n\nC"
    assert fenced_text(text, "Claims:") == "1. D"
    assert fenced_text(text, "Statement:") == ""


def test_layers_and_blocks_are_set_by_arguments_of_the_server() -> None:
    preset = load_preset("qwen2.5-coder-0.5b-vllm")
    changed = with_layers(preset, 1, 16)
    assert changed.vllm is not None and preset.vllm is not None
    added = changed.vllm.args[len(preset.vllm.args) :]
    assert added[:2] == ("--load-format", "dummy")
    assert json.loads(added[3]) == {"num_hidden_layers": 1, "layer_types": ["full_attention"]}
    assert added[4:] == ("--block-size", "16")
    assert with_layers(preset, None, None).vllm == preset.vllm


@HERE
def test_each_project_makes_the_calls_of_its_code() -> None:
    # 3 paragraphs of 7 sentences: two batches of 20. Of two pages, one has two claims: one call removes duplicates.
    report = "# Canal\n\n" + "\n\n".join(" ".join(["The canal was dug in 1900."] * 7) for _ in range(3))
    pages = [
        CitedPage("https://a.example", "A", ["one", "two"]),
        CitedPage("https://b.example", "B", ["three"]),
    ]
    lookups = [
        Lookup("first", "s1", "found"),
        Lookup("first", "s2", "found"),
        Lookup("second", "s3", "found"),
    ]
    shown = Shown("Who dug it?", report, "The other report.", pages, lookups)
    found = {
        name: [[len(chats) for chats in step] for step in steps]
        for name, steps in original_steps(SHARED / "originals", shown).items()
    }
    assert found == {
        "deer": [[1, 1], [1, 1], [1] * 5],
        "drb": [[1], [1], [1, 1], [1], [1]],
        "lrb": [[1] * 4, [1, 1], [1] * 3],
        # five dimensions, the division into segments, and an agent per segment: its first turn, one per search, its end
        "dre": [[1] * 5, [1], [4, 3]],
    }
    last = original_steps(SHARED / "originals", shown)["dre"][2][0][-1]
    assert "s1\n\nfound\n\ns2\n\nfound" in last[-1].content


@HERE
def test_all_protocols_on_one_report_compute_each_prefix_once(tmp_path: Path) -> None:
    material = Material(excerpt(tmp_path / "data"), tmp_path, ["56"])
    server = Served()
    preset = load_preset("qwen2.5-coder-0.5b-vllm")
    found = asyncio.run(
        six_protocols(server, OneToken(server), preset, material, SHARED / "originals", BLOCK_TOKENS)
    )
    ours = found["ours"]
    # A block of 16 tokens is shared whole or not at all, so that a call computes up to 15 shared tokens again.
    assert ours["ideal"] <= ours["computed"] <= ours["ideal"] + 15 * ours["calls"]
    assert ours["simulated"] == ours["computed"]
    assert found["originals"] == sum(
        found[name]["computed"] for name in ("deer", "drb", "lrb", "dre", "dream")
    )
    assert found["share"] == round(ours["computed"] / found["originals"], 4)


def excerpt(data: Path) -> Path:
    """A folder of data with the opening and the references of one real report."""
    published = data / "reports" / "drb"
    published.mkdir(parents=True)
    (data / "pages").symlink_to(SHARED / "data" / "pages")
    for name in ("raw.jsonl", "cleaned.jsonl"):
        [row] = [one for one in rows_of(SHARED / "data" / "reports" / "drb" / name) if str(one["id"]) == "56"]
        listed = "\n".join(line for line in row["article"].splitlines() if line.startswith("[1] "))
        row["article"] = (
            f"{row['article'][:1500]}\n\nThis is said elsewhere [1].\n\n## References\n\n{listed}\n"
        )
        (published / name).write_text(json.dumps(row) + "\n", encoding="utf-8")
    return data
