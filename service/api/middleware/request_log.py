"""The outermost layer: request id, headers of every answer, timer, access log, and the answer to failures."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.addresses import parse_networks
from service.api.context import (
    KEY,
    ClientDisconnected,
    RequestContext,
    context_of,
    header,
    new_request_id,
    trace_id_of,
)
from service.api.errors import INTERNAL, body_of
from service.api.forwarded import address_of, path_of, url_of
from service.api.paths import is_operators
from service.api.state import Service
from service.logs import describe_exception, get_logger, log_often

if TYPE_CHECKING:
    from service.tracing.otel import RequestSpan

log = get_logger(__name__)

QUIET_ROUTES = frozenset(
    {"/health", "/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready", "/metrics"}
)
QUIET_FOLDERS = ("/web/", "/learn/{")  # of static files
# The default headers of answers: no browser guesses their type, runs or frames them, and no cache keeps them.
DEFAULTS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
# What lets pages of other sites call the API, for all but operators: a browser asks first with OPTIONS, and reads there
# what it may send.
EXPOSED = (b"access-control-expose-headers", b"Authorization, Content-Disposition, ETag, Retry-After, X-Request-ID")
PREFLIGHT = (
    (b"access-control-allow-headers", b"Authorization, Content-Type, If-None-Match, X-Request-ID, traceparent"),
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (b"access-control-max-age", b"1728000"),
)
UNMATCHED = "unmatched"
UNTRACED: AbstractContextManager[RequestSpan | None] = nullcontext()
CLIENT_LEFT = 499


class RequestLogMiddleware:
    """Sees every request first and every answer last."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service
        self.shared = [(b"access-control-allow-origin", service.settings.cors_origin.encode("latin-1")), EXPOSED]
        self.proxies = parse_networks(service.settings.trusted_proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection scope."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = RequestContext(
            new_request_id(header(scope, b"x-request-id")),
            self.service.settings.request_timeout_seconds,
            address_of(scope, self.proxies),
            trace_id_of(header(scope, b"traceparent")),
        )
        method = str(scope["method"])
        # A GET route also answers HEAD; the server leaves out the body.
        request_scope: Scope = {**scope, KEY: context, "method": "GET" if method == "HEAD" else method}
        request_scope.update(url_of(scope, self.proxies))
        request_scope["path"] = path_of(scope, scope["app"].state.methods)
        self.service.metrics.request_started()
        tracing = None if scope["path"] in QUIET_ROUTES else self.service.tracing
        with UNTRACED if tracing is None else tracing.request(Headers(scope=scope)) as span:
            context.trace_id = (span and span.trace_id) or context.trace_id
            try:
                await self._run(request_scope, receive, self._completing(request_scope, send))
            finally:
                self._finish(request_scope, method, span)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application; in case of any failure, the client gets exactly one answer."""
        context = context_of(scope)

        async def refuse(status: int, message: str, code: str) -> None:
            if context.status is None:
                context.error_code = code
                headers = {"Retry-After": "1"} if status == 503 else None
                body = body_of(message, code, context.request_id)
                await JSONResponse(body, status_code=status, headers=headers)(scope, receive, send)

        try:
            await self.app(scope, receive, send)
        except ClientDisconnected:
            context.status, context.error_code = CLIENT_LEFT, "client_left"
        except asyncio.CancelledError:
            await refuse(503, "The server is stopping; send the request again.", "stopping")
            raise
        except Exception as error:
            log.error("unhandled error", request_id=context.request_id, **describe_exception(error))
            if context.status is not None:
                raise
            await refuse(500, INTERNAL, "internal_error")

    def _completing(self, scope: Scope, send: Send) -> Send:
        """Return a function that sends an answer with the headers of every answer, and records how far it is."""
        context = context_of(scope)

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = int(message["status"])
                headers = [*message.get("headers", ())]
                given = {name.lower() for name, _ in headers}
                headers += [(name, value) for name, value in DEFAULTS if name not in given]
                if not is_operators(str(scope["path"])):
                    headers += self.shared
                    headers += PREFLIGHT if scope["method"] == "OPTIONS" else ()
                headers.append((b"x-request-id", context.request_id.encode("ascii")))
                if self.service.draining:
                    # A client that keeps its connection would be cut off during its next request.
                    headers.append((b"connection", b"close"))
                message = {**message, "headers": headers}
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                context.answered = True
            await send(message)

        return complete

    def _finish(self, scope: Scope, method: str, span: RequestSpan | None) -> None:
        context = context_of(scope)
        status = CLIENT_LEFT if context.status is None else context.status
        seconds = time.monotonic() - context.started
        route = route_of(scope)
        self.service.metrics.request_finished(route, method, status, seconds)
        if context.error_code is not None:
            self.service.metrics.count("http_errors", context.error_code)
        values: dict[str, Any] = {
            "request_id": context.request_id,
            "trace_id": context.trace_id,
            "method": method[:16],
            "route": route,
            "status": status,
            "seconds": round(seconds, 6),
            "code": context.error_code,
            "model": context.model,
            "pivot": context.pivot,
            "key": context.key,
            "texts": context.texts,
            "characters": context.characters,
        }
        present = {name: value for name, value in values.items() if value is not None}
        if (route in QUIET_ROUTES or route.startswith(QUIET_FOLDERS)) and status < 500:
            log.debug("request", **present)
        else:
            log_often("request", present)
        if span is None:
            return
        figures = {f"translucent.{name}": values[name] for name in ("request_id", "model", "texts", "characters")}
        span.finish(
            method,
            None if route == UNMATCHED else route,
            status,
            {**figures, "error.type": context.error_code},
        )


def route_of(scope: Scope) -> str:
    """Return the template of the route that answered, never the path, which may contain text of users."""
    route = getattr(scope.get("route"), "path", None)
    if isinstance(route, str):
        return route
    # The request was refused before it was routed.
    path = str(scope["path"])
    app = scope.get("app")
    return path if app is not None and path in app.state.methods else UNMATCHED
