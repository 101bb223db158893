"""The dates of HTTP headers (RFC 9110 5.6.7): text in, a moment out."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def http_date(value: str) -> datetime | None:
    """The timezone-aware moment that a header names; None if unreadable."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):  # all that parsedate_to_datetime raises
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # RFC 9110 5.6.7: HTTP dates are UTC
