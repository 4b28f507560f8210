"""Embeddings by a server with the OpenAI interface, such as vLLM.

Invariant: the only URL that is opened is the one that was given, with no proxy, cookie or credential of the
environment and no redirect followed; an answer is used only if it holds exactly one vector for each text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import numpy as np
from pydantic import BaseModel, ValidationError

from indexes.search.encoder import EncoderIdentity, EncoderPreset, unit_vectors
from indexes.search.errors import EncoderError, EndpointError
from indexes.search.model import Vectors
from indexes.urls import shown_url

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_FIRST_WAIT = 0.5
"""Seconds before the second attempt; doubled before each further one."""
_LONGEST_REASON = 300
_MOST_BODY = 128 << 20
"""Maximum size of an answer in bytes; a batch of 256 vectors of 8,192 numbers has about 50 MB."""


class _Item(BaseModel):
    index: int
    embedding: list[float]


class _Reply(BaseModel):
    data: list[_Item]


class _Passing(Exception):
    """A fault that may be gone at the next attempt."""


class EndpointEncoder:
    """Sentence embeddings by `POST <url>/embeddings`.

    Args:
        url: of the interface, as a rule ending in `/v1`.
        model: the name under which the server serves it.
        revision: what is known of the weights (a commit, a digest); indexes are compared by it.
        preset: prompts, dimension and length, to which the server truncates texts on request (vLLM does); default: no
            prompts, the dimension of the first answer, and texts that are too long are the server's to refuse.
        batch: texts of one request.
        concurrency: requests at once.
        attempts: for each request, at least 1; only passing faults are tried again.
        timeout: seconds of one attempt.
        api_key: sent as a bearer token, where the server wants one.

    Raises:
        ValueError: `url` is not http(s), or a number is below 1.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        revision: str,
        preset: EncoderPreset | None = None,
        batch: int = 64,
        concurrency: int = 4,
        attempts: int = 4,
        timeout: float = 120,
        api_key: str | None = None,
    ) -> None:
        if not url.startswith(("http://", "https://")) or not _has_host(url):
            raise ValueError(f"{shown_url(url)!r} is not the URL of a server: give http://HOST:PORT/v1")
        if min(batch, concurrency, attempts) < 1:
            raise ValueError("batch, concurrency and attempts are at least 1")
        self.url = url.rstrip("/") + "/embeddings"
        self.identity = EncoderIdentity(
            model=model,
            revision=revision,
            document_prompt=preset.document_prompt if preset is not None else "",
            query_prompt=preset.query_prompt if preset is not None else "",
            engine={"interface": "openai"},
        )
        self._batch = batch
        self._concurrency = concurrency
        self._attempts = attempts
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._dimension = preset.dimension if preset is not None else None
        self._max_tokens = preset.max_tokens if preset is not None else None

    @property
    def dimension(self) -> int:
        """Dimension of a vector; asks the server if no preset or earlier answer states it. Raises EncoderError."""
        if self._dimension is None:
            self._encode(["dimension"])
        assert self._dimension is not None
        return self._dimension

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text. Raises EncoderError."""
        return self._encode([self.identity.document_prompt + text for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """One row a query. Raises EncoderError."""
        return self._encode([self.identity.query_prompt + text for text in texts])

    def _encode(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        # In a thread of its own, so that it also works under a caller's event loop.
        with ThreadPoolExecutor(1) as thread:
            found = thread.submit(lambda: asyncio.run(self._request_all(texts))).result()
        vectors = unit_vectors(found, len(texts), shown_url(self.url))
        if self._dimension is not None and vectors.shape[1] != self._dimension:
            raise EncoderError(
                f"{shown_url(self.url)} gives {vectors.shape[1]} dimensions for {self.identity.model}, "
                f"not {self._dimension}: it serves another model"
            )
        self._dimension = int(vectors.shape[1])
        return vectors

    async def _request_all(self, texts: list[str]) -> list[list[float]]:
        slots = asyncio.Semaphore(self._concurrency)
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(
            timeout=self._timeout, headers=self._headers, cookie_jar=jar, trust_env=False
        ) as session:

            async def one(begin: int) -> list[list[float]]:
                async with slots:
                    return await self._request(session, texts[begin : begin + self._batch])

            try:
                async with asyncio.TaskGroup() as group:
                    begins = range(0, len(texts), self._batch)
                    tasks = [group.create_task(one(begin)) for begin in begins]
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None
        return [vector for task in tasks for vector in task.result()]

    async def _request(self, session: aiohttp.ClientSession, texts: list[str]) -> list[list[float]]:
        wait = _FIRST_WAIT
        for attempt in range(1, self._attempts + 1):
            try:
                return await self._attempt(session, texts)
            except (_Passing, aiohttp.ClientError, TimeoutError) as error:
                reason = str(error) or type(error).__name__
                if attempt == self._attempts:
                    break
            await asyncio.sleep(wait)
            wait *= 2
        raise EndpointError(
            f"{shown_url(self.url)} gave no embeddings in {self._attempts} attempts: {reason}; is the server running?"  # pyright: ignore[reportPossiblyUnboundVariable]
        )

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        """Read an answer of limited size."""
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > _MOST_BODY:
                response.close()
                raise EndpointError(
                    f"{shown_url(self.url)} answers with more than {_MOST_BODY >> 20} MiB; "
                    "is it an embeddings interface?"
                )
        return bytes(body)

    async def _attempt(self, session: aiohttp.ClientSession, texts: list[str]) -> list[list[float]]:
        body: dict[str, Any] = {"model": self.identity.model, "input": texts, "encoding_format": "float"}
        if self._max_tokens is not None:
            body["truncate_prompt_tokens"] = self._max_tokens
        async with session.post(self.url, json=body, allow_redirects=False) as response:
            data = await self._body(response)
            if response.status in _PASSING:
                raise _Passing(f"status {response.status}: {_one_line(data)}")
            if response.status != 200:
                raise EndpointError(
                    f"{shown_url(self.url)} refused {len(texts)} texts for model {self.identity.model!r} with status "
                    f"{response.status}: {_one_line(data)}"
                )
        try:
            reply = _Reply.model_validate_json(data, strict=True)
        except ValidationError:
            raise EndpointError(
                f"{shown_url(self.url)} did not answer with embeddings but: {_one_line(data)}; "
                f"is it an embeddings interface?"
            ) from None
        by_index = {item.index: item.embedding for item in reply.data}
        if len(reply.data) != len(texts) or set(by_index) != set(range(len(texts))):
            raise EndpointError(
                f"{shown_url(self.url)} answered with vectors {sorted(item.index for item in reply.data)[:8]}... "
                f"for {len(texts)} texts; each must come once"
            )
        return [by_index[i] for i in range(len(texts))]


def _one_line(data: Any) -> str:
    return " ".join(bytes(data[:4000]).decode("utf-8", "replace").split())[:_LONGEST_REASON]


def _has_host(url: str) -> bool:
    """Check whether `url` has a host whose labels are neither empty nor too long for a lookup."""
    try:
        return bool((urlsplit(url).hostname or "").encode("idna"))
    except ValueError:
        return False
