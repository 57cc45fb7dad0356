"""GET /languages, /glossaries and /models: what the service has."""

import gzip
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service.answers.models import GlossarySchema, LanguageSchema, ModelList, ModelSchema, PairSchema
from service.api.direct_route import DirectRoute, ServiceDep
from service.api.languages import language_name
from service.api.rendering import REPRESENTATIONS, timestamp
from service.api.schemas.models import ModelsRequest
from service.api.state import Service
from service.engine import ModelInfo, ModelState, has_registers, pairs_of, while_wanted

router = APIRouter(tags=["Models"], route_class=DirectRoute)
HISTORY = ("recipe", "legs", "data")  # of a model card: nine tenths of it


@router.get("/languages", response_model=list[LanguageSchema])
async def list_languages(request: Request, service: ServiceDep) -> Response:
    """List the languages and the targets of each, which include itself."""
    languages = service.languages
    listed: list[dict[str, Any]] = []
    for code, targets in languages.targets.items():
        listed.append({"code": code, "name": language_name(code), "targets": list(targets)})
        if pivoted := [target for target in targets if (code, target) in languages.pivoted]:
            listed[-1]["pivots"] = dict.fromkeys(pivoted, languages.pivot)
        if has_registers(code):
            listed[-1]["formality"] = True
    return _packed(JSONResponse(listed), request)


@router.get("/glossaries", response_model=list[GlossarySchema])
async def list_glossaries(service: ServiceDep) -> JSONResponse:
    """List the glossaries that requests may name: name, language pair and number of terms, without the terms."""
    return JSONResponse([glossary._asdict() for glossary in service.glossaries.served()])


@router.get("/models", response_model=ModelList)
async def list_models(request: Request, options: Annotated[ModelsRequest, Query()], service: ServiceDep) -> Response:
    """List the loaded models, with their digests, devices, limits and model cards."""
    registry = service.registry
    states, models = {state.name: state for state in registry.states()}, registry.models()
    processes = service.settings.engine_processes

    def written() -> Response:
        described = tuple(describe(info, service, states[info.name]) for info in while_wanted(models))
        if options.brief:
            described = tuple(brief(model) for model in described)
        # Undecided where the models run in this process, whatever the setting says: under Ray, for example.
        body = ModelList(models=described, engine_processes=0 if processes == "auto" else processes).json_bytes()
        return _packed(Response(body, media_type="application/json"), request)

    return await REPRESENTATIONS.run(written)


def _packed(answer: Response, request: Request) -> Response:
    """Return an answer that repeats itself, packed if the client reads that.

    The cards of five models are 175 kB, packed 17; the targets of NLLB's 201 languages 274 kB, packed 4.
    """
    headers, body = {"Vary": "Accept-Encoding"}, bytes(answer.body)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers, body = headers | {"Content-Encoding": "gzip"}, gzip.compress(body, 6)
    return Response(body, headers=headers, media_type=answer.media_type)


def brief(model: ModelSchema) -> ModelSchema:
    """Return a model whose card does not say how it was trained."""
    card = {name: value for name, value in model.card.items() if name not in HISTORY}
    return model.model_copy(update={"card": card})


def describe(info: ModelInfo, service: Service, state: ModelState) -> ModelSchema:
    """Return a model for its list."""
    pairs = []
    for source, target in pairs_of(info):
        default = service.registry.default_name(source, target) == info.name
        reason = service.registry.default_reason(source, target) if default else None
        pairs.append(PairSchema(source=source, target=target, default=default, reason=reason))
    last_used = None if state.last_used is None else timestamp(state.last_used)
    return ModelSchema(
        **ModelSchema.shared(ModelInfo, info) | {"members": [asdict(member) for member in info.members] or None},
        source=info.source_language,
        sources=info.sources,
        target=info.target_language,
        targets=info.targets,
        pairs=tuple(pairs),
        default=any(pair.default for pair in pairs),
        state=state.state,
        last_used=last_used,
        limits={"source_tokens": info.source_tokens, "target_tokens": info.target_tokens},
    )
