"""Assembles the application: routes, errors, middleware."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp

from service.access.keys import KeyRing
from service.access.limits import RateLimits
from service.api import docs_page
from service.api.direct_route import DirectDispatch
from service.api.documents import ServiceEngine
from service.api.error_handlers import install_error_handlers
from service.api.extensions import libretranslate, open_inference, published, repository
from service.api.middleware.access import AccessRules
from service.api.middleware.bodies import BodyMiddleware
from service.api.middleware.request_log import RequestLogMiddleware
from service.api.openapi import install_openapi
from service.api.routes import (
    attention,
    catalogue,
    detect,
    documents,
    operations,
    page,
    translate,
)
from service.api.state import Service
from service.documents.format import MIB, limits_of
from service.documents.jobs.runner import JobRunner, RunnerOptions
from service.documents.jobs.store import JobStore, StoreLimits, temporary_folder
from service.documents.sandbox.reader import DocumentReader
from service.documents.translating import WindowTimeouts
from service.figures.renderer import FigureRenderer

JOB_RETENTION_SECONDS = 86_400.0  # from the end of a job; then its files are deleted, because they hold texts
MOST_BYTES_OF_JOBS = 2048 * MIB  # and at most half of the disk: other programs need it, and so does this one
MOST_JOBS = 1000  # that are kept at one time, finished ones included
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def no_lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Do nothing, for an engine that is started and stopped elsewhere."""
    yield


def application_lifespan(service: Service, lifespan: Lifespan) -> Lifespan:
    """Return a lifespan that also loads the language detector, runs jobs, and closes the application's resources."""

    @asynccontextmanager
    async def both(app: FastAPI) -> AsyncIterator[None]:
        try:
            async with lifespan(app):
                # In a thread, so that only requests for detection within the first second wait for it.
                loading = asyncio.create_task(service.load_detection())
                if service.settings.max_file_mb:
                    app.state.jobs.start()
                yield
                await app.state.jobs.stop()
                await asyncio.wait([loading])
            if service.tracing is not None:
                await asyncio.to_thread(service.tracing.close)
        finally:
            app.state.renderer.close()

    return both


class Application(FastAPI):
    """FastAPI without the layers that it puts around our middleware, whose outermost answers every failure itself."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return our outermost middleware, with everything inside it."""
        stack: Any = super().build_middleware_stack()
        while not isinstance(stack, RequestLogMiddleware):
            stack = stack.app
        return stack


def methods_of(routers: Iterable[APIRouter]) -> dict[str, tuple[str, ...]]:
    """Return the methods of each path, over all routes that share it."""
    found: dict[str, tuple[str, ...]] = {}
    for router in routers:
        for route in router.routes:
            if isinstance(route, Route):
                found[route.path] = (*found.get(route.path, ()), *sorted(route.methods or ()))
    return found


def job_runner(service: Service) -> JobRunner:
    """Return the jobs of one service."""
    settings = service.settings
    room = MOST_BYTES_OF_JOBS
    with contextlib.suppress(OSError):  # there is no such folder: each document is told so
        room = min(room, shutil.disk_usage(settings.jobs_dir or temporary_folder()).total // 2)
    store = JobStore(settings.jobs_dir, StoreLimits(MOST_JOBS, room), JOB_RETENTION_SECONDS)
    options = RunnerOptions(limits_of(settings), WindowTimeouts(window_seconds=settings.request_timeout_seconds))
    reader = DocumentReader(partial(service.metrics.count, "document_processes_lost"))
    return JobRunner(store, ServiceEngine(service), options, reader)


def create_app(service: Service, lifespan: Lifespan = no_lifespan) -> FastAPI:
    """Return the application of one service; the caller loads the registry, and `lifespan` starts and stops it.

    Raise KeyFileError when there is to be a file of API keys and it cannot be read.
    """
    settings = service.settings
    keys = (
        None
        if settings.api_keys_file is None
        else KeyRing(settings.api_keys_file, on_read=partial(service.metrics.show, "api_keys_readable"))
    )
    # Without the framework's own /docs, which would load its code from another server.
    app = Application(
        title="Translucent",
        lifespan=application_lifespan(service, lifespan),
        openapi_url=None,
        # The framework's traces would hold query strings, which contain texts of users; see service.tracing.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    app.state.renderer = FigureRenderer()
    app.state.jobs = job_runner(service)
    app.state.adding = published.Adding()
    families = (
        *(translate, documents, detect, attention, catalogue, libretranslate),
        *(open_inference, repository, published, operations, docs_page, page),
    )
    for family in families:
        app.include_router(family.router)
    app.state.methods = methods_of([family.router for family in families])
    install_error_handlers(app)
    install_openapi(app)
    app.add_middleware(DirectDispatch, routes=translate.router.routes)
    app.add_middleware(BodyMiddleware, service=service, access=AccessRules(settings, keys, RateLimits()))
    app.add_middleware(RequestLogMiddleware, service=service)  # added last: outermost
    return app
