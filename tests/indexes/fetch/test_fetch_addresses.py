"""Which addresses are refused, in every way of writing them."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from indexes.fetch.addresses import HostPolicy, literal, why_refused


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("0.0.0.0", "this network"),
        ("10.1.2.3", "private"),
        ("172.31.255.255", "private"),
        ("192.168.0.1", "private"),
        ("100.64.0.1", "shared by carriers"),
        ("100.100.100.200", "shared by carriers"),  # a cloud's metadata
        ("169.254.169.254", "link-local"),  # most clouds' metadata
        ("168.63.129.16", "cloud metadata"),
        ("192.0.0.192", "protocol assignments"),  # a cloud's metadata
        ("198.18.0.1", "benchmarking"),
        ("203.0.113.9", "documentation"),
        ("224.0.0.251", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "bound to one interface"),
        ("fd00:ec2::254", "private"),  # a cloud's metadata
        ("ff02::1", "multicast"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:169.254.169.254", "link-local"),
        ("::127.0.0.1", "not a public address"),
        ("64:ff9b::a00:1", "private"),  # 10.0.0.1 behind NAT64
        ("64:ff9b:1::a00:1", "not a public address"),
        ("2002:7f00:1::", "6to4"),  # 127.0.0.1 behind 6to4
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "protocol assignments"),  # Teredo
        ("2001:db8::1", "documentation"),
        ("5f00::1", "not a public address"),
    ],
)
def test_what_is_not_public_is_refused(address: str, why: str) -> None:
    assert why_refused(ip_address(address)) == why


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "172.32.0.1",
        "100.63.255.255",
        "198.20.0.1",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
        "2a00:1450::1",
    ],
)
def test_public_addresses_are_not(address: str) -> None:
    assert why_refused(ip_address(address)) is None


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),  # 127 * 2**24 + 1
        ("0x7f000001", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("10.0.0.010", "10.0.0.8"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("169.254.43518", "169.254.169.254"),  # 169 * 256 + 254
        ("127.0.0.1.", "127.0.0.1"),
        ("[::1]", "::1"),
        ("[::ffff:7f00:1]", "::ffff:127.0.0.1"),
    ],
)
def test_every_notation_of_an_address_is_read(host: str, address: str) -> None:
    assert literal(host) == ip_address(address)


@pytest.mark.parametrize(
    "host", ["256.0.0.1", "1.2.3.4.5", "08.0.0.1", "4294967296", "a.1", "1..2", "[1::2::3]", "9" * 5_000]
)
def test_what_can_only_be_meant_as_an_address_is_no_name(host: str) -> None:
    with pytest.raises(ValueError):
        literal(host)


@pytest.mark.parametrize("host", ["example.test", "0x1.0xg", "1.2.3.a", "0x7f.1.test"])
def test_names_are_no_addresses(host: str) -> None:
    assert literal(host) is None


def test_one_bad_address_among_good_ones_refuses_the_host() -> None:
    policy = HostPolicy()
    assert policy.refuse_addresses("x.test", 80, [ip_address("1.1.1.1")]) is None
    assert (
        policy.refuse_addresses("x.test", 80, [ip_address("1.1.1.1"), ip_address("10.0.0.1")])
        == "address refused: x.test is 10.0.0.1 (private)"
    )


def test_exempt_hosts_are_exempt_by_name_and_port() -> None:
    loopback = [ip_address("127.0.0.1")]
    policy = HostPolicy(["one.test:8000", "all.test"])
    assert policy.refuse_addresses("one.test", 8000, loopback) is None
    assert policy.refuse_addresses("one.test", 8001, loopback) is not None
    assert policy.refuse_addresses("sub.one.test", 8000, loopback) is not None
    assert policy.refuse_addresses("all.test", 1, loopback) is None
    assert policy.refuse_port("all.test", 25) is None
    assert policy.refuse_port("other.test", 25) == "port 25 is not one that pages are asked for at"
    assert policy.refuse_port("other.test", 443) is None
