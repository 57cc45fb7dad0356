"""GET /pooling: attention pooling with a kernel, in the forms of /attention."""

import asyncio
import math
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query
from pydantic import BeforeValidator, Field
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from service.api.attention_formats import EXAMPLES, REVISION, answer, drawn, other_contents
from service.api.direct_route import ContextDep, DirectRoute, RendererDep
from service.api.etag import tagged
from service.api.openapi import errors_of
from service.api.schemas.common import Accepts, FigureRequest, Lowered, Schema, Trimmed, no_flag
from service.figures import pooling_figures
from service.figures.pooling_figures import fit_curve, heatmap
from service.figures.vega_lite import specification
from service.pooling.model import QUERIES, Pooling, pool

router = APIRouter(tags=["Attention"], route_class=DirectRoute)

DIGITS = 9  # of the JSON
TEXTS = {"svg": EXAMPLES["svg"], "html": EXAMPLES["html"], "csv": f"{','.join(pooling_figures.COLUMNS)}\r\n"}


PoolingFormat = Literal["json", "svg", "png", "html", "csv", "npz", "vega"]
LEAST_WIDTH, MOST_WIDTH = 0.001, 1_000.0
MOST_QUERIES = 200
LISTED = rf"^-?[0-9]{{1,6}}(\.[0-9]{{1,9}})?(,-?[0-9]{{1,6}}(\.[0-9]{{1,9}})?){{0,{MOST_QUERIES - 1}}}$"


class PoolingRequest(FigureRequest):
    """The kernel, its width, the queries, and the form of the answer."""

    kernel: Annotated[
        Literal["average", "gaussian", "boxcar", "epanechnikov", "triangular"], Lowered
    ] = Field("gaussian", description="How the weight of a key falls with its distance from the query")  # fmt: skip
    width: Annotated[
        Literal["learned"] | Annotated[float, Field(ge=LEAST_WIDTH, le=MOST_WIDTH)],
        Lowered,
        BeforeValidator(no_flag),
        Accepts(f"learned, or a number from {LEAST_WIDTH} to {MOST_WIDTH:g}"),
    ] = Field(
        "learned",
        description="How far a query looks: the standard deviation of the Gaussian, half the window of the other "
        "kernels. `learned`: the width of the least leave-one-out error",
    )
    x: Annotated[
        str | None,
        Field(pattern=LISTED),
        Trimmed,
        Accepts(f"1 to {MOST_QUERIES} numbers with commas between them, such as 0.5,1,2.5"),
    ] = Field(None, description="The queries, with commas between them; default: 0, 0.1, … 4.9")
    format: Annotated[PoolingFormat, Lowered] = Field("json", description="Of the answer")
    view: Annotated[Literal["heatmap", "fit"], Lowered] = Field(
        "heatmap", description="Of pictures: the weights, or the fitted curve"
    )


class PoolingResponse(Schema):
    """A fit with its weights."""

    kernel: str
    width: float
    learned: bool = Field(description="Whether the width is the learned one")
    digest: str = Field(description="SHA-256 of the graph")
    axes: list[str] = Field(description="Names of the axes of `weights`: query, key")
    queries: list[float]
    keys: list[float]
    values: list[float] = Field(description="Of the keys, with noise")
    truth: list[float] = Field(description="Of the queries: 2 sin x + x^0.8")
    fit: list[float | None] = Field(description="The weighted means; null for a query without a key in its window")
    weights: list[list[float | None]]
    error: float | None = Field(description="Mean squared distance of the fit from the truth, where the fit is known")


@router.get(
    "/pooling",
    response_model=PoolingResponse,
    responses={
        200: {"content": other_contents(TEXTS)},
        304: {"description": "Not modified: use your copy"},
        **errors_of(414, 503, 504),
    },
)
async def get_pooling(
    request: Request, fields: Annotated[PoolingRequest, Query()], context: ContextDep, renderer: RendererDep
) -> Response:
    """Return attention pooling: kernel regression with its weights.

    The examples are built in: y = 2 sin x + x^0.8 + noise.
    """
    form = fields.format
    queries = QUERIES if fields.x is None else np.array([float(part) for part in fields.x.split(",")])
    width = None if fields.width == "learned" else float(fields.width)
    found = await asyncio.to_thread(pool, fields.kernel, width, queries)  # the first call loads ONNX Runtime

    async def make() -> Response:
        if form == "json":
            content = _json(found)
        elif form in ("csv", "npz"):
            content = {"csv": pooling_figures.as_csv, "npz": pooling_figures.as_npz}[form](found)
        else:
            figure = heatmap(found)
            spec = fit_curve(found, fields.theme) if fields.view == "fit" else specification(figure, fields.theme)
            look = (fields.theme, fields.scale)
            content = await context.deadline.wait_for(drawn(figure, spec, form, look, renderer))
        return answer(content, form, f"pooling-{found.kernel}-{fields.view}")

    key = [found.digest, REVISION, form, *fields.model_dump(exclude={"format"}).values()]
    return await tagged(request, key, make, stable=False)


def _json(found: Pooling) -> bytes:
    def numbers(array: Any) -> list[Any]:
        return [None if math.isnan(value) else round(value, DIGITS) for value in array.tolist()]

    content = {
        "kernel": found.kernel,
        "width": found.width,
        "learned": found.learned,
        "digest": found.digest,
        "axes": ["query", "key"],
        **{name: numbers(getattr(found, name)) for name in ("queries", "keys", "values", "truth", "fit")},
        "weights": [numbers(row) for row in found.weights],
        "error": found.error,
    }
    return to_json(content)
