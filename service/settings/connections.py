"""Settings of what one connection, and all of them together, may take up."""

from __future__ import annotations

from typing import Any

from service.settings.access import AccessSettings
from service.settings.fields import setting


def seconds(default: float, description: str) -> Any:
    """Return a field that holds a time."""
    accepted = "a number above 0, up to 3600"
    return setting(default, description, accepted, gt=0, le=3600, allow_inf_nan=False)


class ConnectionSettings(AccessSettings):
    """Bounds of heads, bodies, connections, and the time of each."""

    url_limit: int = setting(
        32_768,
        "Largest URL, in bytes; more is answered 414",
        "a whole number of at least 1024",
        ge=1024,
    )
    header_limit: int = setting(
        65_536,
        "Largest headers of a request together, in bytes; more is answered 431",
        "a whole number of at least 1024",
        ge=1024,
    )
    header_count_limit: int = setting(
        128, "Most headers of a request; more is answered 431", "a whole number of at least 16", ge=16
    )
    head_timeout_seconds: float = seconds(
        15.0, "Time a client may take to send the head of a request, on a new connection, too; then it is closed"
    )
    body_timeout_seconds: float = seconds(30.0, "Time a client may take to send its body; then it is answered 408")
    send_timeout_seconds: float = seconds(
        30.0, "Time a client may take to read each 64 KiB of an answer; then its connection is cut off"
    )
    buffered_bodies_limit: int = setting(
        134_217_728,
        "Bytes of bodies of all requests that are held at one time, a quarter of them at most of one address; more is "
        "answered 503 (one body always fits)",
        "a whole number of at least 1048576",
        ge=1_048_576,
    )
    connection_limit: int = setting(
        4096,
        "Most open connections; one more closes the one that has been idle for longest, or is answered 503",
        "a whole number of at least 8",
        ge=8,
    )
    address_connection_limit: int = setting(
        512,
        "Most open connections of one address (of one /64 network for IPv6) that is no trusted proxy; more is answered "
        "429",
        "a whole number of at least 1",
        ge=1,
    )
