"""Access control: keys, tokens and rate limits, checked before the body is read and again after it."""

import hmac
import math
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.types import Scope

from service.access.keys import KeyRing, digest
from service.access.limits import Exceeded, RateLimits, parse_limits
from service.api.context import RequestContext, context_of, header
from service.api.errors import ApiError
from service.api.paths import ADMIN, DIALECT, METRICS, is_public
from service.api.request_body import FIELDS, read_fields
from service.api.schemas.inference import LARGEST_SIZE, sizes
from service.engine import result_owner
from service.settings import Settings

NO_KEY = "Please contact the server operator to get an API key"
WRONG_KEY = "Invalid API key"
WRONG_TOKEN = "The metrics require the operator's token: `Authorization: Bearer TOKEN`."

NO_ADMIN = (
    "This server does not load or unload models over HTTP; the operator can allow it with TRANSLUCENT_ADMIN_TOKEN."
)
WRONG_ADMIN = "This route requires the operator's token: `Authorization: Bearer TOKEN`."
FAILURES = "20/minute"  # wrong keys and tokens of one address
FAILED_TOO_OFTEN = "too many wrong keys or tokens came from your address"


class AccessRules:
    """Decides about requests; every path that is not public is closed."""

    def __init__(self, settings: Settings, keys: KeyRing | None, limits: RateLimits) -> None:
        self.keys = keys
        self.limits = limits
        self.require_key = settings.require_key
        self.metrics_token = settings.metrics_token.get_secret_value()
        self.admin_token = settings.admin_token.get_secret_value()
        self.for_addresses = parse_limits(settings.rate_limit)
        self.for_keys = parse_limits(settings.key_rate_limit)
        self.for_failures = parse_limits(FAILURES)

    @property
    def open_to_all(self) -> bool:
        """Return whether there are neither keys nor limits, so that no body needs a check."""
        return not (self.keys is not None or self.require_key or self.for_addresses or self.for_keys)

    def requires_token(self, path: str) -> bool:
        """Return whether a path requires the operator's token instead of an API key."""
        return path.startswith(ADMIN) or (path == METRICS and bool(self.metrics_token))

    async def before_body(self, scope: Scope) -> None:
        """Check access without the body; raise ApiError. Then the owner of a key in the header is in the context."""
        path = scope["path"]
        if is_open(scope):
            return
        if self.requires_token(path):
            await self._check_token(scope)
            return
        if self.keys is None:
            # No content of a body could change this.
            await self._limit(None, scope)
            return
        await self.keys.reload_if_due()
        key = bearer(scope)
        if key is None:
            return
        owner = self.keys.owner(key)
        if owner is None:
            await self._limit(None, scope, 1)
            await self._fail(scope, WRONG_KEY, "invalid_key")
        await self._limit(owner, scope)
        _record_key(context_of(scope), owner, key)

    async def after_body(self, scope: Scope) -> None:
        """Check access for a request whose body was read and may hold a key, and count it; raise ApiError."""
        path = scope["path"]
        if self.open_to_all or is_open(scope) or self.requires_token(path):
            return
        context, fields = context_of(scope), await early_fields(scope)
        keys = self.keys if context.key is None else None
        key = None if keys is None else key_in(fields)
        if keys is not None and key is not None:
            owner = keys.owner(key)
            if owner is not None:
                _record_key(context, owner, key)
        await self._limit(context.key, scope, cost_of(fields))
        if context.key is not None:
            return
        if key is not None:
            await self._fail(scope, WRONG_KEY, "invalid_key")
        if self.require_key:
            raise missing_key(path)

    async def _check_token(self, scope: Scope) -> None:
        token, refusal = self.admin_token, WRONG_ADMIN
        if scope["path"] == METRICS:
            token, refusal = self.metrics_token, WRONG_TOKEN
        elif not token:
            raise ApiError(NO_ADMIN, status=403, code="admin_disabled")
        # People choose tokens: after too many wrong guesses an address does not learn whether the next one is right.
        exceeded = await self.limits.full(self._failures(scope), self.for_failures)
        if exceeded is not None:
            raise slow_down(FAILED_TOO_OFTEN, exceeded)
        await self._limit(None, scope, 1)
        offered = (bearer(scope) or "").encode("utf-8", "surrogatepass")
        if not hmac.compare_digest(offered, token.encode()):
            await self._fail(scope, refusal, "invalid_token")

    async def _fail(self, scope: Scope, message: str, code: str) -> None:
        """Count a wrong key or token, with or without other limits, and raise ApiError."""
        exceeded = await self.limits.count(self._failures(scope), self.for_failures)
        if exceeded is not None:
            raise slow_down(FAILED_TOO_OFTEN, exceeded)
        raise ApiError(message, status=403, code=code)

    async def _limit(self, owner: str | None, scope: Scope, cost: int = 0) -> None:
        """Count a request as so many calls; without a cost, only raise ApiError if no further one is allowed."""
        limits = self.for_addresses if owner is None else self.for_keys
        if not limits or scope["path"] == METRICS:
            return
        client = f"address:{context_of(scope).address}" if owner is None else f"key:{owner}"
        exceeded = await (self.limits.count(client, limits, cost) if cost else self.limits.full(client, limits))
        if exceeded is not None:
            counts = f", and this one counts as {cost} because of its texts" if cost > 1 else ""
            raise slow_down(f"{exceeded.limit} are allowed{counts}", exceeded)

    def _failures(self, scope: Scope) -> str:
        return f"failures:{context_of(scope).address}"


def _record_key(context: RequestContext, owner: str | None, key: str) -> None:
    """Record who has sent a request, also for the cache, which answers each key with its own results."""
    context.key, context.key_hash = owner, digest(key)
    result_owner.set(context.key_hash)


def is_open(scope: Scope) -> bool:
    """Return whether a request needs neither key nor token: browsers ask with OPTIONS before they send one."""
    return scope["method"] == "OPTIONS" or is_public(scope["path"])


def bearer(scope: Scope) -> str | None:
    """Return the token of an `Authorization: Bearer` header."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


async def early_fields(scope: Scope) -> Mapping[str, Any]:
    """Return the fields of a request before its route reads them; none if that fails, which the route reports."""
    try:
        scope[FIELDS] = fields = await read_fields(Request(scope))
    except ApiError:
        return {}
    return fields


def key_in(fields: Mapping[str, Any]) -> str | None:
    """Return the key in the field `api_key`; empty and null mean none."""
    key = fields.get("api_key")
    if key is None or key == "":
        return None
    return key if isinstance(key, str) else ""


def cost_of(fields: Mapping[str, Any]) -> int:
    """Return the number of calls that a request counts as: one for each of its texts, at least 1.

    That of tensors is in their shapes, which the route compares with the data.
    """
    texts = fields.get("q", fields.get("inputs"))
    if not isinstance(texts, list):
        return 1
    shapes = [tensor.get("shape") for tensor in texts if isinstance(tensor, dict)]
    return max(1, *map(_size, shapes)) if shapes else max(1, len(texts))


def _size(shape: Any) -> int:
    try:
        return min(math.prod(sizes(shape)), LARGEST_SIZE)  # shared counters hold 64 bits
    except ValueError:
        return 1  # the route refuses it


def missing_key(path: str) -> ApiError:
    """Return the answer to a client without the key that it needs."""
    if path in DIALECT:
        return ApiError(NO_KEY, status=400, code="key_required")
    return ApiError(NO_KEY, status=401, code="key_required", headers={"WWW-Authenticate": "Bearer"})


def slow_down(why: str, exceeded: Exceeded) -> ApiError:
    """Return the answer to a client that must wait."""
    return ApiError(
        f"Slowdown: {why}; try again in {exceeded.seconds} s.",
        status=429,
        code="rate_limit",
        headers={"Retry-After": str(exceeded.seconds)},
    )
