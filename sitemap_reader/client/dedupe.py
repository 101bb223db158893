"""Which URLs have been seen: locs in, new or not out, in at most 16 bytes a URL.

Keeps no URL, only what tells it from others. Never opens a file, and knows nothing of records.
"""

from __future__ import annotations

import secrets
from hashlib import blake2b
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_WIDTH = 10
_KEY_BYTES = 16
_AVERAGE = 32  # marks a bucket


class UrlSet:
    """A set of URLs that can only grow, for at most 16 bytes a URL from 10,000 on (a set of str takes some 180).

    In place of a URL it keeps 80 bits of its BLAKE2b hash. Of 10 million different URLs, the odds that so much as one
    is taken for another are 1 in 24 billion (n² / 2 pairs in 2⁸⁰); the key of the hash is drawn anew for each Seen, so
    that nobody can choose URLs that collide.

    >>> seen = UrlSet()
    >>> seen.add("https://example.com/"), seen.add("https://example.com/a"), seen.add("https://example.com/")
    (True, True, False)
    >>> len(seen)
    2
    """

    # Linear hashing (Litwin 1980): buckets are split one at a time, in turn, so that neither a URL nor the memory ever
    # pays for the growth of all. A bucket is one bytes object, fingerprint behind fingerprint: an object for each
    # would take five times as much.

    def __init__(self) -> None:
        self._begin(secrets.token_bytes(_KEY_BYTES))

    def _begin(self, key: bytes) -> None:
        self._key = key
        self._hash = blake2b(digest_size=_WIDTH, key=key)
        self._buckets = [b""]
        self._mask = 0  # 2^k - 1, the least that covers all buckets
        self._count = 0

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The set that to_bytes() wrote; ValueError for what can be none."""
        if len(data) < _KEY_BYTES or (len(data) - _KEY_BYTES) % _WIDTH:
            raise ValueError(f"{len(data)} bytes are no set of URLs")
        seen = cls()
        seen._begin(data[:_KEY_BYTES])
        for start in range(_KEY_BYTES, len(data), _WIDTH):
            seen._add(data[start : start + _WIDTH])
        return seen

    def to_bytes(self) -> bytes:
        """The set as it stands, in 10 bytes a URL; not to be shown to those who choose the URLs."""
        return b"".join([self._key, *self._buckets])

    def __reduce__(self) -> tuple[Callable[[bytes], UrlSet], tuple[bytes]]:
        """For copies; the hash has no other way."""
        return type(self).from_bytes, (self.to_bytes(),)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, loc: str) -> bool:
        mark = self._mark(loc)
        return _holds(self._buckets[self._place(mark)], mark)

    def add(self, loc: str) -> bool:
        """Whether the URL is new; from then on it is not."""
        return self._add(self._mark(loc))

    def _mark(self, loc: str) -> bytes:
        hashed = self._hash.copy()  # a copy has taken the key in already
        hashed.update(loc.encode("utf-8", "surrogatepass"))
        return hashed.digest()

    def _place(self, mark: bytes) -> int:
        place = int.from_bytes(mark[:4], "little") & self._mask
        # What is not split off yet is in the one that will be split.
        return place if place < len(self._buckets) else place & self._mask >> 1

    def _add(self, mark: bytes) -> bool:
        buckets = self._buckets
        place = self._place(mark)
        bucket = buckets[place]
        if _holds(bucket, mark):
            return False
        buckets[place] = bucket + mark
        self._count += 1
        if self._count > len(buckets) * _AVERAGE:
            self._split()
        return True

    def _split(self) -> None:
        """One more bucket: what belongs into it, of the one that held it so far."""
        fresh = len(self._buckets)
        if fresh > self._mask:
            self._mask = self._mask * 2 + 1
        source = fresh & (self._mask >> 1)
        # The highest bit of the mask tells the two apart.
        byte, bit = divmod(self._mask.bit_length() - 1, 8)
        bucket = self._buckets[source]
        stay: list[bytes] = []
        leave: list[bytes] = []
        for start in range(0, len(bucket), _WIDTH):
            (leave if bucket[start + byte] >> bit & 1 else stay).append(bucket[start : start + _WIDTH])
        self._buckets[source] = b"".join(stay)
        self._buckets.append(b"".join(leave))


def _holds(bucket: bytes, mark: bytes) -> bool:
    """Whether one of the marks in the bucket is this one; the end of one and the beginning of the next are none."""
    found = bucket.find(mark)
    while found > 0 and found % _WIDTH:
        found = bucket.find(mark, found + 1)
    return found >= 0
