"""GET /languages, /glossaries and /models: what the service has."""

import gzip
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from pydantic import Field
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service.api.direct_route import ServiceDep
from service.api.languages import language_name
from service.api.rendering import REPRESENTATIONS, timestamp
from service.api.schemas.common import Schema
from service.api.state import Service
from service.engine import ModelInfo, ModelState, ModelStateName, has_registers, pairs_of, while_wanted

router = APIRouter(tags=["Models"])


class PairSchema(Schema):
    """A language pair of a model."""

    source: str
    target: str
    default: bool = Field(description="Whether the model translates the pair if a request names none")
    reason: str | None = Field(None, description="Why it is the default, as a part of a sentence; null if it is not")


class MemberSchema(Schema):
    """A model that decides in an ensemble."""

    name: str
    version: str
    digest: str
    attention: dict[str, Any]


class ModelSchema(Schema):
    """A loaded model."""

    name: str
    version: str
    architecture: str
    source: str
    sources: list[str] = Field(description="All source languages; `source` is the first")
    target: str
    targets: list[str] = Field(description="All languages that it translates into; `target` is the first")
    pairs: list[PairSchema] = Field(description="Every language pair that it translates")
    default: bool = Field(description="Whether it is the default of one of its language pairs")
    gallery: bool = Field(description="A small model for teaching, which translates only if it is named")
    state: ModelStateName = Field(
        description="`ready`, `closed` (it opens at its first request) and `opening` accept requests"
    )
    last_used: str | None = Field(description="Time of the last request (RFC 3339); null if there was none")
    digest: str
    precision: str
    device: str
    device_wanted: str
    provider: str
    limits: dict[str, int]
    attention: dict[str, Any]
    members: list[MemberSchema] | None = Field(
        None, description="Of an ensemble: the models that decide together. `attention` is that of the first"
    )
    confidence: dict[str, Any] | None = Field(
        description="How `quality` is computed, and how true it was on test sets; null: the model gives no quality"
    )
    card: dict[str, Any]


class ModelList(Schema):
    """All loaded models."""

    models: list[ModelSchema]
    engine_processes: int = Field(
        description="Processes that run the models (`TRANSLUCENT_ENGINE_PROCESSES`); 0: the process that answers HTTP"
    )


class Language(Schema):
    """A language and its targets."""

    code: str
    name: str
    targets: list[str]
    pivots: dict[str, str] | None = Field(
        None,
        description="An addition to LibreTranslate's fields: the targets that are translated in two legs, each with "
        "the language between them; absent if there are none",
    )
    formality: bool | None = Field(
        None,
        description="An addition: true if the language has familiar and polite forms that `formality` can ask for as a "
        "target; absent otherwise",
    )


class GlossarySchema(Schema):
    """One glossary for one language pair."""

    name: str = Field(description="What the field `glossary` of a request names")
    source: str
    target: str
    terms: int = Field(description="Number of terms")


@router.get("/languages", response_model=list[Language])
async def list_languages(service: ServiceDep) -> JSONResponse:
    """List the languages and the targets of each, which include itself."""
    known = service.languages
    listed: list[dict[str, Any]] = []
    for code, targets in known.targets.items():
        listed.append({"code": code, "name": language_name(code), "targets": list(targets)})
        if pivoted := [target for target in targets if (code, target) in known.pivoted]:
            listed[-1]["pivots"] = dict.fromkeys(pivoted, known.pivot)
        if has_registers(code):
            listed[-1]["formality"] = True
    return JSONResponse(listed)


@router.get("/glossaries", response_model=list[GlossarySchema])
async def list_glossaries(service: ServiceDep) -> JSONResponse:
    """List the glossaries that requests may name: name, language pair and number of terms, without the terms."""
    return JSONResponse([glossary._asdict() for glossary in service.glossaries.served()])


@router.get("/models", response_model=ModelList)
async def list_models(request: Request, service: ServiceDep) -> Response:
    """List the loaded models, with their digests, devices, limits and model cards."""
    registry = service.registry
    states, models = {state.name: state for state in registry.states()}, registry.models()
    is_packed = "gzip" in request.headers.get("accept-encoding", "")  # the cards of five models are 175 kB, packed 17
    processes = service.settings.engine_processes

    def written() -> bytes:
        found = [describe(info, service, states[info.name]) for info in while_wanted(models)]
        # Undecided where the models run in this process, whatever the setting says: under Ray, for example.
        body = to_json({"models": found, "engine_processes": 0 if processes == "auto" else processes})
        return gzip.compress(body, 6) if is_packed else body

    headers = {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if is_packed else {})
    return Response(await REPRESENTATIONS.run(written), headers=headers, media_type="application/json")


COPIED = ("name", "version", "architecture", "gallery", "digest", "precision", "device", "device_wanted", "provider")


def describe(info: ModelInfo, service: Service, state: ModelState) -> dict[str, Any]:
    """Return a model as JSON."""
    pairs = []
    for source, target in pairs_of(info):
        default = service.registry.default_name(source, target) == info.name
        reason = service.registry.default_reason(source, target) if default else None
        pairs.append({"source": source, "target": target, "default": default, "reason": reason})
    described = {"members": [asdict(member) for member in info.members]} if info.members else {}
    return described | {
        **{name: getattr(info, name) for name in COPIED},
        "source": info.source_language,
        "sources": list(info.sources),
        "target": info.target_language,
        "targets": list(info.targets),
        "pairs": pairs,
        "default": any(pair["default"] for pair in pairs),
        "state": state.state,
        "last_used": None if state.last_used is None else timestamp(state.last_used),
        "limits": {"source_tokens": info.source_tokens, "target_tokens": info.target_tokens},
        "attention": dict(info.attention),
        "confidence": None if info.confidence is None else dict(info.confidence),
        "card": dict(info.card),
    }
