"""From a preset to an engine: the identity holds what the preset says of the server."""

from __future__ import annotations

from typing import Any

import pytest

from serving.connect import connect
from serving.presets import Preset, VllmSettings, Weights
from tests.stub_server import Stub


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (VllmSettings(), {"dtype": "auto", "kv_cache_dtype": "auto"}),
        # flags of how much the server takes at once change no reply
        (
            VllmSettings(max_num_seqs=7, gpu_memory_utilization=0.5),
            {"dtype": "auto", "kv_cache_dtype": "auto"},
        ),
        (
            VllmSettings(kv_cache_dtype="fp8", compact_json=False, args=("--quantization", "fp8")),
            {
                "dtype": "auto",
                "kv_cache_dtype": "fp8",
                "compact_json": False,
                "args": ["--quantization", "fp8"],
            },
        ),
    ],
)
async def test_what_a_server_is_started_with_is_part_of_the_identity(
    settings: VllmSettings, options: dict[str, Any]
) -> None:
    preset = Preset(
        name="p",
        description="a test",
        model="stub",
        licence="Apache-2.0",
        engine="vllm",
        weights=Weights(hub="owner/stub"),
        context_tokens=4096,
        vllm=settings,
    )
    async with Stub() as stub:
        engine = connect(preset, base_urls=[stub.url])
        identity = await engine.identity()
        await engine.aclose()
    assert identity.options == {**options, "structured": "json_schema"}
