"""What a request costs against the rate limits."""

from __future__ import annotations

from starlette.types import Message, Scope


async def cost_of(scope: Scope, body: Message) -> int:
    """Return how many calls a request counts as, at least 1; `body` is its one body message."""
    return 1
