"""GET /pooling: attention pooling with a kernel, in the forms of /attention."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from service.api.attention_formats import EXAMPLES, REVISION, answer, drawn, negotiated, other_contents
from service.api.dependencies import ContextDep, RendererDep, fields_of
from service.api.errors import ApiError
from service.api.etag import entity_tag, matches
from service.api.openapi import errors_of, query_parameters
from service.api.schemas.pooling import PoolingRequest, PoolingResponse
from service.figures import pooling_figures
from service.figures.figure import Figure
from service.figures.pooling_figures import fit_curve, heatmap
from service.figures.vega_lite import specification
from service.pooling.model import QUERIES, Pooling, pool

router = APIRouter(tags=["Attention"])

FORMATS = ("json", "svg", "png", "html", "csv", "npz", "vega")
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
    operation_id="get_pooling",
    summary="Attention pooling: kernel regression with its weights",
    response_model=PoolingResponse,
    responses={
        200: {"content": {"application/json": {"example": ANSWER}, **other_contents(TEXTS)}},
        304: {"description": "Not modified: use your copy"},
        **errors_of(400, 406, 414, 500, 503, 504),
    },
    openapi_extra={"parameters": query_parameters(PoolingRequest, {"kernel": "gaussian", "width": 0.5}, required=True)},
)
async def get_pooling(request: Request, fields: FieldsDep, context: ContextDep, renderer: RendererDep) -> Response:
    """Return the weighted means of the built-in examples, y = 2 sin x + x^0.8 + noise, and their weights."""
    form = _form(fields, request.headers.get("accept", ""))
    queries = QUERIES if fields.x is None else np.array([float(part) for part in fields.x.split(",")])
    width = None if fields.width == "learned" else float(fields.width)
    found = await asyncio.to_thread(pool, fields.kernel, width, queries)  # the first call loads ONNX Runtime
    key = [found.digest, REVISION, form, *fields.model_dump(exclude={"format"}).values()]
    headers = {
        "ETag": entity_tag(json.dumps(key).encode("ascii")),
        "Cache-Control": "private, max-age=0, must-revalidate",
        "Vary": "Accept",
    }
    if matches(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if form == "json":
        content = _json(found)
    elif form in ("csv", "npz"):
        content = {"csv": pooling_figures.as_csv, "npz": pooling_figures.as_npz}[form](found)
    else:
        figure = heatmap(found)
        spec = fit_curve(found, fields.theme) if fields.view == "fit" else specification(figure, fields.theme)
        content = await context.deadline.wait_for(_picture(figure, spec, fields, form, renderer))
    response = answer(content, form, f"pooling-{found.kernel}-{fields.view}")
    response.headers.update(headers)
    return response


async def _picture(figure: Figure, spec: dict[str, Any], fields: PoolingRequest, form: str, renderer: Any) -> bytes:
    return await drawn(figure, spec, form, (fields.theme, fields.scale), renderer)


def _form(fields: PoolingRequest, accept: str) -> str:
    form = fields.format if "format" in fields.model_fields_set else negotiated(accept)
    if form not in FORMATS:
        raise ApiError(f"{form} is a form of attention between texts; use one of {', '.join(FORMATS)}.", status=406,
                       code="not_acceptable")  # fmt: skip
    return form


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
