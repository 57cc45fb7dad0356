"""The address that a client used: its scheme, host and path, which trusted proxies report and clients spell freely."""

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from starlette.types import Scope

from service.access.addresses import Network, client_address, is_trusted
from service.api.context import header

HOST = re.compile(r"(?:[A-Za-z0-9.-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
PREFIX = re.compile(r"(?:/(?!\.)[\w.~-]{1,100}){1,10}", re.ASCII)
SLASHES = re.compile("//+")


def address_of(scope: Scope, proxies: Sequence[Network]) -> str:
    """Return the address, or IPv6 network, of a caller, which trusted proxies may report."""
    client = scope.get("client")
    forwarded = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return client_address(client[0] if client else None, forwarded, proxies)


def url_of(scope: Scope, proxies: Sequence[Network]) -> Mapping[str, Any]:
    """Return the parts of a scope that make the addresses in answers, as a trusted proxy reports them.

    They are the scheme, the host and the prefix of all paths: X-Forwarded-Proto, -Host and -Prefix.
    """
    client = scope.get("client")
    if not client or not is_trusted(client[0], proxies):
        return {}
    forwarded: dict[str, Any] = {}
    scheme, host, prefix = (
        (header(scope, name) or "").partition(",")[0].strip()
        for name in (b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-prefix")
    )
    if scheme.lower() in ("http", "https"):
        forwarded["scheme"] = scheme.lower()
    if HOST.fullmatch(host):
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        forwarded["headers"] = [(b"host", host.encode("ascii")), *others]
    if PREFIX.fullmatch(prefix.rstrip("/")):
        forwarded["app_root_path"] = prefix.rstrip("/")
    return forwarded


def path_of(scope: Scope, paths: Container[str]) -> str:
    """Return the path of a request as its route has it; clients add a slash at either end of a base address."""
    path: str = scope["path"]
    if path in paths:
        return path
    single = SLASHES.sub("/", path)
    stripped = single.rstrip("/")
    return stripped if stripped in paths else single
