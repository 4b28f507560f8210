"""Construction of an engine from a preset.

Invariant: the identity of the engine contains what the preset pins, and nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from serving.engine import Engine
from serving.errors import PresetError
from serving.preset_code import check_code
from serving.presets import Preset, VllmSettings
from serving.types import EngineIdentity, EngineLimits
from serving.weights import require_weights, weights_commit


class Persistence(NamedTuple):
    """Retry settings; they change no answer."""

    attempts: int = 5
    """Maximum number of attempts per call."""
    wait_seconds: float = 600.0
    """Longest outage of all servers to wait for; 0 lets each call fail by itself."""
    fail_after: int | None = None
    """Number of failed calls that ends a run; None for no limit."""


PERSISTENT = Persistence()


def connect(
    preset: Preset,
    *,
    base_urls: Sequence[str] | None = None,
    api_key: str | None = None,
    persistence: Persistence = PERSISTENT,
    tell: Callable[[str], None] = lambda line: None,
) -> Engine:
    """Return the engine that `preset` describes.

    Args:
        preset: Preset of the judge.
        base_urls: Servers such as `http://host:port/v1`; required by presets with `engine: vllm`. A preset for an
            embedded engine uses these servers instead if they are given.
        api_key: API key of the servers.
        persistence: Number of attempts, and longest outage to wait for.
        tell: Callback for one line when an outage begins and one when it ends.

    Raises:
        PresetError: A preset for vLLM is given without servers, or can run code that the user has not allowed.
        WeightsMissing: The weights of an engine in this process are not on this machine.
        MissingExtra: A library of the engine is not installed; the message contains the pip command.
    """
    common: dict[str, Any] = {**_weights(preset), **limits_of(preset).model_dump(exclude={"kv_tokens"})}
    if base_urls or preset.engine == "vllm":
        if not base_urls:
            raise PresetError(
                f"{preset.name} is not running: start it with `local-judge judge up {preset.name}`, or add --serve, or "
                "give the URL of its server: --base-url http://HOST:8000/v1"
            )
        from serving.engines.openai import OpenAIEngine

        return OpenAIEngine(
            tuple(base_urls),
            preset.model,
            api_key=api_key,
            timeout=preset.timeout_seconds,
            max_attempts=persistence.attempts,
            patience=persistence.wait_seconds,
            tell=tell,
            **_server_settings(preset),
            **common,
        )
    check_code(preset)
    weights = require_weights(preset)
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


def limits_of(preset: Preset) -> EngineLimits:
    """Return the context and the number of requests in flight that a preset sets for every engine."""
    return EngineLimits(context_tokens=preset.context_tokens, concurrency=preset.concurrency)


def is_judge(preset: Preset, identity: EngineIdentity) -> bool:
    """Check whether an engine that `connect` makes from `preset` can have this identity.

    Versions, tokenizers, chat templates and the commit of a preset that pins none are not compared: the preset does not
    fix them.
    """
    weights: dict[str, Any] = {**_weights(preset), "revision": preset.weights.revision or identity.revision}
    if identity.engine not in ("vllm", "openai"):
        fixed = {"model": preset.model, "engine": preset.engine, **weights}
        return all(getattr(identity, name) == value for name, value in fixed.items())
    from serving.engines.openai import OpenAIEngine
    from serving.engines.server import ServerFacts

    facts = ServerFacts(
        model=identity.model,
        vllm=identity.engine == "vllm",
        version=identity.engine_version,
        chat_template_digest=identity.chat_template_digest,
    )
    engine = OpenAIEngine(["http://localhost"], **_server_settings(preset), **weights)
    return identity.model == preset.model and engine.identity_of(facts) == identity


def _weights(preset: Preset) -> dict[str, Any]:
    return {
        "weights_digest": preset.weights.sha256,
        "revision": weights_commit(preset),
        "quantisation": preset.quantisation,
    }


def _server_settings(preset: Preset) -> dict[str, Any]:
    """Return the settings of an engine for servers that decide its identity."""
    settings = preset.vllm or VllmSettings()
    return {
        "structured": preset.structured,
        "thinking_budget": preset.reasoning is None or preset.reasoning.budget,
        "chat_arguments": preset.chat_arguments,
        "top_logprobs": settings.max_logprobs,
        "options": preset.reply_options,
        "reply_model": preset.reply_model,
    }
