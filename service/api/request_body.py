"""Reads the fields of a request from JSON, an urlencoded or multipart form, or the query string.

The body is JSON exactly if its content type says so, and then only the body counts. Otherwise query string and form are
merged, the query string first. A repeated `q` is a list of texts; of any other name the first value is used. The Open
Inference Protocol knows only JSON, which tensors may follow as bytes.
"""

import codecs
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header
from starlette.requests import Request

from service.api.context import header
from service.api.errors import ApiError, invalid, not_utf8
from service.api.paths import ADMIN, UPLOADS
from service.api.schemas.common import as_whole, json_of
from service.engine import FloatArray

MAX_FIELDS = 1000
TEXTS = "q"  # the only field that may be a list in a form
BODY = "translucent.body"  # the key of the whole body in the scope, after it was read
FIELDS = "translucent.fields"  # the key in the scope, after they are read
MEDIA_TYPE_FORM = "application/x-www-form-urlencoded"
MEDIA_TYPE_MULTIPART = "multipart/form-data"


async def read_body(request: Request) -> bytes:
    """Return the body; raise ApiError (415) if it is compressed, because no body is ever unpacked."""
    encoding = (header(request.scope, b"content-encoding") or "").strip().lower()
    if encoding not in {"", "identity"}:
        raise ApiError(
            "The body is compressed; send it as it is, without Content-Encoding.",
            status=415,
            code="unsupported_encoding",
            headers={"Accept-Encoding": "identity"},
        )
    read: bytes | None = request.scope.get(BODY)
    return await request.body() if read is None else read


async def read_fields(request: Request) -> dict[str, Any]:
    """Return all fields of a request; raise ApiError (400) if they cannot be read."""
    if FIELDS in request.scope:
        read: dict[str, Any] = request.scope[FIELDS]
        return read
    if request.method == "GET":
        return query_fields(request)
    if request.scope["path"].startswith("/v2/"):
        return await read_message(request)
    content_type = header(request.scope, b"content-type")
    if content_type == "application/json":  # the usual spelling
        return decode_json(await read_body(request))
    kind, parameters = parse_options_header(content_type)
    media_type = kind.decode("latin-1").strip().lower()
    if media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json")):
        return decode_json(await read_body(request))
    fields: dict[str, Any] = dict(query_fields(request))
    form: Mapping[str, str | list[str]] = {}
    files: Mapping[str, UploadedFile] = {}
    if media_type == MEDIA_TYPE_FORM:
        form = decode_urlencoded(await read_body(request), "form")
    elif media_type == MEDIA_TYPE_MULTIPART:
        form, files = decode_multipart(await read_body(request), parameters.get(b"boundary"))
    if media_type != MEDIA_TYPE_MULTIPART:
        _check_no_json(await read_body(request), media_type)
    for name, value in form.items():
        # Browsers send every line break of a form as CRLF (HTML, 4.10.21): a limit would count them twice.
        values = [part.replace("\r\n", "\n") for part in ([value] if isinstance(value, str) else value)]
        fields.setdefault(name, values[0] if len(values) == 1 else values)
    return {**fields, **files} if request.scope["path"] in UPLOADS else fields


async def read_message(request: Request) -> dict[str, Any]:
    """Return the JSON of the Open Inference Protocol, with the tensors that follow it as bytes; raise ApiError."""
    body, data = split_body(await read_body(request), header(request.scope, JSON_LENGTH_HEADER.lower().encode()))
    message = {} if request.scope["path"].startswith(ADMIN) and not body.strip() else decode_json(body)
    inputs = message.get("inputs")
    return {**message, "inputs": with_data(inputs, data)} if isinstance(inputs, list) else message


def _check_no_json(body: bytes, media_type: str) -> None:
    """Raise ApiError for JSON with another content type, such as the one that curl sends by itself."""
    if body.lstrip()[:1] == b"{":
        given = "no Content-Type" if not media_type else "another Content-Type"
        raise ApiError(
            f"The body looks like JSON, but the request has {given}; send the header Content-Type: application/json.",
            code="wrong_content_type",
        )


def query_fields(request: Request) -> dict[str, str | list[str]]:
    """Return the fields of the query string."""
    return decode_urlencoded(request.scope.get("query_string", b""), "query string")


def decode_json(body: bytes) -> dict[str, Any]:
    """Return a JSON object from UTF-8; raise ApiError for anything that is not exactly one such object."""
    try:
        fields = json_of(body.removeprefix(codecs.BOM_UTF8).decode())
    except UnicodeDecodeError as error:
        raise not_utf8("body", error) from None
    except ValueError as error:  # a kind and a place, without the text
        raise ApiError(
            f"The body is not valid JSON: {error}. "
            'Send an object such as {"q": "I lost.", "source": "en", "target": "fr"}.',
            code="invalid_json",
        ) from None
    if not isinstance(fields, dict):
        raise ApiError("The JSON body must be an object, with the fields by their names.", code="invalid_json")
    return fields


def decode_urlencoded(data: bytes, part: str) -> dict[str, str | list[str]]:
    """Return the values of a query string or an urlencoded form by their names."""
    try:
        pairs = parse_qsl(data.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError as error:
        raise not_utf8(part, error) from None
    except ValueError:
        raise ApiError(f"The {part} has more than {MAX_FIELDS} fields.", code="invalid_form") from None
    return _by_name(pairs)


def _by_name(pairs: Sequence[tuple[str, str]]) -> dict[str, str | list[str]]:
    """Return the first value of each name, and all texts if there are several."""
    fields: dict[str, str | list[str]] = dict(reversed(pairs))
    texts = [value for name, value in pairs if name == TEXTS]
    return {**fields, TEXTS: texts} if len(texts) > 1 else fields


class UploadedFile(NamedTuple):
    """A file of a multipart form."""

    name: str  # as the client calls it, often a path
    content: bytes


def decode_multipart(data: bytes, boundary: bytes | None) -> tuple[dict[str, str | list[str]], dict[str, UploadedFile]]:
    """Return the values of a multipart form by their names, and the first file of each field."""
    if not boundary:
        raise ApiError("The multipart form has no boundary in its content type.", code="invalid_form")
    parts: list[Any] = []

    def take(part: Field | File) -> None:
        if len(parts) >= MAX_FIELDS:
            raise ApiError(f"The form has more than {MAX_FIELDS} fields.", code="invalid_form")
        parts.append(part)

    fields: list[tuple[str, str]] = []
    files: dict[str, UploadedFile] = {}
    in_memory: Any = {"MAX_MEMORY_FILE_SIZE": len(data)}
    try:
        parser = FormParser(MEDIA_TYPE_MULTIPART, take, take, boundary=boundary, config=in_memory)
        parser.write(data)
        parser.finalize()
        for part in parts:
            name = part.field_name.decode("utf-8")
            if isinstance(part, Field):
                fields.append((name, (part.value or b"").decode("utf-8")))
            else:
                files.setdefault(name, UploadedFile(part.file_name.decode("utf-8"), part.file_object.getvalue()))
    except UnicodeDecodeError as error:
        raise not_utf8("form", error) from None
    except FormParserError:
        raise ApiError("The multipart form is malformed, or a part of it has no name.", code="invalid_form") from None
    return _by_name(fields), files


# The binary tensor data extension of the Open Inference Protocol: the header says where the JSON ends. The data of the
# tensors that have the parameter `binary_data_size` follow, in the order of the tensors. Numbers are little-endian; a
# BYTES tensor is, for each element, its length in four bytes and then its UTF-8.
# https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md
JSON_LENGTH_HEADER = "Inference-Header-Content-Length"
SIZE = "binary_data_size"  # of a tensor, among its parameters
LENGTH = struct.Struct("<I")
Tensor = Sequence[str] | FloatArray


def split_body(body: bytes, json_length: str | None) -> tuple[bytes, bytes]:
    """Split a body into its JSON and the bytes after it; without the header all of it is JSON."""
    if json_length is None:
        return body, b""
    length = as_whole(json_length)
    if length is None or not 0 <= length <= len(body):
        raise invalid(f"{JSON_LENGTH_HEADER} must be a whole number of at most the body's {len(body)} bytes")
    return body[:length], body[length:]


def with_data(tensors: Sequence[Any], data: bytes) -> list[Any]:
    """Return tensors with their strings among their fields, also where they are bytes; raise ApiError."""
    completed, at = list(tensors), 0
    for number, tensor in enumerate(tensors):
        is_text = isinstance(tensor, dict) and tensor.get("name") in ("text", "target_text")
        parameters = tensor.get("parameters") if is_text else None  # validation refuses the others
        size = parameters.get(SIZE) if isinstance(parameters, dict) else None
        if size is None:
            continue
        name, left = tensor["name"], len(data) - at
        if "data" in tensor:
            raise invalid(f"{name} has both data and {SIZE}; give one of them", param=name)
        byte_count = None if isinstance(size, str) else as_whole(size)
        if byte_count is None or not 0 <= byte_count <= left:
            raise invalid(
                f"the {SIZE} of {name} must be a whole number of at most the {left} bytes that follow the JSON; "
                f"{JSON_LENGTH_HEADER} says where it ends",
                param=name,
            )
        completed[number] = {**tensor, "data": decode_strings(name, data[at : at + byte_count])}
        at += byte_count
    if at < len(data):
        raise invalid(
            f"{len(data) - at} bytes after the JSON belong to no tensor; {JSON_LENGTH_HEADER} is where the JSON ends, "
            f"and every binary tensor has the parameter {SIZE}"
        )
    return completed


def decode_strings(name: str, data: bytes) -> list[str]:
    """Return the elements of a BYTES tensor; raise ApiError if the lengths do not add up or it is not UTF-8."""
    strings: list[str] = []
    at = 0
    while at < len(data):
        end = at + LENGTH.size
        if end <= len(data):
            [size] = LENGTH.unpack_from(data, at)
            at, end = end, end + size
        if end > len(data):
            what = "for each element, its length in four bytes and then its UTF-8"
            raise invalid(f"the binary data of {name} must be {what}", param=name)
        try:
            strings.append(data[at:end].decode("utf-8"))
        except UnicodeDecodeError as error:
            raise not_utf8(f"binary data of {name}", error) from None
        at = end
    return strings


def as_bytes(values: Tensor) -> bytes:
    """Return the bytes of a BYTES tensor, or of an FP32 tensor in row-major order."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, dtype="<f4").tobytes()
    encoded = [text.encode() for text in values]
    return b"".join(LENGTH.pack(len(string)) + string for string in encoded)
