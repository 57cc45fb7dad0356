"""The settings that Ray may pass to replicas: it shows them in its dashboard and its state API."""

from collections.abc import Mapping

OURS = ("TRANSLUCENT_", "OTEL_")
# Those of service.settings, and the headers that OpenTelemetry's exporter authenticates with.
SECRETS = ("TRANSLUCENT_METRICS_TOKEN", "TRANSLUCENT_ADMIN_TOKEN")
HEADERS = "_HEADERS"


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for the replicas; raise SystemExit if a secret is among them."""
    given = {name: value for name, value in environment.items() if name.startswith(OURS)}
    secret = sorted(name for name, value in given.items() if is_secret(name, value))
    if secret:
        raise SystemExit(
            f"Ray would show {', '.join(secret)} in its dashboard. Put each secret into a file that is on every node, "
            "and name it in the variable of the same name that ends with _FILE; for OpenTelemetry use a collector that "
            "wants no headers, or set the variable where the nodes are started."
        )
    return given


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable holds a secret."""
    return bool(value) and (name in SECRETS or (name.startswith("OTEL_") and name.endswith(HEADERS)))
