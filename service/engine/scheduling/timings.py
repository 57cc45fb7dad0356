"""How long one call was in each stage of the batch that it shared with others. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from service.engine.events import CallStage
from service.engine.types import SentenceResult


def sentence_stages(
    began: float, sources: Sequence[Sequence[int]], results: Sequence[SentenceResult]
) -> list[CallStage]:
    """Return queue, encode and decode of a call whose sentences were handed over at `began` (time.monotonic).

    Each stage lasts from the first sentence that enters it to the last that leaves it, so that those of a call with
    many sentences overlap.
    """
    waited = [result.queue_seconds for result in results]
    encoded = [result.queue_seconds + result.encode_seconds for result in results]
    finished = [result.queue_seconds + result.compute_seconds for result in results]
    source = {"sentences": len(results), "source_tokens": sum(map(len, sources))}
    target = {"sentences": len(results), "target_tokens": sum(len(result.hypotheses[0].ids) for result in results)}
    return [
        CallStage("queue", began, began + max(waited), source),
        CallStage("encode", began + min(waited), began + max(encoded), source),
        CallStage("decode", began + min(encoded), began + max(finished), target),
    ]
