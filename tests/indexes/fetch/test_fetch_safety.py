"""Servers that try to make the fetcher reach what it must not, or say what it must not."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest

from indexes.fetch.addresses import Address

from .site import Names, Request, Site, Web, article, entries, redirect, reply


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.1",
        "127.1",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::]",
        "localhost.test",
        "127.0.0.1.",
    ],
)
async def test_no_redirect_leads_to_this_machine(web: Web, host: str) -> None:
    web.site.routes["a.test/"] = redirect(f"http://{host}:{web.site.port}/secret")
    found = await web.capture("a.test/", ports=(80, web.site.port))
    assert found.outcome == "blocked"
    assert found.reason.startswith("address refused: ")
    assert found.reason.endswith(f"(led there from http://a.test:{web.site.port}/)")
    assert web.site.asked() == ["/"]
    assert [exchange.status for exchange in found.exchanges] == [302]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 (link-local)"),
        ("http://0xa9fea9fe/", "169.254.169.254 (link-local)"),
        ("http://10.0.0.1/", "10.0.0.1 (private)"),
        ("http://[fd00:ec2::254]/", "fd00:ec2::254 (private)"),
        ("http://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1 (loopback)"),
        ("http://inside.test/", "inside.test is 192.168.0.7 (private)"),
        ("http://both.test/", "both.test is 10.9.8.7 (private)"),
    ],
)
async def test_no_cited_address_leads_inside(web: Web, url: str, why: str) -> None:
    # 198.51.100.1 and its like are refused as well; a public one would be connected to.
    web.names.known |= {"inside.test": ["192.168.0.7"], "both.test": ["1.1.1.1", "10.9.8.7"]}
    found = await web.capture(url)
    assert (found.outcome, found.reason) == ("blocked", f"address refused: {why}")
    assert found.exchanges == ()


async def test_a_port_of_another_service_is_not_asked(web: Web) -> None:
    found = await web.capture("http://mail.test:25/")
    assert found.outcome == "blocked" and found.reason.startswith("port 25 ")
    assert web.names.looked_up == []


class Rebinding(Names):
    """A name that is public when it is looked at, and inside when it is looked up again."""

    async def resolve(self, host: str) -> Sequence[Address]:
        self.looked_up.append(host)
        first = self.looked_up.count(host) == 1
        return [ip_address("127.0.0.1" if first else "10.0.0.1")]


async def test_what_was_checked_is_what_is_connected_to(web: Web) -> None:
    """One look-up a connection: a second answer of the name server is never used, or it is checked, too."""
    rebinding = Rebinding()
    web.names = rebinding
    # Only the first answer is let through, by name; were the second connected to, the test's guard would fail it.
    web.site.routes["a.test/"] = reply(article(), "200 OK", "Connection: close")
    web.site.routes["a.test/robots.txt"] = reply(b"", "200 OK", kind="text/plain")
    found = await web.capture("a.test/")
    assert found.outcome == "page"
    assert rebinding.looked_up == ["a.test"]  # robots.txt and page came through one connection


def _loopback_only(address: Address) -> str | None:
    return None if address.is_loopback else "link-local"


async def test_each_new_connection_is_checked_anew(web: Web) -> None:
    """A name that turns inward between two connections is refused at the second."""

    async def close(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(b"", "404 Not Found", "Connection: close"))
        await writer.drain()

    class Turning(Names):
        async def resolve(self, host: str) -> Sequence[Address]:
            self.looked_up.append(host)
            return [ip_address("127.0.0.1" if len(self.looked_up) == 1 else "169.254.169.254")]

    web.names = Turning()
    web.site.routes["turn.test/robots.txt"] = close
    # The loopback address is let through for the first connection alone by taking it for a public one.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "indexes.fetch.addresses.why_refused",
            _loopback_only,
        )
        found = await web.capture("turn.test/", ports=(web.site.port,))
    assert (found.outcome, found.reason) == (
        "blocked",
        "address refused: turn.test is 169.254.169.254 (link-local)",
    )
    assert web.site.asked() == []


async def test_the_connection_itself_is_looked_at(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the look-up's check passed over, whom the connection leads to would still be seen before a request."""
    monkeypatch.setattr("indexes.fetch.client._CheckedResolver.resolve", _unchecked)
    found = await web.capture(web.site.url("other.test/"), ports=(web.site.port,))
    assert (found.outcome, found.reason) == (
        "blocked",
        "address refused: other.test is 127.0.0.1 (loopback)",
    )
    assert web.site.requests == []


async def _unchecked(_: object, host: str, port: int = 0, family: int = 0) -> list[dict[str, object]]:
    return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 0, "flags": 4}]


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("file:///etc/passwd", "redirected to neither .*'file:///etc/passwd'"),
        ("ftp://a.test/", "redirected to neither .*'ftp://a.test/'"),
        ("http://me:pw@a.test/", "redirected to an address with credentials in it: 'http://…@a.test/'"),
        ("https:///x", "redirected to no valid host in 'https:///x'"),
    ],
)
async def test_a_redirect_to_no_web_address_ends(web: Web, location: str, why: str) -> None:
    web.site.routes["a.test/"] = redirect(location)
    found = await web.capture("a.test/")
    assert found.outcome == "blocked" and re.fullmatch(why, found.reason)


async def test_nothing_secret_is_sent(web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cookie comes back, no credential answers a 401, nothing of the environment or of .netrc is used."""
    (tmp_path / ".netrc").write_text("machine a.test login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://me:secret@127.0.0.1:1")
    web.site.routes["a.test/"] = reply(b"", "302 Found", "Location: /two", "Set-Cookie: id=1; Path=/")
    web.site.routes["a.test/two"] = reply(b"who?", "401 Unauthorized", 'WWW-Authenticate: Basic realm="x"')
    found = await web.capture("a.test/")
    assert (found.outcome, found.reason) == ("blocked", "HTTP 401 Unauthorized")
    assert web.site.asked() == ["/", "/two"]
    for request in web.site.requests:
        assert set(request.headers) == {"host", "user-agent", "accept", "accept-encoding"}
        assert request.headers["accept-encoding"] == "gzip, deflate"
        assert request.headers["user-agent"].startswith("local_judge ")


async def test_an_address_with_a_password_is_no_address(web: Web) -> None:
    found, report = await web.fetch(f"http://me:secret@a.test:{web.site.port}/")
    assert found == {}
    assert len(report.not_addresses) == 1
    assert "credentials" in report.not_addresses[0].reason
    assert web.site.requests == []


async def test_no_file_is_named_by_an_address(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    web.site.routes["a.test/..%2f..%2fetc/passwd"] = reply(
        article(), "200 OK", 'Content-Disposition: attachment; filename="/tmp/evil"'
    )
    found = await web.capture("a.test/..%2f..%2fetc/passwd")
    assert found.outcome == "page"
    assert entries(tmp_path) == []


async def test_hosts_with_underscores_and_trailing_dots(web: Web) -> None:
    site: Site = web.site
    site.routes["my_host.test/"] = reply(article())
    site.routes["a.test/dot"] = reply(article())
    names = (f"my_host.test:{site.port}", f"a.test:{site.port}")
    assert (await web.capture("my_host.test/", allow_hosts=names)).outcome == "page"
    assert (await web.capture(f"http://a.test.:{site.port}/dot", allow_hosts=names)).outcome == "page"
