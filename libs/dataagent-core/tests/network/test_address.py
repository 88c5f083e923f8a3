from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.errors import HostNotAllowed
from dataagent_core.network.host_policy import is_public, parse_target

CLOSED = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "192.88.99.1",
    "198.18.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "100::1",
]
OPEN = [
    "93.184.216.34",
    "8.8.8.8",
    "1.1.1.1",
    "2606:4700:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]


@pytest.mark.parametrize("text", CLOSED)
def test_addresses_that_are_not_public_are_closed(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", OPEN)
def test_public_addresses_are_open(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_changes_nothing(inner: ipaddress.IPv4Address) -> None:
    number = int(inner)
    for wrapped in (
        ipaddress.IPv6Address((0xFFFF << 32) | number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
    ):
        assert is_public(wrapped) == is_public(inner)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "dict://example.com/",
        "ldap://example.com/",
        "data:text/plain,x",
        "javascript:alert(1)",
        "ws://example.com/",
        "unix:///run/x.sock",
        "jar:http://example.com!/",
        "//example.com/",
        "example.com",
        "http://",
        "http:///path",
        "http://user@example.com/",
        "http://user:pw@example.com/",
        "http://@example.com/",
        "http://example.com\\@127.0.0.1/",
        "http://example.com /",
        "http://exa\tmple.com/",
        "http://example.com/\r\nHost: x",
        "http://[fe80::1%25eth0]/",
        "http://[::1",
        "http://example.com:99999/",
        "http://example.com:0/",
        "http://exam%70le.com/",
        "http://a..b/",
        "http://" + "a" * 300 + ".com/",
        "http://example.com/" + "a" * 9000,
    ],
)
def test_urls_that_can_be_read_in_two_ways_are_refused(url: str) -> None:
    with pytest.raises(HostNotAllowed):
        parse_target(url)


def test_plain_urls_are_understood() -> None:
    target = parse_target("https://Example.COM./a?b=c#d")
    assert (target.host, target.port, target.address) == ("example.com", 443, None)
    assert parse_target("http://bücher.example:8080/").host == "xn--bcher-kva.example"
    assert parse_target("http://[2606:4700::1]/").address == ipaddress.ip_address("2606:4700::1")


@given(st.text(max_size=40), st.sampled_from(["", "http://", "https://", "http://[", "http://a@"]))
def test_any_text_is_a_target_or_refused(text: str, prefix: str) -> None:
    try:
        target = parse_target(prefix + text)
    except HostNotAllowed:
        return
    assert target.url.scheme in ("http", "https")
    assert target.host
