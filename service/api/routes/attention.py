"""GET and POST /attention: the attention weights of a translation, as data and as pictures."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.answers.attention import AttentionMaps, AttentionResponse, BertvizAttention
from service.api.attention_formats import cache_key, check_digests, naming_of, other_contents, represent
from service.api.attention_job import AttentionJob, job_of
from service.api.checks import check_characters
from service.api.direct_route import ContextDep, DirectRoute, RendererDep, ServiceDep
from service.api.errors import invalid
from service.api.etag import tagged
from service.api.openapi import errors_of
from service.api.schemas.attention import (
    AttentionRequest,
)
from service.api.state import Service
from service.engine import AttentionMap, AttentionOptions, Pair, Translates, check_room, kept
from service.figures.figure import comparable

router = APIRouter(tags=["Attention"], route_class=DirectRoute)

MOST_WEIGHTS = 250_000  # attention weights in one answer, as data or as a picture; a thousand are 50 kB of CSV

DOCUMENTED: dict[str, Any] = {
    "response_model": AttentionResponse | AttentionMaps | BertvizAttention,
    "responses": {
        200: {
            "content": other_contents(),
            "headers": {"ETag": {"description": "Changes with the model", "schema": {"type": "string"}}},
        },
        **errors_of(404, 409, 414, 503, 504),
    },
}


@router.post("/attention", name="post_attention", **DOCUMENTED)
@router.get(
    "/attention",
    name="get_attention",
    **{**DOCUMENTED, "responses": {**DOCUMENTED["responses"], 304: {"description": "Not modified: use your copy"}}},
)
async def attention(
    request: Request,
    fields: AttentionRequest,
    service: ServiceDep,
    context: ContextDep,
    renderer: RendererDep,
) -> Response:
    """Return the attention weights of a sentence and its translation, as data or as a picture.

    With the fields in the query string the address can be linked to, and ETag makes repeats cheap; with the fields in
    the body texts may be longer.
    """
    job = job_of(fields, service.languages)
    check_characters((job.text, job.target_text or "", fields.other_text or ""), service.settings)
    before = service.registry.resolve(*job.before) if job.before else None
    translators = _translators(service, job.pair, fields)
    context.count([job.text])
    shown = [translator.info for translator in translators]
    context.record_legs([before.info, shown[0]] if before else shown[:1])
    digests = [info.digest for info in (*shown, *([before.info] if before else []))]
    check_digests(fields.digests, digests)

    async def make() -> Response:
        pair_job = job
        with kept([*translators, *([before] if before else [])]):
            if before is not None:
                check_room([before, translators[0]], context.deadline)
                work = before.translate([job.text], job.options.translation, deadline=context.deadline)
                [between] = await context.wait_for(work)
                pair_job = replace(job, text=between.text)
            maps = await context.wait_for(_maps(translators, pair_job, fields, context.deadline))
        naming = naming_of(shown, fields.other_text)
        return await context.wait_for(represent(maps, fields, naming, renderer))

    key = [digests, asdict(job), cache_key(fields)]
    return await tagged(request, key, make, stable=len(fields.digests) == len(digests))


def _translators(service: Service, pair: Pair, fields: AttentionRequest) -> list[Translates]:
    """Return the requested model or models; for a comparison another one, preferably of another architecture.

    An ensemble is compared with itself: the maps are those of its members.
    """
    resolve = service.registry.resolve
    if fields.view == "models":
        if not fields.models:
            raise invalid("view=models needs models, the names of models of this pair with commas between them")
        return [resolve(*pair, name) for name in fields.models.split(",")]
    first = resolve(*pair, fields.model)
    if fields.view != "compare":
        return [first]
    if fields.other_model is not None:
        return [first, resolve(*pair, fields.other_model)]
    if first.info.members:
        return [first, first]
    pair = (first.info.source_language, first.info.target_language)
    others = [
        info
        for info in service.registry.models()
        if pair in info.pairs and info.name != first.info.name and info.gallery == first.info.gallery
    ]
    if not others:
        raise invalid("view=compare needs a second model of this pair, and there is none", "unknown_model")
    second = min(others, key=lambda info: (bool(info.members), info.architecture == first.info.architecture))
    return [first, resolve(*pair, second.name)]


async def _maps(
    translators: Sequence[Translates], job: AttentionJob, fields: AttentionRequest, deadline: float
) -> list[AttentionMap]:
    """Return the maps of the view: one, or others that belong to other models or to another translation."""
    most_weights = MOST_WEIGHTS // len(translators) if fields.view == "models" else MOST_WEIGHTS
    members = translators[0].info.members if fields.view == "compare" and fields.other_model is None else ()

    async def ask(number: int, target_text: str | None, options: AttentionOptions = job.options) -> AttentionMap:
        if members:
            options = replace(options, member=members[number].name)
        return await translators[number].attention(
            job.text, target_text, options, deadline=deadline, most_weights=most_weights
        )

    if fields.view == "contrast":
        if job.target_text is None:
            raise invalid("view=contrast needs target_text, the translation to compare with the model's own")
        _refuse_all(job)
        given = (job.target_text, fields.other_text) if fields.other_text else (None, job.target_text)
        return [await ask(0, given[0]), await ask(0, given[1])]
    first = await ask(0, job.target_text)
    if fields.view not in ("compare", "models"):
        return [first]
    _refuse_all(job)
    if fields.view == "models":
        others = [ask(number, first.target_text) for number in range(1, len(translators))]
        return [first, *await asyncio.gather(*others)]
    second = await ask(1, first.target_text)
    if not comparable(first, second) and job.options.tokens == "subword":
        # The models split words into different subwords, but the words are the same.
        words = replace(job.options, tokens="word")
        first, second = await ask(0, first.target_text, words), await ask(1, first.target_text, words)
    return [first, second]


def _refuse_all(job: AttentionJob) -> None:
    if "all" in (job.options.layer, job.options.head):
        raise invalid("two maps side by side show one layer and one head each: give a number, align or mean")
