"""A server that answers like a judge, so that the documentation's commands run without a model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stub_server import StubPlan

from ..stub_thread import StubThread, answer, leaning


@pytest.fixture(scope="session")
def stand_in() -> Iterator[str]:
    """Base URL of a server that claims to be the judge of the documentation's examples."""
    with StubThread(StubPlan(answer=answer, alternatives=leaning, model="Qwen/Qwen3-14B")) as server:
        yield server.url
