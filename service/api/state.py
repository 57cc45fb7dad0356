"""How a route gets at the service it belongs to."""

from __future__ import annotations

from starlette.requests import Request

from service.api.dependencies import Service


def service_of(request: Request) -> Service:
    """Return the service that the application was made for."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
