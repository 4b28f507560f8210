"""What an OpenAI-compatible server says of itself.

Invariant: everything here is asked of the server, nothing is guessed: what it does not say is None.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from serving.engines.wire import ModelCard, ModelList, TokenizerInfo, VersionReply, parse
from serving.errors import EngineError, KeyRefused, RequestRefused
from serving.http import HttpClient

_LABEL = re.compile(r'(?<!\w)(\w++)="((?:[^"\\]|\\.)*)"')
"""Tried once a word, or a word of any length would take time that grows with its square."""

_NAMED = 20
"""Models that a message names at most."""

_COUNT = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True)
class ServerFacts:
    """One server, or several that are alike."""

    model: str
    vllm: bool
    """Whether it takes what vLLM adds to the OpenAI protocol."""
    version: str | None = None
    context_tokens: int | None = None
    kv_tokens: int | None = None
    chat_template_digest: str | None = None


def root_of(base_url: str) -> str:
    """Where vLLM's own routes are: `http://host:8000/v1` -> `http://host:8000`."""
    return base_url.removesuffix("/v1")


async def ask_server(client: HttpClient, base_url: str, model: str | None) -> ServerFacts:
    """Ask one server for its models and, where it is vLLM, its version, KV cache and chat template.

    Raises:
        RequestRefused: it does not serve `model`, or serves several and none was named.
        EngineError: it did not answer.
    """
    url = f"{base_url}/models"
    try:
        cards = parse(ModelList, url, (await client.get(url)).body).data
    except RequestRefused as error:
        # A server may have no such route, or a key no right to it; a key that is wrong would fail every call.
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
    """The body, or None where the server has no such route."""
    try:
        return (await client.get(url)).body
    except EngineError as error:
        if error.retryable:
            raise
        return None


def kv_cache_tokens(metrics: str) -> int | None:
    """Tokens that the KV cache holds, from vLLM's `vllm:cache_config_info`, over all data-parallel engines.

    The label `kv_cache_size_tokens` where there is one, else `block_size` x `num_gpu_blocks`.
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


def _count(text: str) -> int:
    """A label's number; 0 where it is none, or more than any machine holds."""
    return int(text) if _COUNT.fullmatch(text) else 0


def agree(facts: list[tuple[str, ServerFacts]]) -> ServerFacts:
    """Several replicas as one: the smallest context, the KV caches together.

    Raises:
        RequestRefused: they differ in something that changes replies.
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
    return ServerFacts(
        model=first.model,
        vllm=first.vllm,
        version=first.version,
        context_tokens=min(contexts) if contexts else None,
        kv_tokens=sum(caches) if caches else None,
        chat_template_digest=first.chat_template_digest,
    )
