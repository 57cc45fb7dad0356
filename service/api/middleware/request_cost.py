"""The cost of a request against the rate limits: one for each of its texts."""

from __future__ import annotations

import math
import re
from typing import Any

from starlette.requests import Request
from starlette.types import Message, Scope

from service.api.binary_tensors import JSON_LENGTH_HEADER, split_body
from service.api.errors import ApiError
from service.api.request_body import FIELDS, decode_json, read_body, read_fields
from service.api.schemas.inference_request import sizes

LISTS = {"/translate": "q", "/detect": "q", "/embed": "inputs"}  # the field that may be a list of texts
INFERENCE = re.compile(r"/v2/models/[^/]+(?:/versions/[^/]+)?/infer")


async def cost_of(scope: Scope, body: Message) -> int:
    """Return the number of calls that a request counts as, at least 1; `body` is its only body message."""

    async def receive() -> Message:
        return body

    request = Request(scope, receive)
    try:
        if scope["path"] in LISTS:
            scope[FIELDS] = await read_fields(request)
            texts = scope[FIELDS].get(LISTS[scope["path"]])
            return max(1, len(texts)) if isinstance(texts, list) else 1
        if INFERENCE.fullmatch(scope["path"]):
            message, _ = split_body(await read_body(request), request.headers.get(JSON_LENGTH_HEADER))
            return _elements(decode_json(message).get("inputs"))
    except ApiError:
        pass  # the route reports the error
    return 1


def _elements(inputs: Any) -> int:
    """Return the number of texts in an inference request by its shapes, which the route compares with the data."""
    tensors = [tensor for tensor in inputs if isinstance(tensor, dict)] if isinstance(inputs, list) else []
    return max([1, *(_size(tensor.get("shape")) for tensor in tensors)])


def _size(shape: Any) -> int:
    try:
        return math.prod(sizes(shape))
    except ValueError:
        return 1  # the route refuses it
