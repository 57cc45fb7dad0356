"""Entity tags: whether a client already has an answer (RFC 9110, section 8.8.3)."""

import hashlib
import json
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

# A figure's address stays the same when its model changes, so a stored copy must be validated before use, which costs
# next to nothing. It holds the text of a user: only that user's own cache may keep it.
VALIDATED = "private, max-age=0, must-revalidate"
STABLE = "private, max-age=31536000, immutable"  # the address names its model by digest


def entity_tag(content: bytes) -> str:
    """Return a strong tag of a content."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def matches(if_none_match: str | None, tag: str) -> bool:
    """Return whether a client already has the answer of this tag."""
    if if_none_match is None:
        return False
    tags = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return tag in tags or "*" in tags


async def tagged(request: Request, key: object, make: Callable[[], Awaitable[Response]], *, stable: bool) -> Response:
    """Return the answer, or 304 if the client has it; `key` holds every value that the answer depends on, as JSON."""
    tag = entity_tag(json.dumps(key, sort_keys=True).encode("ascii"))
    headers = {"ETag": tag, "Cache-Control": STABLE if stable else VALIDATED}
    if request.method == "GET" and matches(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    response = await make()
    response.headers.update(headers)
    return response
