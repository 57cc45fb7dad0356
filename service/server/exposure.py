"""Warnings for the operator before a server listens."""

import resource
from ipaddress import ip_address

from service.settings import Settings

SPARE_DESCRIPTORS = 128  # for models, logs, the engine's processes


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


def descriptor_warning(settings: Settings) -> str | None:
    """Return a warning if the system allows fewer connections than the settings, else None."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    wanted = settings.connection_limit + SPARE_DESCRIPTORS
    if allowed == resource.RLIM_INFINITY or allowed >= wanted:
        return None
    return (
        f"the system allows this process {allowed} open files, and TRANSLUCENT_CONNECTION_LIMIT="
        f"{settings.connection_limit} needs {wanted}: raise the limit of open files (ulimit -n), or lower the setting"
    )
