"""Work on large answers, and times as they are sent."""

from datetime import UTC, datetime

from service.engine import BoundedPool

REPRESENTATIONS = BoundedPool("large answers", 2, 32)  # CSV, JSON, pages: megabytes each, so few are made at a time


def timestamp(seconds: float) -> str:
    """Return seconds since 1970 as in RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
