"""Makes the reference pages of the docs site from the code: HTTP (OpenAPI), Python (docstrings), commands (typer)."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

PYTHON = {
    "Translators": ("Translator", "AsyncTranslator"),
    "Results": ("Translation", "Translations", "Sentence", "Score"),
    "Attention": ("Attention", "Picture"),
    "Options": ("TranslationOptions", "AttentionOptions"),
    "Models and tokens": ("list_models", "Model", "Token", "Word"),
    "Errors": ("EngineError", "InvalidInput", "Overloaded", "ServerError"),
}


def http() -> str:
    """Return the page of the HTTP API: every route by its tag, with fields, examples and answers."""
    document = _document()
    parts = ["# HTTP", document["info"]["description"], "A running server shows this page at `/docs`."]
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    for tag in document["tags"]:
        parts += [f"## {tag['name']}", tag["description"]]
        for path, method, operation in operations:
            if tag["name"] in operation["tags"]:
                parts += _operation(document, path, method, operation)
    return "\n\n".join(parts) + "\n"


def _document() -> Json:
    """Return the OpenAPI document, which needs no model."""
    from service.api.app import create_app
    from service.api.state import Service
    from service.metrics import Metrics
    from service.settings import Settings

    nothing: Any = None
    return create_app(Service(Settings(), nothing, Metrics())).openapi()


def _operation(document: Json, path: str, method: str, operation: Json) -> Iterator[str]:
    yield f"### {method.upper()} {path}"
    yield f"{operation['summary']}.\n\n{operation['description']}".rstrip()
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        yield _table(_fields(document["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]))
        for example in body["examples"].values():
            data = shlex.quote(json.dumps(example["value"], ensure_ascii=False))
            yield f"{example['summary']}:"
            yield f"```console\n$ curl localhost:8000{path} -H content-type:application/json -d {data}\n```"
    elif operation.get("parameters"):
        yield _table(_parameters(operation["parameters"]))
    rows: list[tuple[str, ...]] = [("status", "meaning")]
    rows += [(f"`{status}`", answer["description"]) for status, answer in operation["responses"].items()]
    yield _table(rows)


def _fields(schema: Json) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("field", "type", "default", "meaning")]
    for name, field in schema["properties"].items():
        default = "required" if name in schema.get("required", ()) else f"`{json.dumps(field.get('default'))}`"
        rows.append((f"`{name}`", _type(field), default, field.get("description", "")))
    return rows


def _parameters(parameters: list[Json]) -> list[tuple[str, ...]]:
    properties = {item["name"]: {**item["schema"], **item} for item in parameters}
    return _fields({"properties": properties, "required": [item["name"] for item in parameters if item["required"]]})


def _type(field: Json) -> str:
    if "anyOf" in field:
        return " or ".join(_type(item) for item in field["anyOf"] if item.get("type") != "null")
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    bounds = [f"from {field['minimum']:g}"] if "minimum" in field else []
    bounds += [f"to {field['maximum']:g}"] if "maximum" in field else []
    return " ".join([str(field.get("type", "any")), *bounds])


def _table(rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def python() -> str:
    """Return the page of the Python face: the public names, which Sphinx fills from their docstrings."""
    parts = ["# Python", "`import translucent_mt`: the guide is [From Python](../python.md)."]
    for title, names in PYTHON.items():
        parts.append(f"## {title}")
        for name in names:
            kind = "exception" if title == "Errors" else "class"
            directive = f"autofunction:: translucent_mt.{name}"
            if not name.islower():
                directive = f"auto{kind}:: translucent_mt.{name}\n   :members:"
            parts.append(f"```{{eval-rst}}\n.. {directive}\n```")
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    """Return the page of the command line, from its help texts."""
    import typer.cli
    import typer.main

    from translucent_mt.command_line import cli

    command = typer.main.get_command(cli)
    context = typer.Context(command, info_name="translucent")
    text = str(typer.cli.get_docs_for_click(obj=command, ctx=context, name="translucent", title="Commands"))
    home = str(Path.home())
    return text.replace(home, "~")
