"""Construction of an engine from a preset.

Invariant: the identity of the engine contains what the preset pins, and nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from serving.engine import Engine
from serving.engines import PERSISTENT, Connection, Persistence, kind_of
from serving.errors import PresetError
from serving.preset_code import check_code
from serving.presets import Preset
from serving.types import EngineIdentity
from serving.weights import weights_identity


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
            embedded engine uses these OpenAI-compatible servers instead if they are given.
        api_key: API key of the servers.
        persistence: Number of attempts, and longest outage to wait for.
        tell: Callback for one line when an outage begins and one when it ends.

    Raises:
        PresetError: A preset that needs servers is given without, or can run code that the user has not allowed.
        WeightsMissing: The weights of an engine in this process are not on this machine.
        MissingExtra: A library of the engine is not installed; the message contains the pip command.
    """
    kind = kind_of(preset.engine, base_urls or ())
    urls = tuple(base_urls or kind.default_urls)
    if not kind.needs_server:
        check_code(preset)
    elif not urls:
        start = f"start it with `local-judge judge up {preset.name}`, or add --serve, or " * kind.is_launched
        raise PresetError(
            f"{preset.name} is not running: {start}give the URL of its server: --base-url http://HOST:8000/v1"
        )
    construct: Callable[[Preset, Connection], Engine] = import_module(kind.module).connect
    return construct(preset, Connection(urls, api_key, persistence, tell))


def is_judge(preset: Preset, identity: EngineIdentity) -> bool:
    """Check whether an engine that `connect` makes from `preset` can have this identity.

    Versions, tokenizers, chat templates and the commit of a preset that pins none are not compared: the preset does not
    fix them.
    """
    weights = weights_identity(preset)
    weights["revision"] = preset.weights.revision or identity.revision
    if identity.engine in ("vllm", "openai"):
        from serving.engines.openai import can_have_identity

        return can_have_identity(preset, identity, weights)
    fixed = {"model": preset.model, "engine": preset.engine, **weights}
    return all(getattr(identity, name) == value for name, value in fixed.items())
