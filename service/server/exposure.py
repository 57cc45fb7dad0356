"""Warnings for the operator before a server listens."""

import resource
from ipaddress import ip_address
from pathlib import Path

from service.settings import Settings

# One more closes the connection that has been idle longest, or gets 503 if none is idle. More belong behind a proxy.
MOST_CONNECTIONS = 4096
SPARE_DESCRIPTORS = 16  # for the listener, documents, and connections that are refused


def exposure_warning(settings: Settings) -> str | None:
    """Return a warning if every client that can reach this machine may use the service without limit, else None."""
    if is_loopback(settings.host) or settings.require_key or settings.rate_limit:
        return None
    return (
        f"listening on {settings.host}, beyond this machine, without API keys and without a rate limit: "
        "anyone who can reach it may use it without limit; set TRANSLUCENT_REQUIRE_KEY or TRANSLUCENT_RATE_LIMIT"
    )


def is_loopback(host: str) -> bool:
    """Return whether a host is an address that only programs on this machine can reach."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def possible_connections() -> int:
    """Return the limit of connections: the most, or less if the system allows fewer open files."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    free = allowed - len([*Path("/dev/fd").iterdir()]) - SPARE_DESCRIPTORS
    return max(1, min(MOST_CONNECTIONS, free))


def descriptor_warning(possible: int) -> str | None:
    """Return a warning if fewer connections are possible than a server holds, else None."""
    if possible == MOST_CONNECTIONS:
        return None
    return (
        f"the system allows this process {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} open files, so it holds "
        f"{possible} connections instead of {MOST_CONNECTIONS}: raise the limit of open files (ulimit -n)"
    )
