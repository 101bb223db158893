"""One request of a Fetcher, and what it gave."""

from sitemap_reader import FetchError


async def fetch(fetcher, url, most=None):
    """(status, headers, body, error) of one fetch; stops after `most` chunks."""
    body, error = [], None
    try:
        async with fetcher.fetch(url, {}) as answer:
            try:
                async for chunk in answer.chunks:
                    body.append(chunk)
                    if len(body) == most:
                        break
            except FetchError as exc:
                error = exc
            return answer.status, dict(answer.headers), b"".join(body), error
    except FetchError as exc:
        return None, {}, b"", exc
