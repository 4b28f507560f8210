"""Answers of servers to health checks."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from serving import processes
from serving.processes import answer_of


def test_a_server_that_sends_byte_by_byte_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read is in time; the whole answer is not."""
    monkeypatch.setattr(processes, "_BODY_SECONDS", 0.2)
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            client, _ = server.accept()
            with client:
                client.recv(1 << 16)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                with contextlib.suppress(OSError):  # the client has left
                    while not gone.wait(0.02):
                        client.sendall(b".")

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        assert answer_of(f"http://127.0.0.1:{server.getsockname()[1]}/health") == (None, b"")
        gone.set()
        thread.join()
