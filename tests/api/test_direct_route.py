"""A direct route answers as FastAPI's own would, and refuses what it cannot do when the application is made."""

from typing import Annotated

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api.direct_route import DirectRoute


async def text_of(request: Request) -> str:
    return (await request.body()).decode()


async def method_of(request: Request) -> str:
    return request.method


async def test_an_endpoint_gets_what_its_dependencies_return() -> None:
    router = APIRouter(route_class=DirectRoute)

    @router.post("/echo")
    async def echo(text: Annotated[str, Depends(text_of)], method: Annotated[str, Depends(method_of)]) -> JSONResponse:
        return JSONResponse({"text": text, "method": method}, status_code=201)

    app = FastAPI()
    app.include_router(router)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        answer = await client.post("/echo", content="Go.")
        assert (await client.get("/echo")).status_code == 405
    assert (answer.status_code, answer.json()) == (201, {"text": "Go.", "method": "POST"})


async def test_parameters_that_fastapi_would_have_to_find_are_refused_at_the_start() -> None:
    router = APIRouter(route_class=DirectRoute)
    with pytest.raises(TypeError, match="/search"):

        @router.get("/search")
        async def search(q: str) -> JSONResponse:
            return JSONResponse(q)
