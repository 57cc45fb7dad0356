"""POST /embed: sentence embeddings, in the shape of Text Embeddings Inference."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends
from starlette.responses import JSONResponse

from service.api.checks import check_batch, check_characters
from service.api.dependencies import ContextDep, ServiceDep, fields_of
from service.api.errors import invalid
from service.api.openapi import errors_of, example, fields_anywhere
from service.api.schemas.embed import EmbedDetails, EmbedRequest, Vector
from service.api.sentence_attention import EMBEDDINGS, embedder_of
from service.embedding import Embedded, Embedder

router = APIRouter(tags=["Embeddings"])

EXAMPLES: dict[str, Any] = {
    "one": {"summary": "A sentence", "value": {"inputs": "I lost my keys."}},
    "two": {"summary": "A sentence and its translation", "value": {"inputs": ["I lost.", "J'ai perdu."]}},
    "details": {"summary": "With its language and domain", "value": {"inputs": "Ich habe verloren.", "details": True}},
}
DIGITS = 7  # of a float32


@router.post(
    "/embed",
    response_model=list[Vector] | EmbedDetails,
    responses={200: example([[0.0125, -0.0831]]), **errors_of(404)},
    openapi_extra=fields_anywhere(EmbedRequest, EXAMPLES),
)
async def embed(
    fields: Annotated[EmbedRequest, Depends(fields_of(EmbedRequest))], service: ServiceDep, context: ContextDep
) -> JSONResponse:
    """Embed sentences: translations of each other get similar vectors.

    The answer has one vector of length 1 for each text; the product of two vectors is their cosine similarity.
    """
    embedder = embedder_of(service)
    if not fields.normalize:
        raise invalid("normalize=false is not available: the vectors of this model have length 1", param="normalize")
    texts = fields.inputs if isinstance(fields.inputs, list) else [fields.inputs]
    check_batch(texts, service.settings)
    check_characters(texts, service.settings)
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
        "tokens": [_tokens(each) for each in found],
    }


def _rounded(values: Any) -> Vector:
    return np.round(values.astype(np.float64), DIGITS).tolist()  # type: ignore[no-any-return]


def _tokens(found: Embedded) -> int:
    return int(found.attention.shape[1])
