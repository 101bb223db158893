"""UrlSet: whether a URL was seen before, in at most 16 bytes per URL."""

from __future__ import annotations

import secrets
from hashlib import blake2b
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_HASH_BYTES = 10
_KEY_BYTES = 16
_MEAN_BUCKET = 32  # hashes per bucket, at which one is split


class UrlSet:
    """A set of URLs that only grows, at most 16 bytes per URL from 10,000 on (a set of str takes some 180).

    It keeps 80 bits of the BLAKE2b hash of each URL. Among 10 million different URLs, the odds of one collision are 1
    in 24 billion (n² / 2 pairs in 2⁸⁰); the hash has a random key per set, so that a site cannot choose URLs that
    collide.

    >>> seen = UrlSet()
    >>> seen.add("https://example.com/"), seen.add("https://example.com/a"), seen.add("https://example.com/")
    (True, True, False)
    >>> len(seen)
    2
    """

    # Linear hashing (Litwin 1980): buckets are split one at a time, in turn, so that no single add() rehashes all. A
    # bucket is one bytes object of concatenated hashes: an object for each would take five times as much.

    def __init__(self) -> None:
        self._begin(secrets.token_bytes(_KEY_BYTES))

    def _begin(self, key: bytes) -> None:
        self._key = key
        self._hash = blake2b(digest_size=_HASH_BYTES, key=key)
        self._buckets = [b""]
        self._mask = 0  # 2^k - 1, the smallest that covers all buckets
        self._count = 0

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The set that to_bytes() wrote; ValueError for a wrong length."""
        if len(data) < _KEY_BYTES or (len(data) - _KEY_BYTES) % _HASH_BYTES:
            raise ValueError(f"{len(data)} bytes are no UrlSet")
        seen = cls()
        seen._begin(data[:_KEY_BYTES])
        for start in range(_KEY_BYTES, len(data), _HASH_BYTES):
            seen._add(data[start : start + _HASH_BYTES])
        return seen

    def to_bytes(self) -> bytes:
        """The set in 10 bytes per URL; holds the key of the hash, so it must be kept secret from sites."""
        return b"".join([self._key, *self._buckets])

    def __reduce__(self) -> tuple[Callable[[bytes], UrlSet], tuple[bytes]]:
        """For copy and pickle: the hash object supports neither."""
        return type(self).from_bytes, (self.to_bytes(),)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, loc: str) -> bool:
        url_hash = self._url_hash(loc)
        return _holds(self._buckets[self._bucket_number(url_hash)], url_hash)

    def add(self, loc: str) -> bool:
        """Adds the URL; True if it was not in the set."""
        return self._add(self._url_hash(loc))

    def _url_hash(self, loc: str) -> bytes:
        hashed = self._hash.copy()  # a copy has already processed the key
        hashed.update(loc.encode("utf-8", "surrogatepass"))
        return hashed.digest()

    def _bucket_number(self, url_hash: bytes) -> int:
        number = int.from_bytes(url_hash[:4], "little") & self._mask
        # A bucket that does not exist yet is still part of the one that will be split.
        return number if number < len(self._buckets) else number & self._mask >> 1

    def _add(self, url_hash: bytes) -> bool:
        buckets = self._buckets
        number = self._bucket_number(url_hash)
        bucket = buckets[number]
        if _holds(bucket, url_hash):
            return False
        buckets[number] = bucket + url_hash
        self._count += 1
        if self._count > len(buckets) * _MEAN_BUCKET:
            self._split()
        return True

    def _split(self) -> None:
        """Adds a bucket, and moves the hashes that belong there out of the next bucket in turn."""
        fresh = len(self._buckets)
        if fresh > self._mask:
            self._mask = self._mask * 2 + 1
        source = fresh & (self._mask >> 1)
        # The highest bit of the mask decides between the two.
        byte, bit = divmod(self._mask.bit_length() - 1, 8)
        bucket = self._buckets[source]
        stay: list[bytes] = []
        leave: list[bytes] = []
        for start in range(0, len(bucket), _HASH_BYTES):
            (leave if bucket[start + byte] >> bit & 1 else stay).append(bucket[start : start + _HASH_BYTES])
        self._buckets[source] = b"".join(stay)
        self._buckets.append(b"".join(leave))


def _holds(bucket: bytes, url_hash: bytes) -> bool:
    """Whether the bucket holds this hash, at a multiple of its length."""
    found = bucket.find(url_hash)
    while found > 0 and found % _HASH_BYTES:
        found = bucket.find(url_hash, found + 1)
    return found >= 0
