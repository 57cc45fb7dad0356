"""A direct route refuses what it cannot do when the application is made."""

import pytest
from fastapi import APIRouter
from starlette.responses import JSONResponse

from service.api.direct_route import DirectRoute


def test_parameters_that_fastapi_would_have_to_find_are_refused_at_the_start() -> None:
    router = APIRouter(route_class=DirectRoute)
    with pytest.raises(TypeError, match="/search"):

        @router.get("/search")
        async def search(q: str) -> JSONResponse:
            return JSONResponse(q)
