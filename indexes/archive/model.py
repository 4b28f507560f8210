"""Model of an archive, independent of its layout on disk.

Invariant: a `Capture` says all that is known of one URL: every exchange that was made for it, in order, and how it
ended. A page of a snapshot is a function of one capture.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from indexes.model import FoundBy, SourceStatus
from local_judge.base.model import Frozen

Headers = tuple[tuple[str, str], ...]
"""Name and value as received, in order, repeated names kept."""


def header(headers: Headers, name: str) -> str | None:
    """The first field of this name (in lower case)."""
    return next((value for key, value in headers if key.lower() == name), None)


def utc_seconds(text: str) -> str:
    """An ISO 8601 time as `2026-01-31T12:00:00Z`; without a zone it is in UTC.

    Raises:
        ValueError: it is none, or of another age than the web's.
    """
    try:
        moment = _parse_time(text)
        moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is no time") from None
    if not 1970 <= moment.year <= 2999:
        raise ValueError(f"{text!r} is not a time at which a page can have been fetched")
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _parse_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no ISO 8601 time, such as 2026-01-31T12:00:00Z") from None


class Exchange(Frozen):
    """One request and its response."""

    url: str
    """Requested URL, with host, path and query as sent."""
    at: str
    """Time at which the request was sent: ISO 8601 in UTC to the second, `2026-01-31T12:00:00Z`."""
    status: int
    """HTTP status; 304 where the server said that the page is as it was."""
    reason: str = ""
    """The words beside the status."""
    request_headers: Headers = ()
    headers: Headers = ()
    """Headers of the response, without Transfer-Encoding, which is already decoded."""
    body: bytes = b""
    """Body of the response as the server encoded it (Content-Encoding is not decoded)."""
    ip: str | None = None
    """Address that answered."""
    truncated: bool = False
    """The body is only the beginning of what the server sent, or was to send."""


class Rendered(Frozen):
    """The document of a page after its scripts have run."""

    url: str
    at: str
    html: bytes
    """Rendered document in UTF-8."""
    renderer: str
    """Name and version of the browser."""


class Imported(Frozen):
    """The bytes of a page that came as a file."""

    url: str
    data: bytes
    """Decompressed."""
    media_type: str
    """Media type by file name and bytes; `application/octet-stream` if they do not tell."""
    name: str = ""
    """The file's name, where it decides how the bytes are read (`.md`, `.csv`)."""
    title: str = ""
    """Title in the page list; '' if the page itself states it."""
    truncated: bool = False
    """The bytes are only the beginning of the page."""


Outcome = Literal["page", "dead", "blocked", "unavailable", "empty", "unsupported_type"]
"""`page`: there are bytes to extract a text from. Otherwise why there are none."""


class Capture(Frozen):
    """One URL at one time."""

    url: str
    """URL as cited."""
    fetched: str | None
    """ISO 8601 in UTC; None where the time is not known."""
    outcome: Outcome
    reason: str = ""
    """Reason why there is no page, or which of several texts was kept, in words."""
    exchanges: tuple[Exchange, ...] = ()
    """Every hop in order; the last one answered with the page. Empty where no answer came, or none was asked for."""
    rendered: Rendered | None = None
    imported: Imported | None = None
    found_by: tuple[FoundBy, ...] = ()
    """Web searches that named the URL, in the order of their queries."""

    @property
    def status(self) -> SourceStatus:
        """Status as known before the text is extracted."""
        return "ok" if self.outcome == "page" else self.outcome

    @property
    def final_url(self) -> str:
        """URL at which the redirects ended."""
        return self.exchanges[-1].url if self.exchanges else self.url
