"""Facts that an OpenAI-compatible server reports about itself.

Invariant: nothing is guessed: what the server does not report is None.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from serving.engines.wire import ModelCard, ModelList, TokenizerInfo, VersionReply, parse
from serving.errors import EngineError, KeyRefused, MalformedReply, RequestRefused
from serving.http import HttpClient
from serving.metrics import kv_cache_tokens

_NAMED = 20
"""Maximum number of models named in a message."""


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
    try:
        metrics = await _optional(client, f"{root}/metrics")
    except MalformedReply:  # more than a client reads: only the size of the cache is then unknown
        metrics = None
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
