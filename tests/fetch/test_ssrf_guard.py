import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_reader.fetch import address_refusal, literal_address

# Plain IPv4 with the neighbours on both sides of each block, plain IPv6, and IPv4 within IPv6: 64:ff9b:1::/48 as a
# prefix of /96, /48, /56 and /64, and Teredo (2001:0::/32) with the address of its server or, bits turned, its client.
REFUSALS: dict[str | None, list[str]] = {
    "unspecified": ["0.0.0.0", "0.1.2.3", "::", "64:ff9b:1::"],
    None: [
        "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
        "192.167.255.255", "192.169.0.0", "223.255.255.255", "8.8.8.8", "2606:4700::1111", "2606:4700::1111%3",
        "2001:4860:4860::8888", "::ffff:8.8.8.8", "::8.8.8.8", "64:ff9b::8.8.8.8", "64:ff9b:1::8.8.8.8",
        "64:ff9b:1:808:8:800::", "2002:808:808::1", "2001:0:808:808::f7f7:f7f7",
    ],
    "private": [
        "10.0.0.0", "10.255.255.255", "100.64.0.1", "100.127.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "fc00::1", "fd12:3456::1", "::10.0.0.1", "2002:c0a8:101::1",
    ],
    "loopback": [
        "127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1",
        "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::127.0.0.1", "64:ff9b:1:7f00:0:100::",
        "64:ff9b:1:7f:0:1::", "64:ff9b:1:0:7f:0:100:0", "2002:7f00:1::", "2001:0:7f00:1::f7f7:f7f7",
        "2001:0:808:808::80ff:fffe",
    ],
    "link-local": [
        "169.254.169.254", "fe80::1", "fe80::1%eth0", "febf::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    ],
    "reserved": [
        "192.0.0.8", "192.88.99.1", "240.0.0.1", "100::1", "2001:2::1", "2001:10::1", "5f00::1", "4000::1",
        "64:ff9b:2::8.8.8.8",
    ],
    "documentation": ["192.0.2.1", "198.51.100.7", "203.0.113.9", "2001:db8::1", "3fff::1"],
    "benchmarking": ["198.18.0.1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "broadcast": ["255.255.255.255"],
    "site-local": ["fec0::1", "feff::1"],
    "malformed": ["", "localhost", "127.1", "256.0.0.1"],
}


@pytest.mark.parametrize(("ip", "reason"), [(ip, reason) for reason, ips in REFUSALS.items() for ip in ips])
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
