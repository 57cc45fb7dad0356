"""Access control: by the head of a request before its body is read, then by the key in the body, if any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.context import context_of
from service.api.error_handlers import handle_api_error
from service.api.errors import ApiError
from service.api.middleware.access_rules import AccessRules
from service.api.middleware.request_cost import cost_of
from service.api.paths import is_public
from service.api.request_body import FIELDS, read_fields


class HeadAccessMiddleware:
    """Runs before BodyLimitMiddleware: the body of a request that is refused anyway is neither read nor held."""

    def __init__(self, app: ASGIApp, access: AccessRules) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection scope."""
        if scope["type"] == "http" and not is_public(scope["path"]):
            try:
                await self.access.before_body(scope)
            except ApiError as error:
                # The server discards the rest of the body, so that the client can read this answer.
                response = await handle_api_error(Request(scope), error)
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


class BodyAccessMiddleware:
    """Runs after BodyLimitMiddleware: the whole body, which may hold the key, is in one message."""

    def __init__(self, app: ASGIApp, access: AccessRules) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection scope."""
        path = scope.get("path", "")
        free = self.access.open_to_all
        if scope["type"] != "http" or free or is_public(path) or self.access.requires_token(path):
            await self.app(scope, receive, send)
            return
        first = await receive()
        try:
            known = self.access.keys is None or context_of(scope).key is not None
            key = None if known else await key_in_fields(scope, first)
            cost = await cost_of(scope, first) if self.access.for_addresses or self.access.for_keys else 1
            await self.access.after_body(scope, key, cost)
        except ApiError as error:
            response = await handle_api_error(Request(scope), error)
            await response(scope, receive, send)
            return
        await self.app(scope, replaying(first, receive), send)


async def key_in_fields(scope: Scope, body: Message) -> str | None:
    """Return the key in a request's field `api_key`; empty and null mean none."""
    try:
        fields: Mapping[str, Any] = await read_fields(Request(scope, replaying(body)))
    except ApiError:
        return None  # the route reports the error
    scope[FIELDS] = fields
    key = fields.get("api_key")
    if key is None or key == "":
        return None
    return key if isinstance(key, str) else ""


def replaying(first: Message, then: Receive | None = None) -> Receive:
    """Return a channel that yields `first` again, and then the messages of `then`."""
    waiting = [first]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        assert then is not None
        return await then()

    return receive
