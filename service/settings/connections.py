"""Limits of one connection and of all connections together."""

from __future__ import annotations

from typing import Any

from service.settings.access import AccessSettings
from service.settings.fields import setting


def seconds(default: float, description: str) -> Any:
    """Return a field that holds a time in seconds."""
    accepted = "a number above 0, up to 3600"
    return setting(default, description, accepted, gt=0, le=3600, allow_inf_nan=False)


class ConnectionSettings(AccessSettings):
    """Limits on the size, number and time of request heads, bodies and connections."""

    url_limit: int = setting(
        32_768,
        "Longest URL, in bytes; a longer URL gets 414",
        "a whole number of at least 1024",
        ge=1024,
    )
    header_limit: int = setting(
        65_536,
        "Largest size of all headers of a request together, in bytes; larger headers get 431",
        "a whole number of at least 1024",
        ge=1024,
    )
    header_count_limit: int = setting(
        128, "Most headers in one request; a request with more gets 431", "a whole number of at least 16", ge=16
    )
    head_timeout_seconds: float = seconds(
        15.0,
        "Time for a client to send the head of a request, also on a new connection; after it the connection is closed",
    )
    body_timeout_seconds: float = seconds(
        30.0, "Time for a client to send the body of a request; after it the answer is 408"
    )
    send_timeout_seconds: float = seconds(
        30.0, "Time for a client to read each 64 KiB of an answer; after it the connection is cut off"
    )
    buffered_bodies_limit: int = setting(
        134_217_728,
        "Memory for the bodies of all requests at one time, in bytes; one address may use a quarter of it. A request "
        "that needs more gets 503 (one body always fits; a document fits if this is larger than "
        "TRANSLUCENT_MAX_FILE_MB)",
        "a whole number of at least 1048576",
        ge=1_048_576,
    )
    connection_limit: int = setting(
        4096,
        "Most open connections; the next one closes the connection that has been idle longest, or gets 503 if none is "
        "idle",
        "a whole number of at least 8",
        ge=8,
    )
    address_connection_limit: int = setting(
        512,
        "Most open connections of one address (for IPv6: of one /64 network) that is not a trusted proxy; the next "
        "one gets 429",
        "a whole number of at least 1",
        ge=1,
    )
