"""Table of the packaged presets in docs/appendix/presets.md; `python -m scripts.preset_table` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from serving.memory import GIB, smallest_gpu
from serving.presets import THINKING_SUFFIX, Preset, list_presets, load_preset

PAGE = Path(__file__).resolve().parent.parent / "docs" / "appendix" / "presets.md"
_HEAD = (
    "| preset | model | licence | context | native | weights, GiB | KV cache, KiB per token | GPU | tensor parallel "
    "| thinking | files |\n|---|---|---|---|---|---|---|---|---|---|---|\n"
)
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)*")


def preset_table() -> str:
    """Return a Markdown table with one row per preset file."""
    presets = [load_preset(name) for name in list_presets()]
    return _HEAD + "".join(_row(preset) for preset in presets if not preset.name.endswith(THINKING_SUFFIX))


def _row(preset: Preset) -> str:
    return f"| {' | '.join(_cells(preset))} |\n"


def _cells(preset: Preset) -> Iterator[str]:
    weights, memory = preset.weights, preset.memory
    gib = memory.weights_gib if memory is not None else (weights.size or 0) / GIB
    yield f"`{preset.name}`"
    yield f"{preset.model}{f', {preset.quantisation}' if preset.quantisation else ''}"
    yield preset.licence
    yield f"{preset.context_tokens:,}"
    yield f"{preset.native_context_tokens:,}" if preset.native_context_tokens else ""
    yield f"{gib:.1f}"
    yield f"{memory.kv_bytes_per_token / 1024:g}" if memory is not None else ""
    yield smallest_gpu(preset) or "CPU"
    yield str(preset.vllm.tensor_parallel) if preset.vllm is not None else ""
    yield _thinking(preset)
    yield f"[{str(weights.revision)[:7]}](https://huggingface.co/{weights.hub}/tree/{weights.revision})"


def _thinking(preset: Preset) -> str:
    if preset.reasoning is None:
        return "off"
    effort = preset.reasoning.sampling.reasoning_effort
    which = "always" if preset.reasoning.always else "off or on"
    return f"{which}, effort {effort}" if effort else which


def page(text: str) -> str:
    """Return the text of the page with the current table."""
    written, n = _TABLE.subn(lambda _: preset_table(), text)
    if n != 1:
        raise ValueError(f"{PAGE}: expected one table of presets, found {n}")
    return written


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
