"""HTTP server of the labelling page, for this machine only.

Invariants: it listens on the loopback interface; a request without the token of the printed address, or for another
host, gets 403, so that no other page in the browser can read or write labels; the page loads nothing from elsewhere
(Content-Security-Policy) and shows claims, pages and notes as text only.
"""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Lock
from typing import Any, get_args
from urllib.parse import parse_qs, urlsplit

from indexes.errors import IndexesError
from local_judge.base.errors import InputError
from local_judge.lab.labelling.session import LabelSession
from local_judge.runs.results.labels import HumanLabel

HOST = "127.0.0.1"
_LONGEST = 10_000
"""Maximum bytes of a request."""
_FILES = {
    "/": ("page.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
_POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
    )
)


class LabelServer(ThreadingHTTPServer):
    """Server of one session.

    Args:
        session: the sample and its labels.
        port: port to listen on; 0 for a free one.
    """

    daemon_threads = True

    def __init__(self, session: LabelSession, port: int = 0) -> None:
        self.session, self.token, self.lock = session, secrets.token_urlsafe(16), Lock()
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        """Address of the page, with the token."""
        return f"http://{HOST}:{self.server_port}/?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def version_string(self) -> str:
        """Return the name of the server, without versions."""
        return "local-judge"

    def do_GET(self) -> None:
        """Return the page, its files, the progress or one claim."""
        address = urlsplit(self.path)
        if address.path in ("/page.js", "/page.css"):  # the same for everybody
            self._file(address.path)
        elif not self._allowed():
            self._send(HTTPStatus.FORBIDDEN, {"error": "open the address that the command printed"})
        elif address.path == "/":
            self._file("/")
        elif address.path == "/labels":
            with self.server.lock:
                self._send(
                    HTTPStatus.OK,
                    {"annotator": self.server.session.annotator, "labels": self.server.session.labels},
                )
        elif address.path == "/item":
            self._item(parse_qs(address.query).get("number", [""])[0])
        else:
            self._send(HTTPStatus.NOT_FOUND, {"error": "not found"})

    def do_POST(self) -> None:
        """Store a label: `{"number": 0, "label": "supported", "note": ""}`."""
        length = self.headers.get("Content-Length", "")
        if not self._allowed():
            self._send(HTTPStatus.FORBIDDEN, {"error": "open the address that the command printed"})
            return
        try:
            size = int(length)
            if not 0 < size <= _LONGEST:
                raise ValueError
            given: Any = json.loads(self.rfile.read(size))
            number, label, note = given["number"], given["label"], given.get("note", "")
            if type(number) is not int or label not in get_args(HumanLabel) or not isinstance(note, str):
                raise ValueError
            with self.server.lock:
                self.server.session.set(number, label, note)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            self._send(HTTPStatus.BAD_REQUEST, {"error": "not a label"})
        except InputError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": str(error)})
        else:
            self._send(HTTPStatus.OK, {"stored": True})

    def _item(self, number: str) -> None:
        try:
            with self.server.lock:
                found = self.server.session.item(int(number))
        except (ValueError, IndexError):
            self._send(HTTPStatus.NOT_FOUND, {"error": "no such claim"})
        except IndexesError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": str(error)})
        else:
            self._send(HTTPStatus.OK, found.model_dump(mode="json"))

    def _allowed(self) -> bool:
        """Check the host, against rebound names, and the token, in the address or in a header."""
        host = self.headers.get("Host", "")
        if host not in (f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}"):
            return False
        query = parse_qs(urlsplit(self.path).query)
        given = self.headers.get("X-Token") or query.get("token", [""])[0]
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.server.token.encode())

    def _file(self, path: str) -> None:
        name, kind = _FILES[path]
        body = (files("local_judge.lab.labelling") / name).read_bytes()
        self._answer(HTTPStatus.OK, f"{kind}; charset=utf-8", body)

    def _send(self, status: HTTPStatus, data: dict[str, Any]) -> None:
        self._answer(status, "application/json", json.dumps(data).encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", _POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no access log: addresses contain the token."""
