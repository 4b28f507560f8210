"""Stand-ins for vLLM in this process and for its batch program, which ask a stub server."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from serving.engines.asgi import Application, Event

Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]


@asynccontextmanager
async def forwarding(root: str | None = None) -> AsyncGenerator[Application]:
    """An application that passes every request on to a server: `root`, or what its Host header names."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def application(scope: Event, receive: Receive, send: Send) -> None:
            host = dict(scope["headers"])[b"host"].decode()
            url = f"{root or f'http://{host}'}{scope['path']}"
            body = (await receive())["body"]
            async with session.request(scope["method"], url, data=body) as response:
                headers = [
                    (name.lower().encode(), value.encode()) for name, value in response.headers.items()
                ]
                await send({"type": "http.response.start", "status": response.status, "headers": headers})
                async for piece in response.content.iter_any():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

        yield application


async def run_job(requests: Path, results: Path, url: str) -> None:
    """Answer a file of requests as vLLM's batch program does, with the server at `url`."""
    rows: list[dict[str, Any]] = []
    async with aiohttp.ClientSession() as session:
        for asked in _rows(requests):
            assert (asked["method"], asked["url"]) == ("POST", "/v1/chat/completions")
            async with session.post(url, json=asked["body"]) as response:
                said = await response.json(content_type=None)
                ok = response.status == 200
                given = {"status_code": response.status, "request_id": "r", "body": said if ok else None}
                row = {"id": "i", "custom_id": asked["custom_id"], "response": given}
                rows.append({**row, "error": None if ok else said})
    _write(results, rows)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
