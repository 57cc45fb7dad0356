"""The dependencies of routes: the service, the context of the request, and what the application was made with.

All are coroutine functions: FastAPI would run a plain function in a thread.
"""

from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request

from service.api.context import RequestContext, context_of
from service.api.state import Service
from service.documents.jobs.runner import JobRunner
from service.figures.renderer import FigureRenderer


async def get_context(request: Request) -> RequestContext:
    """Return the context of the request, with its deadline."""
    return context_of(request.scope)


def made_by_app(name: str) -> Any:
    """Return a dependency on what the application was made with."""

    async def get(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(get)


JobsDep = Annotated[JobRunner, made_by_app("jobs")]
ServiceDep = Annotated[Service, made_by_app("service")]
RendererDep = Annotated[FigureRenderer, made_by_app("renderer")]
ContextDep = Annotated[RequestContext, Depends(get_context)]
