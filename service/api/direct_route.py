"""A route whose handler calls its dependencies itself: FastAPI's general solution takes ten times as long.

FastAPI reads the route as always, for the OpenAPI document. A parameter that is a model of fields is read from JSON, a
form or the query string, and checked with our messages. Every dependency must be a coroutine function, as all of ours
are, and the answer must be a Response. `DirectDispatch` calls such a route without the framework's search for it.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, cast

from fastapi import Depends
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api.context import RequestContext, context_of
from service.api.request_body import BODY, read_fields
from service.api.schemas.common import Fields
from service.api.state import Service
from service.api.validation import parse
from service.documents.jobs.runner import JobRunner
from service.engine import TEXT_POOL
from service.figures.renderer import FigureRenderer

LARGE_BODY = 100_000  # bytes; the fields of a larger one are checked in a thread

Call = Callable[[Request], Coroutine[Any, Any, Any]]


def reader_of(model: type[Fields]) -> Call:
    """Return a function that reads the fields of a request and checks them."""

    async def read(request: Request) -> Fields:
        fields: Mapping[str, Any] = await read_fields(request)
        if len(request.scope.get(BODY, b"")) > LARGE_BODY:
            return await TEXT_POOL.run(partial(parse, model, fields))
        return parse(model, fields)

    return read


def call_of(dependant: Dependant) -> Call:
    """Return a function that calls an endpoint or a dependency with what it depends on, in its order."""
    call = cast(Callable[..., Coroutine[Any, Any, Any]], dependant.call)
    models = [(field.name, field.field_info.annotation) for field in (*dependant.query_params, *dependant.body_params)]
    needed = [(str(dependency.name), call_of(dependency)) for dependency in dependant.dependencies]
    needed += [(name, reader_of(cast(type[Fields], model))) for name, model in models]
    path = [field.name for field in dependant.path_params]
    if not needed and not path and dependant.request_param_name is not None:
        return call

    async def called(request: Request) -> Any:
        values = {name: await call(request) for name, call in needed}
        values |= {name: request.path_params[name] for name in path}
        if dependant.request_param_name is not None:
            values[dependant.request_param_name] = request
        return await call(**values)

    return called


class DirectRoute(APIRoute):
    """Use with `APIRouter(route_class=DirectRoute)`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that calls the dependencies in their order, and then the endpoint."""
        return call_of(self.dependant)


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


async def get_context(request: Request) -> RequestContext:
    """Return the context of the request, with its deadline."""
    return context_of(request.scope)


def from_app_state(name: str) -> Any:
    """Return a dependency on what the application was made with."""

    async def get(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(get)


JobsDep = Annotated[JobRunner, from_app_state("jobs")]
ServiceDep = Annotated[Service, from_app_state("service")]
RendererDep = Annotated[FigureRenderer, from_app_state("renderer")]
ContextDep = Annotated[RequestContext, Depends(get_context)]
