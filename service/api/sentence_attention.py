"""The embedding model behind /embed, and its attention: /attention?kind=sentence."""

import numpy as np

from service.api.errors import ApiError
from service.api.state import Service
from service.embedding import Embedder
from service.engine import AttentionMap, BoundedPool, Token

EMBEDDINGS = BoundedPool("embeddings", 1, 256)  # the embedding model: its runs share one thread


def embedder_of(service: Service) -> Embedder:
    """Return the embedding model; raise ApiError (404) if there is none."""
    if service.embedder is None:
        raise ApiError(
            "This server has no sentence-embedding model: its folder of models has no folder named sentence.",
            status=404,
            code="no_embedding_model",
        )
    return service.embedder


def attention_map(embedder: Embedder, text: str, specials: str) -> AttentionMap:
    """Return the attention of a sentence as a map; raise InputTooLong, InvalidText."""
    tokens = embedder.tokens(text)
    weights = embedder.embed([text])[0].attention
    if specials != "keep":
        tokens, weights = tokens[:-1], weights[:, :-1]
    if specials == "renormalise" and tokens:
        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    hops = tuple(Token(hop, f"hop {hop + 1}", "", 0, 0) for hop in range(len(weights)))
    return AttentionMap(
        kind="sentence",
        layer=0,
        head="all",
        axes=("hop", "source"),
        weights=weights,
        source_text=text,
        target_text="",
        source_tokens=tokens,
        target_tokens=hops,
        score=0.0,
        token_logprobs=(),
        token_ranks=(),
        alignment=(),
        digest=embedder.digest,
        model=embedder.manifest.name,
        column_tokens=tokens,
        step=None,
    )
