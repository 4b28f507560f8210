"""Facts that an OpenAI-compatible server reports about itself.

Invariant: nothing is guessed: what the server does not report is None.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, replace

from serving.engines.wire import ModelCard, ModelList, TokenizerInfo, VersionReply, parse
from serving.errors import EngineError, KeyRefused, RequestRefused
from serving.http import HttpClient
from serving.types import ServerLoad

_LABEL = re.compile(r'(?<!\w)(\w++)="((?:[^"\\]|\\.)*)"')
"""Label of a metric; the possessive quantifier keeps the time linear in the length of a word."""

_NAMED = 20
"""Maximum number of models named in a message."""

_COUNT = re.compile(r"[0-9]{1,12}")

_GAUGE = re.compile(
    r"^vllm:(num_requests_running|num_requests_waiting|kv_cache_usage_perc)\{[^}\n]{0,1000}\} (\S{1,40})$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class ServerFacts:
    """Facts about one server, or about several identical ones."""

    model: str
    vllm: bool
    """True for a server that supports vLLM's extensions of the API."""
    version: str | None = None
    context_tokens: int | None = None
    kv_tokens: int | None = None
    chat_template_digest: str | None = None


def root_of(base_url: str) -> str:
    """Return the root of vLLM's own routes: `http://host:8000/v1` -> `http://host:8000`."""
    return base_url.removesuffix("/v1")


async def ask_server(client: HttpClient, base_url: str, model: str | None) -> ServerFacts:
    """Fetch the models of a server and, if it is vLLM, its version, KV cache and chat template.

    Raises:
        RequestRefused: It does not serve `model`, or serves several models and none was named.
        EngineError: It did not answer.
    """
    url = f"{base_url}/models"
    try:
        cards = parse(ModelList, url, (await client.get(url)).body).data
    except RequestRefused as error:
        # The server may not have this route, or not allow it; a wrong key, however, would fail every call.
        if model is None or isinstance(error, KeyRefused):
            raise
        return ServerFacts(model=model, vllm=False)
    card = _pick(url, cards, model)
    if card.owned_by != "vllm":
        return ServerFacts(model=card.id, vllm=False, context_tokens=card.max_model_len)
    root = root_of(base_url)
    info = await _optional(client, f"{root}/tokenizer_info")
    template = parse(TokenizerInfo, root, info).chat_template if info is not None else None
    version = await _optional(client, f"{root}/version")
    metrics = await _optional(client, f"{root}/metrics")
    return ServerFacts(
        model=card.id,
        vllm=True,
        version=parse(VersionReply, root, version).version if version is not None else None,
        context_tokens=card.max_model_len,
        kv_tokens=kv_cache_tokens(metrics.decode("utf-8", "replace")) if metrics is not None else None,
        chat_template_digest=hashlib.sha256(template.encode()).hexdigest() if template is not None else None,
    )


def _pick(url: str, cards: list[ModelCard], model: str | None) -> ModelCard:
    names = ", ".join(card.id for card in cards[:_NAMED]) + (", …" if len(cards) > _NAMED else "")
    if model is None:
        bases = [card for card in cards if card.parent is None]
        if len(bases) != 1:
            raise RequestRefused(f"{url} serves several models ({names}); name the one to ask")
        return bases[0]
    for card in cards:
        if card.id == model:
            return card
    raise RequestRefused(f"{url} does not serve {model!r}; it serves {names}")


async def _optional(client: HttpClient, url: str) -> bytes | None:
    """Return the body; None if the server does not have the route."""
    try:
        return (await client.get(url)).body
    except EngineError as error:
        if error.retryable:
            raise
        return None


def kv_cache_tokens(metrics: str) -> int | None:
    """Return the size of the KV cache in tokens over all data-parallel engines, from vLLM's metrics.

    `vllm:cache_config_info` has the label `kv_cache_size_tokens`, or else `block_size` and `num_gpu_blocks`.
    """
    total = 0
    for line in metrics.splitlines():
        if line.startswith("vllm:cache_config_info{"):
            labels = dict(_LABEL.findall(line))
            tokens, blocks, size = (
                _count(labels.get(name, ""))
                for name in ("kv_cache_size_tokens", "num_gpu_blocks", "block_size")
            )
            total += tokens or blocks * size
    return total or None


def server_load(metrics: str) -> ServerLoad:
    """Return the load of a server over all its data-parallel engines, from vLLM's metrics; impossible values are 0."""
    found: dict[str, list[float]] = {}
    for name, text in _GAUGE.findall(metrics):
        found.setdefault(name, []).append(_gauge(text))
    requests = found.get("num_requests_running", []) + found.get("num_requests_waiting", [])
    usages = found.get("kv_cache_usage_perc", [])
    return ServerLoad(requests=int(sum(requests)), kv_usage=sum(usages) / max(1, len(usages)))


def _gauge(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) and 0.0 <= value < 1e9 else 0.0


def _count(text: str) -> int:
    """Parse a label's number; 0 if it is invalid or impossibly large."""
    return int(text) if _COUNT.fullmatch(text) else 0


def agree(facts: list[tuple[str, ServerFacts]]) -> ServerFacts:
    """Merge the facts of replicas: the smallest context, the sum of the KV caches.

    Raises:
        RequestRefused: They differ in something that changes replies.
    """
    (first_url, first), *others = facts
    for url, other in others:
        for name in ("model", "vllm", "version", "chat_template_digest"):
            mine, theirs = getattr(first, name), getattr(other, name)
            if mine != theirs:
                raise RequestRefused(
                    f"{first_url} and {url} are not replicas: {name} is {mine!r} and {theirs!r}; "
                    "give only servers of the same model and version"
                )
    contexts = [fact.context_tokens for _, fact in facts if fact.context_tokens is not None]
    caches = [fact.kv_tokens for _, fact in facts if fact.kv_tokens is not None]
    return replace(first, context_tokens=min(contexts, default=None), kv_tokens=sum(caches) or None)
