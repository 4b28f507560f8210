"""From a preset to an engine that can be asked.

Invariant: the identity that an engine reports holds what the preset pins; nothing is downloaded on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from serving.engine import Engine
from serving.errors import PresetError
from serving.presets import Preset, VllmSettings
from serving.weights import require_weights


class Persistence(NamedTuple):
    """How hard is tried to get an answer out of servers; changes no answer."""

    attempts: int = 5
    """How often one call is sent before its error is final."""
    wait_seconds: float = 600.0
    """How long an outage of all servers may last; 0 lets each call fail by itself."""
    fail_after: int | None = None
    """Calls without an answer after which work stops; None never stops for them."""


PERSISTENT = Persistence()


def connect(
    preset: Preset,
    *,
    base_urls: Sequence[str] | None = None,
    api_key: str | None = None,
    persistence: Persistence = PERSISTENT,
    tell: Callable[[str], None] = lambda line: None,
) -> Engine:
    """The engine that `preset` describes.

    Args:
        preset: which judge.
        base_urls: servers to ask (`http://host:port/v1`); needed by presets with `engine: vllm`, and lets a
            model that the preset would run in process be asked over HTTP instead.
        api_key: for those servers.
        persistence: how often a call is sent, and how long an outage is waited for.
        tell: is given one line when an outage begins and when it ends.

    Raises:
        PresetError: a preset for vLLM without servers.
        WeightsMissing: an in-process preset whose weights are not here.
        MissingExtra: a library that the engine needs is not installed; holds the pip line.
    """
    if base_urls or preset.engine == "vllm":
        return _over_http(preset, base_urls or (), api_key, persistence, tell)
    weights = require_weights(preset)
    common: dict[str, Any] = {
        "weights_digest": preset.weights.sha256,
        "revision": preset.weights.revision,
        "quantisation": preset.quantisation,
        "context_tokens": preset.context_tokens,
        "concurrency": preset.concurrency,
    }
    if preset.engine == "openvino":
        from serving.engines.openvino import OpenVinoEngine

        embedded = preset.embedded
        return OpenVinoEngine(
            preset.model,
            weights,
            kv_tokens=embedded.kv_tokens if embedded else preset.context_tokens,
            properties=embedded.properties if embedded else None,
            **common,
        )
    from serving.engines.transformers import TransformersEngine

    return TransformersEngine(preset.model, weights, **common)


def _over_http(
    preset: Preset,
    base_urls: Sequence[str],
    api_key: str | None,
    persistence: Persistence,
    tell: Callable[[str], None],
) -> Engine:
    if not base_urls:
        raise PresetError(
            f"{preset.name} is asked over HTTP: start it with `local-judge judge serve {preset.name}` and give its "
            "URL: --base-url http://127.0.0.1:8000/v1"
        )
    settings = preset.vllm or VllmSettings()
    from serving.engines.openai import OpenAIEngine

    return OpenAIEngine(
        tuple(base_urls),
        preset.model,
        api_key=api_key,
        timeout=preset.timeout_seconds,
        concurrency=preset.concurrency,
        max_attempts=persistence.attempts,
        structured=preset.structured,
        thinking_budget=preset.reasoning is None or preset.reasoning.budget,
        top_logprobs=settings.max_logprobs,
        context_tokens=preset.context_tokens,
        revision=preset.weights.revision,
        weights_digest=preset.weights.sha256,
        quantisation=preset.quantisation,
        options=_reply_options(settings),
        reply_model=preset.reply_model,
        patience=persistence.wait_seconds,
        tell=tell,
    )


def _reply_options(settings: VllmSettings) -> dict[str, Any]:
    """What the server was started with that can change a reply and that it does not say itself.

    What a preset adds in `args` may be anything (a quantisation, a RoPE scaling), so all of it counts.
    """
    options: dict[str, Any] = {"dtype": settings.dtype, "kv_cache_dtype": settings.kv_cache_dtype}
    if not settings.compact_json:
        options["compact_json"] = False
    if settings.args:
        options["args"] = list(settings.args)
    return options
