"""The OpenAPI document is true: its examples are accepted, and what is answered fits its schemas."""

import re
from typing import Any

import jsonschema
import pytest

from service.api.app import create_app
from service.api.schemas.attention import AttentionRequest
from service.api.schemas.translate import TranslateRequest
from service.api.state import Service
from tests.support.api_client import Client

BINARY = {"type": "string", "format": "binary"}
BODY_TYPES = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"]


@pytest.fixture
def document(service: Service) -> dict[str, Any]:
    return create_app(service).openapi()


def check(document: dict[str, Any], schema: dict[str, Any], value: Any) -> None:
    jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(value)


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, item) for path, methods in document["paths"].items() for method, item in methods.items()]


def test_every_route_is_described_with_examples(document: dict[str, Any]) -> None:
    assert set(document["paths"]) == {
        *("/translate", "/attention"),
        *("/languages", "/glossaries", "/models"),
        *("/health", "/health/live", "/health/ready", "/metrics"),
        *("/detect", "/frontend/settings", "/suggest", "/translate_file"),
        *("/jobs", "/jobs/{job_id}", "/jobs/{job_id}/file"),
        *("/v2", "/v2/health/live", "/v2/health/ready", "/v2/models", "/v2/models/{model}"),
        *("/v2/models/{model}/ready", "/v2/models/{model}/config", "/v2/models/{model}/infer"),
        *("/v2/repository/index", "/v2/repository/models/{model}/load", "/v2/repository/models/{model}/unload"),
    }
    for path, method, operation in operations(document):
        assert operation["summary"] not in ("", operation["operationId"].replace("_", " ").title()), path
        assert "422" not in operation["responses"], (path, method)
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values():
                if (path != "/models" or status != "200") and content.get("schema") != BINARY:
                    assert "example" in content or "examples" in content, (path, status)


def test_operations_have_names_of_their_own_that_a_client_can_be_made_of(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) and len(name) < 30 for name in names)
    assert {"translate", "detect", "get_attention", "list_languages", "v2_infer"} <= set(names)
    assert {tag for _, _, operation in operations(document) for tag in operation["tags"]} == {
        tag["name"] for tag in document["tags"] if tag["description"]
    }
    assert document["info"]["license"]["identifier"] == "Apache-2.0"
    for path, _, operation in operations(document):
        assert all("X-Request-ID" in response["headers"] for response in operation["responses"].values()), path
        assert "version" not in [each["name"] for each in operation.get("parameters", ())], path


async def test_the_document_is_served_also_where_libretranslate_has_it(
    client: Client, document: dict[str, Any]
) -> None:
    for path in ("/openapi.json", "/spec"):
        assert (await client.get(path)).json() == document
    answer = await client.get("/docs/")
    assert (answer.status_code, answer.headers["location"]) == (308, "../docs")


def test_examples_of_answers_fit_their_schemas(document: dict[str, Any]) -> None:
    for path, _, operation in operations(document):
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values():
                examples = [item["value"] for item in content.get("examples", {}).values()]
                for value in [*examples, *([content["example"]] if "example" in content else [])]:
                    assert content.get("schema"), (path, status)
                    check(document, content["schema"], value)


@pytest.mark.parametrize("path", ["/translate", "/attention"])
@pytest.mark.parametrize("kind", BODY_TYPES)
async def test_examples_of_requests_work_and_are_answered_as_described(
    client: Client, document: dict[str, Any], path: str, kind: str
) -> None:
    operation = document["paths"][path]["post"]
    content = operation["requestBody"]["content"][kind]
    values = [item["value"] for item in content.get("examples", {}).values()] or [content["example"]]
    for value in values:
        check(document, content["schema"], value)
        if kind == "application/json":
            answer = await client.post(path, json=value)
        elif kind == "application/x-www-form-urlencoded":
            answer = await client.post(path, data=value)
        else:
            answer = await client.post(path, files={name: (None, str(item)) for name, item in value.items()})
        assert answer.status_code == 200, answer.text
        check(document, operation["responses"]["200"]["content"]["application/json"]["schema"], answer.json())


SOME = {"q": "a", "text": "a", "source": "en", "target": "fr"}
TENSOR = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a"]}


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        *(("/translate", {**SOME, name: ""}) for name in ("source", "target")),
        *(("/attention", {**SOME, name: ""}) for name in ("text", "source", "target")),
        ("/translate", {**SOME, "q": []}),
        ("/detect", {"q": ""}),
        ("/attention", {**SOME, "digest": "sha256:0"}),
        ("/attention", {**SOME, "layer": -1}),
        ("/attention", {**SOME, "head": "best"}),
        *(("/v2/models/transformer-en-fr/infer", {"inputs": inputs}) for inputs in (
            [],
            [{**TENSOR, "name": "target_text"}],
            [TENSOR, TENSOR],
            [{**TENSOR, "shape": [0], "data": []}],
            [{**TENSOR, "shape": [2**40]}],
            [{**TENSOR, "shape": [1, 1, 1]}],
        )),
        ("/v2/models/transformer-en-fr/infer", {"inputs": [TENSOR], "parameters": {"beam_size": 9}}),
        ("/v2/models/transformer-en-fr/infer", {"inputs": [TENSOR], "outputs": [{"name": "score"}, {"name": "score"}]}),
    ],
)  # fmt: skip
async def test_what_is_refused_does_not_fit_the_schema_either(
    client: Client, document: dict[str, Any], path: str, refused: dict[str, Any]
) -> None:
    template = path.replace("transformer-en-fr", "{model}")
    content = document["paths"][template]["post"]["requestBody"]["content"]["application/json"]
    assert (await client.post(path, json=refused)).status_code == 400
    with pytest.raises(jsonschema.ValidationError):
        check(document, content["schema"], refused)
    accepted = next(iter(content["examples"].values()))["value"]
    check(document, content["schema"], accepted)


async def test_query_parameters_work(client: Client, document: dict[str, Any]) -> None:
    parameters = document["paths"]["/attention"]["get"]["parameters"]
    given = {item["name"]: item["example"] for item in parameters if "example" in item}
    assert {item["name"] for item in parameters if item["required"]} == {"text", "source", "target"}
    assert (await client.get("/attention", params=given)).status_code == 200


@pytest.mark.parametrize(("path", "schema"), [("/translate", TranslateRequest), ("/attention", AttentionRequest)])
async def test_documented_defaults_are_accepted(client: Client, path: str, schema: type[TranslateRequest]) -> None:
    defaults = {name: field.default for name, field in schema.model_fields.items() if not field.is_required()}
    needed = {name: value for name, value in SOME.items() if name in schema.model_fields}
    answer = await client.post(path, json={**defaults, **needed})
    assert answer.status_code == 200
    assert answer.json() == (await client.post(path, json=needed)).json()


async def test_the_page_shows_all_and_loads_nothing(client: Client, document: dict[str, Any]) -> None:
    answer = await client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    for path, method, _ in operations(document):
        for place in ("a", "h2"):
            assert f"{method.upper()} {path}</code></{place}>" in answer.text
    assert re.findall(r"<script.*?>", answer.text) == ['<script type="module" src="./web/header.js">']
    assert '<main lang="en"' in answer.text
    assert '<a href="./docs" aria-current=page translate=no>API</a>' in answer.text
    assert not re.search(r"(?:src|href)=.(?:https?:)?//", answer.text)
    assert "J&#x27;ai perdu." in answer.text
    claimed = await client.get("/docs", headers={"Host": "a<script>b"})
    assert "a<script>b" not in claimed.text
