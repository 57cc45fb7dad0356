"""POST /embed: sentence embeddings, in the shape of Text Embeddings Inference."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from fastapi import APIRouter
from pydantic import Field
from starlette.responses import JSONResponse

from service.api.checks import check_texts
from service.api.direct_route import ContextDep, DirectRoute, ServiceDep
from service.api.errors import invalid
from service.api.openapi import errors_of
from service.api.schemas.common import ApiKey, Fields, Schema, Texts
from service.api.sentence_attention import EMBEDDINGS, embedder_of
from service.embedding import Embedder

router = APIRouter(tags=["Embeddings"], route_class=DirectRoute)

DIGITS = 7  # of a float32


class EmbedRequest(Fields):
    """Texts to embed; the names of the fields are those of Text Embeddings Inference."""

    inputs: Texts = Field(description="A sentence, or (JSON only) a list of sentences")
    normalize: bool = Field(True, description="Vectors have length 1; false is refused")
    truncate: bool = Field(
        False, description="Ignore the end of a text that is too long for the model, instead of refusing it"
    )
    details: bool = Field(
        False, description="Return an object with the model, and the probabilities of languages and domains"
    )
    api_key: ApiKey = None


Vector = list[float]


class EmbedDetails(Schema):
    """The answer with `details=true`; lists are in the order of `inputs`."""

    model: str
    digest: str = Field(description="SHA-256 of the model's manifest")
    embeddings: list[Vector]
    languages: list[dict[str, float]] = Field(description="Probability of each language that the model knows")
    domains: list[dict[str, float]] = Field(description="Probability of each domain that the model knows")
    tokens: list[int] = Field(description="Tokens of each text, including the end token")


@router.post("/embed", response_model=list[Vector] | EmbedDetails, responses=errors_of(404))
async def embed(fields: EmbedRequest, service: ServiceDep, context: ContextDep) -> JSONResponse:
    """Embed sentences: translations of each other get similar vectors.

    The answer has one vector of length 1 for each text; the product of two vectors is their cosine similarity.
    """
    embedder = embedder_of(service)
    if not fields.normalize:
        raise invalid("normalize=false is not available: the vectors of this model have length 1", param="normalize")
    texts = fields.inputs if isinstance(fields.inputs, list) else [fields.inputs]
    check_texts(texts, service.settings)
    context.count(texts, embedder.manifest.name)
    answer = EMBEDDINGS.run(lambda: _answer(embedder, texts, fields))
    return JSONResponse(await context.deadline.wait_for(answer))


def _answer(embedder: Embedder, texts: Sequence[str], fields: EmbedRequest) -> Any:
    found = embedder.embed(texts, fields.truncate)
    vectors = [_rounded(each.embedding) for each in found]
    if not fields.details:
        return vectors
    manifest = embedder.manifest
    return {
        "model": manifest.name,
        "digest": embedder.digest,
        "embeddings": vectors,
        "languages": [dict(zip(manifest.languages, _rounded(each.languages), strict=True)) for each in found],
        "domains": [dict(zip(manifest.domains, _rounded(each.domains), strict=True)) for each in found],
        "tokens": [each.attention.shape[1] for each in found],
    }


def _rounded(values: Any) -> Vector:
    return np.round(values.astype(np.float64), DIGITS).tolist()  # type: ignore[no-any-return]
