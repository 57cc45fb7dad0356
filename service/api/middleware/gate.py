"""Lets in who has a key, where one is needed, and who has calls left; everything that is not named public is closed."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.addresses import client_address, parse_networks
from service.access.keys import KeyRing
from service.access.limits import RateLimits, parse_limits
from service.api.body import FIELDS, read_fields
from service.api.context import context_of
from service.api.errors import ApiError, handle_api_error
from service.api.middleware.cost import cost_of
from service.settings import Settings

PUBLIC = frozenset(
    {
        *("/", "/docs", "/openapi.json", "/favicon.ico", "/languages", "/frontend/settings"),
        *("/health", "/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready"),
    }
)
PUBLIC_FOLDERS = ("/web/",)
METRICS = "/metrics"
ADMIN = "/v2/repository/"

NO_KEY = "Please contact the server operator to get an API key"
WRONG_KEY = "Invalid API key"
WRONG_TOKEN = "The metrics need the operator's token, as `Authorization: Bearer TOKEN`."

NO_ADMIN = "Models are not loaded or unloaded over HTTP here; the operator's TRANSLUCENT_ADMIN_TOKEN makes it possible."
WRONG_ADMIN = "This needs the operator's token, as `Authorization: Bearer TOKEN`."


class Gate:
    """Sits behind Intake, so that the whole body, which may hold the key, is there in one message."""

    def __init__(self, app: ASGIApp, settings: Settings, keys: KeyRing | None, limits: RateLimits) -> None:
        self.app = app
        self.keys = keys
        self.require_key = settings.require_key
        self.metrics_token = settings.metrics_token.get_secret_value()
        self.admin_token = settings.admin_token.get_secret_value()
        self.limits = limits
        self.for_addresses = parse_limits(settings.rate_limit)
        self.for_keys = parse_limits(settings.key_rate_limit)
        self.proxies = parse_networks(settings.trusted_proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection scope."""
        if scope["type"] != "http" or is_public(scope["path"]):
            await self.app(scope, receive, send)
            return
        try:
            receive = await self._admit(scope, receive)
        except ApiError as error:
            response = await handle_api_error(Request(scope), error)
            await response(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        """Raise ApiError for who may not pass; returns the channel that still has the body."""
        if scope["path"] == METRICS and self.metrics_token:
            check_token(scope, self.metrics_token, WRONG_TOKEN)
            return receive
        if scope["path"].startswith(ADMIN):
            if not self.admin_token:
                raise ApiError(NO_ADMIN, status=403, code="admin_disabled")
            await self._count(None, scope)  # so that nobody tries tokens without end
            check_token(scope, self.admin_token, WRONG_ADMIN)
            return receive
        first = await receive()
        key = await offered_key(scope, first) if self.keys is not None else None
        await self._check(scope, key, await cost_of(scope, first))
        return replaying(first, receive)

    async def _check(self, scope: Scope, key: str | None, cost: int) -> None:
        owner = None
        if self.keys is not None and key is not None:
            owner = self.keys.owner(key)
        if owner is not None:
            context_of(scope).key = owner
            await self._count(f"key:{owner}", scope, cost)
            return
        # Wrong keys count, too: nobody may try them faster than they may translate.
        await self._count(None, scope, cost)
        if key is not None:
            raise ApiError(WRONG_KEY, status=403, code="invalid_key")
        if self.require_key:
            raise ApiError(NO_KEY, status=400, code="key_required")

    async def _count(self, owner: str | None, scope: Scope, cost: int = 1) -> None:
        limits = self.for_addresses if owner is None else self.for_keys
        if not limits or scope["path"] == METRICS:
            return
        exceeded = await self.limits.count(owner or f"address:{self._address(scope)}", limits, cost)
        if exceeded is not None:
            raise ApiError(
                f"Slowdown: {exceeded.limit} are allowed; try again in {exceeded.seconds} s.",
                status=429,
                code="rate_limit",
                headers={"Retry-After": str(exceeded.seconds)},
            )

    def _address(self, scope: Scope) -> str:
        client = scope.get("client")
        forwarded = Headers(scope=scope).getlist("x-forwarded-for")
        return client_address(client[0] if client else None, forwarded, self.proxies)


def check_token(scope: Scope, token: str, refusal: str) -> None:
    """Raise ApiError where the header does not have this token."""
    offered = (bearer(scope) or "").encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(offered, token.encode()):
        raise ApiError(refusal, status=403, code="invalid_token")


def is_public(path: str) -> bool:
    """Whether a path is open to everybody."""
    return path in PUBLIC or path.startswith(PUBLIC_FOLDERS)


def bearer(scope: Scope) -> str | None:
    """The token of an `Authorization: Bearer` header."""
    scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


async def offered_key(scope: Scope, body: Message) -> str | None:
    """The key of a request: that of its header, else its field `api_key`; empty and null mean none."""
    from_header = bearer(scope)
    if from_header is not None:
        return from_header
    try:
        fields: Mapping[str, Any] = await read_fields(Request(scope, replaying(body)))
    except ApiError:
        return None  # whoever reads the body next says what is wrong with it
    scope[FIELDS] = fields
    key = fields.get("api_key")
    if key is None or key == "":
        return None
    return key if isinstance(key, str) else ""


def replaying(first: Message, then: Receive | None = None) -> Receive:
    """A channel that gives `first` again, and then what `then` gives."""
    waiting = [first]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        assert then is not None
        return await then()

    return receive
