"""GET /pooling: attention pooling with a kernel, in the forms of /attention."""

import asyncio
import json
import math
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from service.api.attention_formats import EXAMPLES, REVISION, answer, drawn, form_of, other_contents
from service.api.dependencies import ContextDep, RendererDep, fields_of
from service.api.etag import tagged
from service.api.openapi import errors_of, query_parameters
from service.api.schemas.pooling import PoolingRequest, PoolingResponse
from service.figures import pooling_figures
from service.figures.pooling_figures import fit_curve, heatmap
from service.figures.vega_lite import specification
from service.pooling.model import QUERIES, Pooling, pool

router = APIRouter(tags=["Attention"])

DIGITS = 9  # of the JSON
ANSWER = {
    "kernel": "gaussian",
    "width": 0.5,
    "learned": False,
    "digest": "sha256:9f86d081884c7d65",
    "axes": ["query", "key"],
    "queries": [1.0],
    "keys": [0.9, 1.4],
    "values": [2.5, 3.1],
    "truth": [2.68],
    "fit": [2.76],
    "weights": [[0.5745, 0.4255]],
    "error": 0.006,
}
TEXTS = {"svg": EXAMPLES["svg"], "html": EXAMPLES["html"], "csv": f"{','.join(pooling_figures.COLUMNS)}\r\n"}
FieldsDep = Annotated[PoolingRequest, Depends(fields_of(PoolingRequest))]


@router.get(
    "/pooling",
    response_model=PoolingResponse,
    responses={
        200: {"content": {"application/json": {"example": ANSWER}, **other_contents(TEXTS)}},
        304: {"description": "Not modified: use your copy"},
        **errors_of(406, 414, 503, 504),
    },
    openapi_extra={"parameters": query_parameters(PoolingRequest, {"kernel": "gaussian", "width": 0.5}, required=True)},
)
async def get_pooling(request: Request, fields: FieldsDep, context: ContextDep, renderer: RendererDep) -> Response:
    """Return attention pooling: kernel regression with its weights.

    The examples are built in: y = 2 sin x + x^0.8 + noise.
    """
    form = form_of(fields, request.headers.get("accept", ""))
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
    return json.dumps(content, separators=(",", ":")).encode("ascii")
