"""Decides which IP addresses may be connected to, against server-side request forgery (SSRF).

Never resolves a name, never opens a socket: the connector calls address_refusal() at every connect.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

# IANA special-purpose registries, spelled out: what `ipaddress` calls global changed between Python versions.
# First match wins; an address is in no network of the other version.
_REFUSED: tuple[tuple[IPv4Network | IPv6Network, str], ...] = tuple(
    (ip_network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "unspecified"),  # RFC 1122 3.2.1.3: "this network"; Linux connects 0.0.0.0 to itself
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "private"),  # RFC 6598: shared behind a carrier's NAT
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),  # cloud metadata services among them
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),  # RFC 7526: the former 6to4 relays
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("100::/64", "reserved"),  # RFC 6666: discard only
        ("2001::/23", "reserved"),  # IETF protocol assignments; the Teredo part was unwrapped before
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # RFC 4291 2.4: of IPv6, only this is allocated
_THIS_NETWORK = IPv4Network("0.0.0.0/8")

_LEGACY_IPV4 = re.compile(r"[0-9a-fx.]+", re.IGNORECASE)


def address_refusal(ip: str) -> str | None:
    """Returns why `ip` must not be connected to, or None if it may.

    IPv6 addresses with an IPv4 address inside (mapped, compatible, translated, NAT64, 6to4, Teredo) are checked by
    that address. Text that is not an address is refused.

    >>> address_refusal("93.184.215.14"), address_refusal("::ffff:127.0.0.1"), address_refusal("fe80::1%eth0")
    (None, 'loopback', 'link-local')
    """
    try:
        address = ip_address(ip.partition("%")[0])  # the scope id names an interface of this machine
    except ValueError:
        return "malformed"
    return _refusal(address) if isinstance(address, IPv4Address) else _refusal_v6(address)


def literal_address(host: str) -> str | None:
    """The IP address that a URL's host is written as, or None for a name.

    Reads the forms of the C library too: `0x7f000001`, `2130706433`, `127.1`, `[::1]`.
    """
    host = host.strip("[]").rstrip(".")
    try:
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    if not _LEGACY_IPV4.fullmatch(host):
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def _refusal_v6(address: IPv6Address) -> str | None:
    if int(address) > 1:  # :: and ::1 lie within the v4-compatible block
        for network, embedded in _EMBEDDINGS:
            if address in network:
                reasons = [_refusal(inner) for inner in embedded(int(address))]
                return next((reason for reason in reasons if reason), None)
    reason = _refusal(address)
    if reason is None and address not in _GLOBAL_UNICAST:
        return "reserved"
    return reason


def _refusal(address: IPv4Address | IPv6Address) -> str | None:
    return next((reason for network, reason in _REFUSED if address in network), None)


def _v4(bits: int) -> IPv4Address:
    return IPv4Address(bits & 0xFFFF_FFFF)


def _last_32_bits(bits: int) -> list[IPv4Address]:
    return [_v4(bits)]


def _local_nat64(bits: int) -> list[IPv4Address]:
    """Each IPv4 address that one in 64:ff9b:1::/48 may hold (RFC 8215): the operator picks the prefix length."""
    # RFC 6052 2.2: after /48, /56 and /64 prefixes it is split around bits 64 to 71, and zeros follow it. 0.0.0.0/8 at
    # one position means that the address stands at another.
    without_u = bits >> 64 << 56 | bits & (1 << 56) - 1  # 120 bits, bits 64 to 71 cut out
    candidates = [_v4(bits), *(_v4(without_u >> 120 - 32 - prefix) for prefix in (48, 56, 64))]
    return [inner for inner in candidates if inner not in _THIS_NETWORK] or candidates


_EMBEDDINGS: tuple[tuple[IPv6Network, Callable[[int], list[IPv4Address]]], ...] = (
    (IPv6Network("::ffff:0:0/96"), _last_32_bits),  # RFC 4291 2.5.5.2: mapped
    (IPv6Network("::/96"), _last_32_bits),  # RFC 4291 2.5.5.1: compatible
    (IPv6Network("::ffff:0:0:0/96"), _last_32_bits),  # RFC 2765 2.1: translated
    (IPv6Network("64:ff9b::/96"), _last_32_bits),  # RFC 6052 2.1: NAT64
    (IPv6Network("64:ff9b:1::/48"), _local_nat64),
    (IPv6Network("2002::/16"), lambda bits: [_v4(bits >> 80)]),  # RFC 3056: 6to4
    # Teredo, RFC 4380 4: the server's address, and the client's with every bit inverted.
    (IPv6Network("2001::/32"), lambda bits: [_v4(bits >> 64), _v4(~bits)]),
)
