from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.fetch import address_refusal, literal_address

REFUSALS = [
    # plain IPv4, and the neighbours on both sides of each block
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "unspecified"),
    ("9.255.255.255", None),
    ("10.0.0.0", "private"),
    ("10.255.255.255", "private"),
    ("11.0.0.0", None),
    ("100.63.255.255", None),
    ("100.64.0.1", "private"),
    ("100.127.255.255", "private"),
    ("100.128.0.0", None),
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("169.254.169.254", "link-local"),
    ("172.15.255.255", None),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("172.32.0.0", None),
    ("192.0.0.8", "reserved"),
    ("192.0.2.1", "documentation"),
    ("192.88.99.1", "reserved"),
    ("192.167.255.255", None),
    ("192.168.1.1", "private"),
    ("192.169.0.0", None),
    ("198.18.0.1", "benchmarking"),
    ("198.51.100.7", "documentation"),
    ("203.0.113.9", "documentation"),
    ("223.255.255.255", None),
    ("224.0.0.1", "multicast"),
    ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "broadcast"),
    ("8.8.8.8", None),
    # plain IPv6
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "link-local"),
    ("febf::1", "link-local"),
    ("fec0::1", "site-local"),
    ("feff::1", "site-local"),
    ("fc00::1", "private"),
    ("fd12:3456::1", "private"),
    ("ff02::1", "multicast"),
    ("100::1", "reserved"),
    ("2001:db8::1", "documentation"),
    ("3fff::1", "documentation"),
    ("2001:2::1", "reserved"),
    ("2001:10::1", "reserved"),
    ("5f00::1", "reserved"),
    ("4000::1", "reserved"),
    ("2606:4700::1111", None),
    ("2606:4700::1111%3", None),
    ("2001:4860:4860::8888", None),
    # IPv4 within IPv6
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:7f00:1", "loopback"),
    ("::ffff:169.254.169.254", "link-local"),
    ("::ffff:8.8.8.8", None),
    ("::127.0.0.1", "loopback"),
    ("::10.0.0.1", "private"),
    ("::8.8.8.8", None),
    ("::ffff:0:127.0.0.1", "loopback"),
    ("64:ff9b::127.0.0.1", "loopback"),
    ("64:ff9b::a9fe:a9fe", "link-local"),
    ("64:ff9b::8.8.8.8", None),
    ("64:ff9b:1::127.0.0.1", "loopback"),  # as a /96 prefix
    ("64:ff9b:1:7f00:0:100::", "loopback"),  # as a /48 prefix
    ("64:ff9b:1:7f:0:1::", "loopback"),  # as a /56 prefix
    ("64:ff9b:1:0:7f:0:100:0", "loopback"),  # as a /64 prefix
    ("64:ff9b:1::8.8.8.8", None),
    ("64:ff9b:1:808:8:800::", None),
    ("64:ff9b:1::", "unspecified"),
    ("64:ff9b:2::8.8.8.8", "reserved"),
    ("2002:7f00:1::", "loopback"),
    ("2002:c0a8:101::1", "private"),
    ("2002:808:808::1", None),
    ("2001:0:7f00:1::f7f7:f7f7", "loopback"),  # Teredo: the server
    ("2001:0:808:808::80ff:fffe", "loopback"),  # Teredo: the client, bits turned over
    ("2001:0:808:808::f7f7:f7f7", None),
    # not an address
    ("", "malformed"),
    ("localhost", "malformed"),
    ("127.1", "malformed"),
    ("256.0.0.1", "malformed"),
]


@pytest.mark.parametrize(("ip", "reason"), REFUSALS)
def test_address_is_checked_by_its_block(ip, reason):
    assert address_refusal(ip) == reason


@given(st.ip_addresses(v=4))
def test_wrapping_never_makes_a_refused_address_allowed(inner):
    bits = int(inner)
    hexed = f"{bits >> 16:x}:{bits & 0xFFFF:x}"
    plain = address_refusal(str(inner))
    for wrapped in (f"::ffff:{hexed}", f"64:ff9b::{hexed}", f"2002:{hexed}::1", f"::ffff:0:{hexed}"):
        assert address_refusal(wrapped) == plain
    assert plain is None or address_refusal(f"64:ff9b:1::{hexed}") is not None


LITERALS = [("127.0.0.1", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("[::1]", "::1"), ("::1", "::1"),
            ("[fe80::1%25eth0]", "fe80::1"), ("0x7f000001", "127.0.0.1"), ("0X7F.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"), ("017700000001", "127.0.0.1"), ("127.1", "127.0.0.1"), ("example.com", None),
            ("localhost", None), ("abc.fed", None), ("1.2.3.4.5", None), ("4294967296", None), ("", None)]


@pytest.mark.parametrize(("host", "address"), LITERALS)
def test_every_spelling_of_an_address_is_recognised(host, address):
    assert literal_address(host) == address
