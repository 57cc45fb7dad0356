"""A route whose handler calls its dependencies itself: FastAPI's general solution takes ten times as long.

FastAPI reads the route as always, for the OpenAPI document. Every dependency must be a coroutine function of the
request alone, as all of ours are, and the answer must be a Response.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response


class DirectRoute(APIRoute):
    """Use with `APIRouter(route_class=DirectRoute)`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that calls the dependencies in their order, and then the endpoint."""
        every = self.dependant.dependencies
        dependencies: list[tuple[str, Callable[..., Any]]] = [
            (each.name, each.call) for each in every if each.name is not None and each.call is not None
        ]
        if len(dependencies) < len(every) or not _is_simple(self):
            raise TypeError(f"{self.path}: a direct route has dependencies of the request only")
        endpoint = self.endpoint

        async def handle(request: Request) -> Response:
            values = {name: await call(request) for name, call in dependencies}
            response: Response = await endpoint(**values)
            return response

        return handle


def _is_simple(route: APIRoute) -> bool:
    """Return whether neither the endpoint nor a dependency has parameters that FastAPI would have to find."""
    own = route.dependant
    every = (own, *own.dependencies)
    found = any(
        each.path_params or each.query_params or each.header_params or each.cookie_params or each.body_params
        for each in every
    )
    nested = any(each.dependencies for each in own.dependencies)
    return not found and not nested and own.request_param_name is None and route.status_code is None
