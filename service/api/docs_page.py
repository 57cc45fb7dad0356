"""GET /docs: the OpenAPI document as one page in the look of the others, without content from other servers."""

import json
import shlex
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from service.api.header import page_around

router = APIRouter()

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}


@router.get("/docs/", include_in_schema=False)
async def docs_folder() -> RedirectResponse:
    """Redirect LibreTranslate's address of the page."""
    return RedirectResponse("../docs", status_code=308)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Show every route with its fields, examples and errors."""
    return HTMLResponse(page(request.app.openapi(), str(request.base_url).rstrip("/")), headers=HEADERS)


def page(document: dict[str, Any], address: str) -> str:
    """Return the whole page."""
    info = document["info"]
    paragraphs = "".join(f"<p>{_code(part)}</p>" for part in info["description"].strip().split("\n\n"))
    paths: dict[str, dict[str, Any]] = document["paths"]
    operations = [(method, path, one) for path, methods in paths.items() for method, one in methods.items()]
    sections = "".join("".join(_operation(document, *operation, address)) for operation in operations)
    contents = "".join(
        f'<li><a href="#{_anchor(method, path)}"><code>{method.upper()} {escape(path)}</code></a></li>'
        for method, path, _ in operations
    )
    title = escape(info["title"])
    main = (
        f'<main lang="en" translate="no"><h1>{title} {escape(info["version"])}</h1>{paragraphs}'
        f'<p>For programs: <a href="openapi.json">openapi.json</a></p>{sections}</main>'
    )
    return page_around(f"<title>{title} API</title>", main, "docs", "./", f"<ul>{contents}</ul>")


def _anchor(method: str, path: str) -> str:
    return escape(f"{method}{path}".replace("/", "-").replace("{", "").replace("}", ""))


def _operation(
    document: dict[str, Any], method: str, path: str, operation: dict[str, Any], address: str
) -> Iterator[str]:
    yield f'<section><h2 id="{_anchor(method, path)}"><code>{method.upper()} {escape(path)}</code></h2>'
    yield f"<p><strong>{_code(operation['summary'])}.</strong> {_code(operation['description'])}</p>"
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        yield _fields(document["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]])
        for example in body["examples"].values():
            yield f"<h3>{escape(example['summary'])}</h3>{_call(address + path, example['value'])}"
    elif "parameters" in operation:
        yield _fields(
            {
                "properties": {item["name"]: {**item["schema"], **item} for item in operation["parameters"]},
                "required": [item["name"] for item in operation["parameters"] if item["required"]],
            }
        )
    yield "<h3>Answers</h3><table>"
    for status, response in operation["responses"].items():
        examples = "".join(f"<pre>{escape(_json(value))}</pre>" for value in _examples(response))
        yield f"<tr><td><code>{status}</code></td><td>{_code(response['description'])}{examples}</td></tr>"
    yield "</table></section>"


def _fields(schema: dict[str, Any]) -> str:
    rows = []
    for name, field in schema["properties"].items():
        default = "required" if name in schema.get("required", ()) else _json(field.get("default"))
        rows.append(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(_type(field))}</td>"
            f"<td><code>{escape(default)}</code></td><td>{_code(field.get('description', ''))}</td></tr>"
        )
    return f"<table><tr><th>field</th><th>type</th><th>default</th><th>meaning</th></tr>{''.join(rows)}</table>"


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(item) for item in field["anyOf"] if item.get("type") != "null")
    if "const" in field:
        return _json(field["const"])
    if "enum" in field:
        return ", ".join(map(_json, field["enum"]))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    bounds = [f"from {field['minimum']:g}"] if "minimum" in field else []
    bounds += [f"to {field['maximum']:g}"] if "maximum" in field else []
    return " ".join([str(field.get("type", "any")), *bounds])


def _examples(response: dict[str, Any]) -> list[Any]:
    content: dict[str, Any] = next(iter(response.get("content", {}).values()), {})
    return [item["value"] for item in content.get("examples", {}).values()] or (
        [content["example"]] if "example" in content else []
    )


def _call(url: str, value: Any) -> str:
    data = shlex.quote(_json(value))
    return f"<pre>{escape(f'curl {shlex.quote(url)} -H content-type:application/json -d {data}')}</pre>"


def _json(value: Any) -> str:
    return value.rstrip() if isinstance(value, str) and "\n" in value else json.dumps(value, ensure_ascii=False)


def _code(text: str) -> str:
    """Return escaped text, with the parts between backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
