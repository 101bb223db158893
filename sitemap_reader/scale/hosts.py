"""The hosts of a harvest, and the shard of each.

All hosts of a registrable domain are in one shard, so that one task limits the requests to it. The shard depends on the
domain and the number of shards only: a host stays in its shard when others join the list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from ..client.targets import read_target_list, site_target
from ..model.errors import UsageError
from ..state.state import site_name

if TYPE_CHECKING:
    from ..client.targets import Target


@attrs.frozen
class HostList:
    """`targets` in their order, with their `domains`; `refused`: numbers of invalid lines, each with its reason."""

    targets: tuple[str, ...]
    domains: tuple[str, ...]
    repeated: int
    refused: tuple[tuple[int, str], ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256("\n".join(self.targets).encode()).hexdigest()


def read_hosts(hosts: str | Path | bytes | Iterable[str]) -> HostList:
    """The hosts of a file with one target a line, of its bytes, or of an iterable.

    Blank lines and # comments are skipped. UsageError for a file that cannot be read, and where there is no host.
    """
    targets: dict[str, tuple[str, str]] = {}  # normalised name -> name as given, domain
    repeated, refused = 0, []
    for number, target in _numbered(hosts):
        try:
            site = _site(target)
        except UsageError as exc:
            refused.append((number, str(exc)))
            continue
        name = site_name(site.seeds)
        if name in targets:
            repeated += 1
        else:
            targets[name] = site.name, site.domain
    if not targets:
        first = "".join(f"; line {number}: {why}" for number, why in refused[:1])
        place = hosts if isinstance(hosts, str | Path) else "the list"
        raise UsageError(f"there is no host in {place!s}{first or '; give one a line, such as example.com'}")
    return HostList(
        tuple(target for target, _ in targets.values()),
        tuple(domain for _, domain in targets.values()),
        repeated,
        tuple(refused),
    )


def _numbered(hosts: str | Path | bytes | Iterable[str]) -> Iterable[tuple[int, str]]:
    if isinstance(hosts, bytes):
        return read_target_list(hosts)
    if not isinstance(hosts, str | Path):
        if not hasattr(hosts, "__iter__"):
            raise UsageError(f"hosts are a file with one a line, or the hosts themselves, not {hosts!r:.60}")
        return enumerate(hosts, 1)
    try:
        return read_target_list(Path(hosts).read_bytes())
    except (OSError, ValueError) as exc:
        message = f"cannot read {hosts}: {getattr(exc, 'strerror', None) or exc}"
        raise UsageError(message, remedy="give a file with one host a line, or a list of hosts") from exc


def _site(target: str) -> Target:
    if not isinstance(target, str):
        raise UsageError(f"a host is text such as example.com, not {target!r}")
    line = target.strip()
    if len(line.splitlines()) > 1:
        raise UsageError(f"a host is one line such as example.com, not {target!r}")
    site = site_target(line)
    if any(seed.login for seed in site.seeds):
        raise UsageError(
            f"{site.name}: user and password would be written to the folder", remedy="use --netrc (netrc=)"
        )
    return site


def domain_of(target: str) -> str:
    """The registrable domain of a target; an IP address is its own.

    >>> domain_of("https://news.example.co.uk:8443/sitemap.xml"), domain_of("127.0.0.1:8080")
    ('example.co.uk', '127.0.0.1')
    """
    return site_target(target).domain


def by_domain(targets: Iterable[str]) -> dict[str, list[str]]:
    domains: dict[str, list[str]] = {}
    for target in targets:
        domains.setdefault(domain_of(target), []).append(target)
    return domains


def shard_of(domain: str, shards: int) -> int:
    """The shard of a domain, the same on every machine."""
    digest = hashlib.blake2b(domain.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


def sharded(hosts: HostList, shards: int) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in range(shards)]
    for target, domain in zip(hosts.targets, hosts.domains, strict=True):
        found[shard_of(domain, shards)].append(target)
    return found
