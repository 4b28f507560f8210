"""S3-compatible server in a thread of the test's process, on a port of this machine."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self
from urllib.request import Request, urlopen

import pytest

BUCKET = "judged"


class S3Server:
    """Server with one bucket, to which this process and those that it starts have the credentials."""

    def __init__(self) -> None:
        moto: Any = pytest.importorskip("moto.server", reason="moto is not installed")
        self._fsspec: Any = pytest.importorskip("fsspec")
        self._server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        for name, value in {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "judge",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_EC2_METADATA_DISABLED": "true",  # otherwise it is asked where credentials are missing
        }.items():
            self._patch.setenv(name, value)
        self.files.mkdir(BUCKET)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patch.undo()
        self._server.stop()

    @property
    def files(self) -> Any:
        """The file system of the server."""
        return self._fsspec.filesystem("s3", use_listings_cache=False, skip_instance_cache=True)

    def check_credentials(self, checked: bool) -> None:
        """Refuse all credentials from now on, or accept all."""
        after = b"0" if checked else b"1000000000"
        urlopen(
            Request(f"{self.endpoint}/moto-api/reset-auth", after, {"Content-Type": "text/plain"})
        ).close()
