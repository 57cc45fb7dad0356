"""The dependencies of routes: the service, the context of the request, and its checked fields.

All are coroutine functions: FastAPI would run a plain function in a thread.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends
from pydantic import BaseModel
from starlette.requests import Request

from service.api.context import RequestContext, context_of
from service.api.request_body import read_fields
from service.api.state import Service
from service.api.validation import parse
from service.documents.jobs.runner import JobRunner
from service.figures.renderer import FigureRenderer

Model = TypeVar("Model", bound=BaseModel)


async def get_context(request: Request) -> RequestContext:
    """Return the context of the request, with its deadline."""
    return context_of(request.scope)


def fields_of(model: type[Model]) -> Callable[[Request], Awaitable[Model]]:
    """Return a dependency that reads the fields of a request, from JSON, form or query string, and validates them."""

    async def read(request: Request) -> Model:
        return parse(model, await read_fields(request))

    return read


def made_by_app(name: str) -> Any:
    """Return a dependency on what the application was made with."""

    async def get(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(get)


JobsDep = Annotated[JobRunner, made_by_app("jobs")]
ServiceDep = Annotated[Service, made_by_app("service")]
RendererDep = Annotated[FigureRenderer, made_by_app("renderer")]
ContextDep = Annotated[RequestContext, Depends(get_context)]
