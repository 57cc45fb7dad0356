"""A route whose handler calls its dependencies itself: FastAPI's general solution takes ten times as long.

FastAPI reads the route as always, for the OpenAPI document. Every dependency must be a coroutine function of the
request alone, as all of ours are, and the answer must be a Response. `DirectDispatch` calls such a route without the
framework's search for it.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

Dependency = Callable[[Request], Coroutine[Any, Any, Any]]


class DirectRoute(APIRoute):
    """Use with `APIRouter(route_class=DirectRoute)`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that calls the dependencies in their order, and then the endpoint."""
        dependencies = [(str(each.name), cast(Dependency, each.call)) for each in self.dependant.dependencies]
        endpoint = self.endpoint

        async def handle(request: Request) -> Response:
            values = {name: await call(request) for name, call in dependencies}
            response: Response = await endpoint(**values)
            return response

        return handle


class DirectDispatch:
    """The innermost middleware: answers requests for direct routes; all others continue to the framework's router.

    Errors are answered by the application's handlers, as the framework does.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        """Take the routes of the application; those with variable paths are left to the framework."""
        self.app = app
        self._routes = {
            (method, route.path): (route, route.get_route_handler())
            for route in routes
            if isinstance(route, DirectRoute) and "{" not in route.path
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection scope."""
        found = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if found is None or scope.get("root_path"):
            await self.app(scope, receive, send)
            return
        route, handle = found
        scope["route"], scope["endpoint"], scope["path_params"] = route, route.endpoint, {}
        request = Request(scope, receive, send)
        try:
            response = await handle(request)
        except Exception as error:
            handlers = scope["app"].exception_handlers
            handler = next((handlers[kind] for kind in type(error).__mro__ if kind in handlers), None)
            if handler is None:
                raise
            response = await handler(request, error)
        await response(scope, receive, send)
