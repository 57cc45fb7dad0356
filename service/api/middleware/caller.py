"""The address that a request counts for, and its token."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import Scope

from service.access.addresses import Network, client_address, is_trusted
from service.api.headers import header


def address_of(scope: Scope, proxies: Sequence[Network]) -> str:
    """Return the address, or IPv6 network, of a caller, which trusted proxies may report."""
    client = scope.get("client")
    forwarded = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return client_address(client[0] if client else None, forwarded, proxies)


def scheme_of(scope: Scope, proxies: Sequence[Network]) -> str:
    """Return the scheme of a caller's request, which a trusted proxy may report in X-Forwarded-Proto."""
    client = scope.get("client")
    claimed = (header(scope, b"x-forwarded-proto") or "").strip().lower()
    if claimed in ("http", "https") and client and is_trusted(client[0], proxies):
        return claimed
    return str(scope.get("scheme", "http"))


def bearer(scope: Scope) -> str | None:
    """Return the token of an `Authorization: Bearer` header."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
