"""The ways in which a request can reach a server: over HTTP, in this process, and through batch files."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from serving.engines.asgi import AppClient, AppThread
from serving.engines.batch import BatchFolder
from serving.errors import PlannedCall
from serving.http import Answer

from ..forwarding import forwarding, run_job

CARRIERS = ("http", "in-process", "batch")


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Makes every engine of a test reach its stub in one of these ways; returns its name."""
    name: str = request.param
    if name != "http":

        def client(api_key: str | None, timeout: float) -> AppClient | BatchJobs:
            app = AppClient(AppThread(forwarding), timeout)
            return app if name == "in-process" else BatchJobs(tmp_path / "batch", app)

        monkeypatch.setattr("serving.engines.sending.HttpClient", client)
    return name


class BatchJobs:
    """A client that runs a batch job as soon as a call needs one."""

    def __init__(self, folder: Path, app: AppClient, attempts: int = 1) -> None:
        self._folder, self._app, self._attempts = folder, app, attempts

    async def aclose(self) -> None:
        await self._app.aclose()

    async def get(self, url: str) -> Answer:
        return await self._app.get(url)

    async def get_soon(self, url: str) -> Answer:
        return await self._app.get_soon(url)

    async def answers(self, url: str) -> bool:
        return await self._app.answers(url)

    async def post(self, url: str, body: bytes) -> Answer:
        if not url.endswith("/chat/completions"):
            return await self._app.post(url, body)
        while True:
            files = BatchFolder(self._folder, Versioned(), {}, self._attempts)
            try:
                return await files.post(url, body)
            except PlannedCall:
                requests = files.write()
                assert requests is not None
                await run_job(requests.path, requests.results, url)

    @asynccontextmanager
    async def stream(self, url: str, body: bytes) -> AsyncGenerator[AsyncIterator[bytes]]:
        answer = await self.post(url, body)

        async def lines() -> AsyncIterator[bytes]:
            yield answer.body

        yield lines()


class Versioned(AppClient):
    """An application without a model that says its version."""

    def __init__(self) -> None:
        super().__init__(AppThread(forwarding), 5.0)

    async def get(self, url: str) -> Answer:
        return Answer(url, b'{"version": "0.0-stub"}')
