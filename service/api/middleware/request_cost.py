"""What a request costs against the rate limits: as much as the texts that it holds, one by one, would."""

from __future__ import annotations

import math
import re
from typing import Any

from starlette.requests import Request
from starlette.types import Message, Scope

from service.api.errors import ApiError
from service.api.extensions.binary_tensors import JSON_LENGTH_HEADER, split_message
from service.api.fields import sizes_of
from service.api.request_body import FIELDS, read_body, read_fields

LISTS = frozenset({"/translate", "/detect"})  # their `q` may be a list of texts
INFERENCE = re.compile(r"/v2/models/[^/]+(?:/versions/[^/]+)?/infer")


async def cost_of(scope: Scope, body: Message) -> int:
    """Return how many calls a request counts as, at least 1; `body` is its one body message."""

    async def receive() -> Message:
        return body

    request = Request(scope, receive)
    try:
        if scope["path"] in LISTS:
            scope[FIELDS] = await read_fields(request)
            texts = scope[FIELDS].get("q")
            return max(1, len(texts)) if isinstance(texts, list) else 1
        if INFERENCE.fullmatch(scope["path"]):
            message, _ = split_message(await read_body(request), request.headers.get(JSON_LENGTH_HEADER))
            return _elements(message.get("inputs"))
    except ApiError:
        pass  # the route says what is wrong with it
    return 1


def _elements(inputs: Any) -> int:
    """The texts of an inference request by the shapes of its tensors, which the route compares with their data."""
    tensors = [tensor for tensor in inputs if isinstance(tensor, dict)] if isinstance(inputs, list) else []
    return max([1, *(math.prod(sizes_of(tensor.get("shape")) or ()) for tensor in tensors)])
