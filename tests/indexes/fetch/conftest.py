"""The test web, up for one test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from .site import Names, Site, Web


@pytest_asyncio.fixture
async def web() -> AsyncIterator[Web]:
    site = Site()
    server = await site.start()
    yield Web(site, Names(**{"doi.org": ["127.0.0.1"], "arxiv.org": ["127.0.0.1"]}))
    server.close()
    site.disconnect()
