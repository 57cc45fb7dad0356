"""The dependencies of routes: the service, the context of the request, and its checked fields.

All are coroutine functions: FastAPI would run a plain function in a thread.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

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


async def get_service(request: Request) -> Service:
    """Return the service that the application was made for."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


async def get_context(request: Request) -> RequestContext:
    """Return the context of the request, with its deadline."""
    return context_of(request.scope)


async def get_renderer(request: Request) -> FigureRenderer:
    """Return the application's renderer."""
    renderer = request.app.state.renderer
    assert isinstance(renderer, FigureRenderer)
    return renderer


def fields_of(model: type[Model]) -> Callable[[Request], Awaitable[Model]]:
    """Return a dependency that reads the fields of a request, from JSON, form or query string, and validates them."""

    async def read(request: Request) -> Model:
        return parse(model, await read_fields(request))

    return read


async def get_jobs(request: Request) -> JobRunner:
    """Return the application's jobs."""
    jobs = request.app.state.jobs
    assert isinstance(jobs, JobRunner)
    return jobs


JobsDep = Annotated[JobRunner, Depends(get_jobs)]
ServiceDep = Annotated[Service, Depends(get_service)]
ContextDep = Annotated[RequestContext, Depends(get_context)]
RendererDep = Annotated[FigureRenderer, Depends(get_renderer)]
