"""Serves the fake engine with the real server: `python -m tests.support.serve_fake_engine SECONDS [FAULT]`.

FAULT: `start` fails to start. FAKE_LIMITS in the environment: limits of connections and bodies as JSON.
"""

import asyncio
import json
import os
import sys
from functools import partial
from unittest.mock import patch

import uvloop

from service.access.connections import MOST_OF_ADDRESS, Connections
from service.api.middleware import bodies
from service.logs import configure_logging
from service.metrics import Metrics
from service.server import exposure, uvicorn_server
from service.server.connection_limits import ConnectionLimits, ConnectionPolicy
from service.settings import load_settings
from tests.support.fake_engine import DummyRegistry, service_of


class FaultyRegistry(DummyRegistry):
    """Fails in the requested way."""

    fault = ""

    async def start(self) -> None:
        self._started = False
        await asyncio.sleep(0.2)
        if self.fault == "start":
            raise RuntimeError("my secret reason")
        await super().start()


def main(seconds: float, fault: str = "") -> int:
    settings = load_settings()
    metrics = Metrics()
    configure_logging(settings.log_level, on_drop=metrics.log_lines_dropped)
    registry = FaultyRegistry(metrics.record, seconds)
    registry.fault = fault
    limits = json.loads(os.environ.get("FAKE_LIMITS", "{}"))
    exposure.MOST_CONNECTIONS = limits.pop("connections", exposure.MOST_CONNECTIONS)
    bodies.BODY_TIMEOUT_SECONDS = limits.pop("body_seconds", bodies.BODY_TIMEOUT_SECONDS)
    connections = partial(Connections, address_limit=limits.pop("address_limit", MOST_OF_ADDRESS))
    policy = partial(ConnectionPolicy, limits=ConnectionLimits(**limits))
    with patch.multiple(uvicorn_server, Connections=connections, ConnectionPolicy=policy):
        return uvloop.run(uvicorn_server.serve(service_of(registry, settings, metrics)))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), *sys.argv[2:]))
