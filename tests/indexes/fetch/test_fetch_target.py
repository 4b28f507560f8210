"""Addresses as they are sent."""

from __future__ import annotations

import pytest

from indexes.fetch.faults import Refused
from indexes.fetch.target import target


@pytest.mark.parametrize(
    ("cited", "sent"),
    [
        ("http://Example.TEST", "http://example.test/"),
        ("https://example.test.:443/a?b=c#d", "https://example.test/a?b=c"),
        ("http://example.test:8080/%7Euser/a%2fb", "http://example.test:8080/%7Euser/a%2fb"),
        ("https://example.test/caf\u00e9?q=\u6e56", "https://example.test/caf%C3%A9?q=%E6%B9%96"),
        ("https://b\u00fccher.test/", "https://xn--bcher-kva.test/"),
        ("http://my_host.test/x y", "http://my_host.test/x%20y"),
        ("https://example.test/100%/<b>|\\", "https://example.test/100%25/%3Cb%3E%7C%5C"),
        ("https://example.test/%zz", "https://example.test/%25zz"),
        ("www.example.test/a", "https://www.example.test/a"),
        ("https://example.test?q", "https://example.test/?q"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://\uff11\uff12\uff17.0.0.1/", "http://127.0.0.1/"),  # fullwidth digits
        ("http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080/"),
        ("https://example.\ntest/a\tb", "https://example.test/ab"),
        ("http://127.0.0.1\u3002/", "http://127.0.0.1/"),  # an ideographic full stop
    ],
)
def test_an_address_is_sent_in_one_form(cited: str, sent: str) -> None:
    assert target(cited).url == sent


@pytest.mark.parametrize(
    ("link", "sent"),
    [
        ("b", "http://a.test/x/b"),
        ("/b", "http://a.test/b"),
        ("//b.test/c", "http://b.test/c"),
        ("?q=1", "http://a.test/x/y?q=1"),
        ("https://b.test/", "https://b.test/"),
        ("../../..", "http://a.test/"),
    ],
)
def test_a_link_is_read_from_its_page(link: str, sent: str) -> None:
    assert target(link, "http://a.test/x/y").url == sent


@pytest.mark.parametrize(
    ("cited", "why"),
    [
        ("ftp://example.test/", "neither http nor https"),
        ("file:///etc/passwd", "neither http nor https"),
        ("gopher://example.test/_x", "neither http nor https"),
        ("javascript:alert(1)", "neither http nor https"),
        ("http://user:secret@example.test/", "credentials"),
        ("http://example.test\\@127.0.0.1/", "credentials"),
        ("http://@example.test/", "credentials"),
        ("http://", "no valid host"),
        ("http://a..b/", "no valid host"),
        ("http://%31%32%37.0.0.1/", "no valid host"),
        ("http://exa mple.test/", "no valid host"),
        ("http://1.2.3.4.5/", "no valid host"),
        ("http://" + "a" * 64 + ".test/", "no valid host"),
        ("http://example.test:99999/", "not a web address"),
        ("http://example.test:http/", "not a web address"),
        ("http://[::1/", "not a web address"),
        ("http://example.test/" + "a" * 10_000, "10,020 characters, more than 8,000"),
        ("http://example.test/" + "\u6e56" * 3_000, "27,020 characters, more than 8,000"),
        ("", "neither http nor https"),
    ],
)
def test_what_is_not_sent_says_why(cited: str, why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        target(cited)
    assert "secret" not in refused.value.reason
    assert len(refused.value.reason) <= 300
    assert refused.value.outcome == "blocked"


def test_an_origin_is_scheme_host_and_port() -> None:
    assert target("http://A.test:80/x").origin == "http://a.test"
    assert target("https://a.test:8443/x").origin == "https://a.test:8443"
    assert target("http://[::1]/x").origin == "http://[::1]"
