"""WebhookSink: posts changes to a URL, signed by the Standard Webhooks specification.

In: entries of the change log. Out: requests of at most some 500 kB of JSON, each with an id that stays the same when it
is repeated, so that receivers can drop repetitions. Redirects are never followed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import attrs
import orjson

from ..frontier.host_queue import retry_after
from ..frontier.seeds import login_of
from ..model.errors import UsageError
from ..parser.normalise.urls import clean_url, origin, without_userinfo
from ..serialize.jsonl import stamp
from ..version import __version__
from .sinks import DeliveryFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import aiohttp

    from ..state.change_log import LogEntry

# nginx takes bodies of 1 MB by default, as aiohttp does.
MAX_BODY_BYTES = 500_000
TIMEOUT_SECONDS = 30.0
EVENT_TYPE = "sitemap.changes"
_SECRET_PREFIX = "whsec_"  # noqa: S105 - by which the specification marks a secret
_MIN_SECRET_BYTES, _MAX_SECRET_BYTES = 24, 64  # Standard Webhooks, "Signature scheme"
# Answers about this body. Others, such as 401 and 404, are about the URL or the receiver: the next body has the same.
_REJECTED = {400, 409, 413, 415, 422}
_GONE = 410  # Standard Webhooks: the receiver wants no more
_WAIT = {429, 503}  # with a Retry-After


class WebhookSink:
    """Posts each entry to a URL; userinfo in the URL is sent as Authorization, and shown nowhere.

    `secrets` sign each request, all of them, so that a receiver can change from one to the next; without any, requests
    are not signed. UsageError for an invalid URL or secret. An entry is one request, or several if it is large; after
    a failure the first request that failed is repeated.
    """

    def __init__(
        self,
        url: str,
        secrets: Sequence[str] = (),
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
        timeout_seconds: float = TIMEOUT_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        cleaned = clean_url(url).url
        if cleaned is None:
            raise UsageError(f"{url} is no URL of a webhook: give one like https://example.com/hook")
        self._url = without_userinfo(cleaned)
        # With a digest of the URL, as path and query may be secret.
        digest = hashlib.blake2b(self._url.encode(), digest_size=4).hexdigest()
        self.name = f"webhook {origin(self._url)} {digest}"
        self._login = login_of(cleaned)
        self._keys = [_key_of(secret) for secret in secrets]
        self._max_body_bytes = max_body_bytes
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._delivered = ""  # the key of the last part that was delivered

    async def deliver(self, entry: LogEntry) -> None:
        """Posts an entry; returns after a status of 2xx for each of its requests."""
        parts = [*parts_of(entry, self._max_body_bytes)]
        done = next((number for number, part in enumerate(parts, 1) if part.key == self._delivered), 0)
        for part in parts[done:]:
            await self._post(part)
            self._delivered = part.key

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _post(self, part: LogEntry) -> None:
        import aiohttp

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout_seconds)
            self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        body = body_of(part)
        headers = self._headers(part.key, body)
        try:
            async with self._session.post(self._url, data=body, headers=headers, allow_redirects=False) as response:
                status, wanted = response.status, response.headers.get("Retry-After")
        except TimeoutError:
            raise DeliveryFailed(f"no answer within {self._timeout_seconds:g} seconds") from None
        except aiohttp.ClientResponseError as exc:  # its text has the URL
            raise DeliveryFailed(f"no valid answer: {exc.message}") from None
        except (aiohttp.ClientError, OSError) as exc:
            number = getattr(exc, "errno", None) or 0  # below 0: of a name that is not resolved
            reason = f"no connection: {os.strerror(number)}" if number > 0 else str(exc) or type(exc).__name__
            raise DeliveryFailed(reason) from None
        self._check(status, wanted)

    def _headers(self, key: str, body: bytes) -> dict[str, str]:
        timestamp = int(self._clock().timestamp())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"sitemap-reader/{__version__}",
            "webhook-id": key,
            "webhook-timestamp": str(timestamp),
        }
        if self._keys:
            headers["webhook-signature"] = " ".join(signature(each, key, timestamp, body) for each in self._keys)
        if self._login:
            headers["Authorization"] = self._login
        return headers

    def _check(self, status: int, wanted: str | None) -> None:
        """DeliveryFailed for any status but 2xx."""
        if 200 <= status < 300:
            return
        if status == _GONE:
            raise DeliveryFailed("answers 410 Gone", is_permanent=True)
        if 300 <= status < 400:
            raise DeliveryFailed(f"answers {status}: redirects are not followed, so name the URL to which it leads")
        seconds = retry_after(wanted, self._clock()) if status in _WAIT else None
        raise DeliveryFailed(f"answers {status}", retry_after=seconds, is_rejected=status in _REJECTED)


def parts_of(entry: LogEntry, max_bytes: int) -> Iterator[LogEntry]:
    """The entry in parts of at most so many bytes, in order; a line that is longer is a part of its own.

    The same entry always has the same parts.
    """
    if len(entry.lines) <= max_bytes:
        yield entry
        return
    first, part, size = entry.first_seq, list[bytes](), 0
    for seq, line in enumerate(entry.lines.splitlines(keepends=True), entry.first_seq):
        if part and size + len(line) > max_bytes:
            yield attrs.evolve(entry, first_seq=first, last_seq=seq - 1, lines=b"".join(part))
            first, part, size = seq, [], 0
        part.append(line)
        size += len(line)
    yield attrs.evolve(entry, first_seq=first, lines=b"".join(part))


def body_of(entry: LogEntry) -> bytes:
    """The JSON of a request: `type`, `timestamp`, and `data` with `site` and `changes`, the objects of the log."""
    head = orjson.dumps({"type": EVENT_TYPE, "timestamp": stamp(entry.at), "data": {"site": entry.site}})
    return b'%s,"changes":[%s]}}' % (head[:-2], b",".join(entry.lines.splitlines()))


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body (Standard Webhooks, "Signature scheme")."""
    content = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return f"v1,{base64.b64encode(hmac.digest(key, content, 'sha256')).decode()}"


def _key_of(secret: str) -> bytes:
    """The bytes of a secret; UsageError, without the secret, for an invalid one."""
    try:
        key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(_SECRET_PREFIX) or not _MIN_SECRET_BYTES <= len(key) <= _MAX_SECRET_BYTES:
        raise UsageError(
            f"a secret of a webhook is {_SECRET_PREFIX} and the base64 of {_MIN_SECRET_BYTES} to {_MAX_SECRET_BYTES} "
            f'bytes: make one with  echo "{_SECRET_PREFIX}$(openssl rand -base64 32)"'
        )
    return key
