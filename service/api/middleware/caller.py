"""Which address a request counts for, and which token it offers."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import Scope

from service.access.addresses import Network, client_address


def address_of(scope: Scope, proxies: Sequence[Network]) -> str:
    """Return the address, or IPv6 network, of a caller, which trusted proxies may name."""
    client = scope.get("client")
    forwarded = Headers(scope=scope).getlist("x-forwarded-for")
    return client_address(client[0] if client else None, forwarded, proxies)


def bearer(scope: Scope) -> str | None:
    """Return the token of an `Authorization: Bearer` header."""
    scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
