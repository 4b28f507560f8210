"""Settings of the fetcher.

Invariant: every bound of the fetcher is a field here, so that whoever keeps what was fetched can record how.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from indexes.limits import MAX_GZIP_RATIO, MAX_PAGE_BYTES
from local_judge.base.model import Frozen

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]

USER_AGENT = "local_judge (+keeps the pages that research reports cite)"


class FetchSettings(Frozen):
    """Bounds and manners. The defaults suit the public web."""

    user_agent: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_-]+(?:[/ ][\x20-\x7e]*)?$")] = USER_AGENT
    """Its leading word is the name that robots.txt files are searched for."""

    allow_hosts: tuple[
        Annotated[str, StringConstraints(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^\s/:@]+)(:\d+)?$")], ...
    ] = ()
    """`host` or `host:port`: may have any address, at any port or at this one. For test servers; nothing else."""
    ports: tuple[int, ...] = (80, 443, 8080, 8443)
    """Ports that pages are asked for at. The two that HTTP is registered at and their usual stand-ins: at others a
    link can make us talk to mail servers and databases, and among 5,017 addresses cited in real reports none names
    a port at all."""

    delay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Seconds from the start of one request to a host to the start of the next."""
    per_host: Count = 2
    """Requests under way to one host."""
    concurrency: Count = 16
    """Requests under way in all. Each may hold `max_bytes` in memory."""
    max_crawl_delay: Seconds = 30.0
    """A longer Crawl-delay in robots.txt counts as this."""
    robots_bytes: Count = 512_000
    """So much of a robots.txt is read (RFC 9309 asks for at least 500 KiB)."""

    attempts: Count = 3
    """So often a request is sent that meets passing faults."""
    backoff: Seconds = 1.0
    """Wait before retry k = 0, 1, …: uniform between 0 and `min(max_backoff, backoff * 2**k)` seconds."""
    max_backoff: Seconds = 30.0
    max_retry_after: Seconds = 120.0
    """A server that asks for a longer wait is not asked again."""

    max_redirects: Annotated[int, Field(ge=0)] = 10
    """Hops from the cited address to the page, `<meta http-equiv=refresh>` among them."""
    max_refresh_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5.0
    """A refresh to another page after at most this long counts as a redirect."""
    max_bytes: Annotated[int, Field(ge=1, le=MAX_PAGE_BYTES)] = MAX_PAGE_BYTES
    """Bytes of a body on the wire."""
    max_decoded_bytes: Annotated[int, Field(ge=1, le=MAX_PAGE_BYTES)] = MAX_PAGE_BYTES
    """Bytes of a body after its Content-Encoding is undone."""
    max_ratio: Count = MAX_GZIP_RATIO
    """Decoded over encoded bytes, for bodies past `limits.RATIO_FLOOR`."""
    max_header_bytes: Count = 65_536
    """Maximum bytes of all header fields; one field may have half of it."""
    max_url: Count = 8_000
    """Characters of an address as sent. Servers take about 8,000."""

    connect_seconds: Seconds = 15.0
    """Seconds for name resolution, connection and TLS, including the wait for their first bytes."""
    stall_seconds: Seconds = 30.0
    """Longest time in which nothing arrives."""
    total_seconds: Seconds = 120.0
    """One request with its whole answer."""

    shared_bytes: Annotated[int, Field(ge=0)] = 64_000_000
    """Memory for answers that several cited addresses lead to, so that they are asked for once."""

    render: Path | Literal["auto"] | None = None
    """A Chromium that shows pages which their scripts write; `auto` finds one by name, None shows none."""
    render_sandbox: bool = True
    """Chromium's sandbox. Without it Chromium starts for root too, and a malicious page has this user's rights."""
    render_seconds: Seconds = 30.0
    render_bytes: Count = MAX_PAGE_BYTES
    """All that one page's scripts may load, and its document at the end."""

    @property
    def product(self) -> str:
        """The user agent's name in robots.txt."""
        return self.user_agent.replace("/", " ").split(" ", 1)[0]
