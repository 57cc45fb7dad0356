"""Serves the page over an engine without weights whose attention has layers, heads and a shape worth looking at.

`python -m tests.browser.serve_gallery [NAME...]`: the names of models as of `tests.support.fake_engine.info_of`.
"""

import sys
from dataclasses import replace

import numpy as np
import uvloop

from service.engine.events import EventListener
from service.engine.jobs import FloatArray
from service.engine.model_info import MemberInfo, ModelInfo
from service.engine.types import (
    AttentionMap,
    AttentionOptions,
    SentenceDetail,
    Translation,
    TranslationOptions,
)
from service.logs import configure_logging
from service.server.uvicorn_server import serve
from service.settings import load_settings
from tests.support.fake_engine import MODELS, DummyRegistry, DummyTranslator, scores_of, service_of

SIZES = {
    "transformer": {"cross": {"layers": 2, "heads": 4}, "encoder": {"layers": 3, "heads": 4}, "decoder": None},
    "bahdanau": {"cross": {"layers": 1, "heads": 1}, "encoder": None, "decoder": None},
}


def weights_of(rows: int, columns: int, seed: int) -> FloatArray:
    """Weights near the diagonal, a little different for each seed."""
    random = np.random.default_rng(seed)
    distance = np.arange(rows)[:, None] * columns / rows - np.arange(columns)[None]
    weights = np.exp(-np.abs(distance) * random.uniform(0.5, 2) + random.normal(0, 0.4, (rows, columns)))
    return np.asarray(weights / weights.sum(-1, keepdims=True), np.float32)


def links_of(detail: SentenceDetail) -> tuple[tuple[int, int], ...]:
    """Return links of words of the same place."""
    return tuple((at, at) for at in range(min(len(detail.source_text.split()), len(detail.target_text.split()))))


class GalleryTranslator(DummyTranslator):
    """Writes capitals, or titles into English; a paragraph is a sentence, whose words of the same place are linked."""

    def translation(self, text: str, options: TranslationOptions) -> Translation:
        paragraphs = [paragraph for paragraph in text.split("\n\n") if paragraph.strip()]
        details = [
            detail for each in paragraphs for detail in DummyTranslator.translation(self, each, options).sentences
        ]
        if options.target_prefix is not None:
            return replace(super().translation(text, options), alternatives=self.other_words(text, options))
        linked = tuple(replace(detail, alignment=links_of(detail)) for detail in details)
        return replace(super().translation(text, options), sentences=linked)

    def other_words(self, text: str, options: TranslationOptions) -> tuple[str, ...]:
        """Return translations with other words after the prefix, one of which begins two of them."""
        words, place = self.say(text).split(), len((options.target_prefix or "").split())
        others = [["A"], ["ANY"], ["A", "VERY"], ["SOME"]][: options.alternatives]
        return tuple(" ".join([*words[:place], *other, *words[place + 1 :]]) for other in others)

    async def attention(
        self,
        text: str,
        target_text: str | None,
        options: AttentionOptions,
        *,
        deadline: float | None = None,
        most_weights: int | None = None,
    ) -> AttentionMap:
        found = await super().attention(text, target_text, options, deadline=deadline)
        if self.info.members:
            found = replace(found, model=options.member or self.info.members[0].name, ensemble=self.info.name)
        architecture = found.model.split("-")[0]
        source, target = found.source_tokens, found.target_tokens
        rows, columns = (source, source) if options.kind == "encoder" else (target, source)
        kind = "cross" if options.kind == "occlusion" else options.kind
        size = SIZES[architecture][kind] or {"layers": 1, "heads": 1}
        shape = [size[f"{name}s"] for name in ("layer", "head") if getattr(options, name) == "all"]
        count = int(np.prod(shape))
        seed = 7 if architecture == "transformer" else 70
        weights = np.stack([weights_of(len(rows), len(columns), seed + at) for at in range(count)])
        names = tuple(name for name in ("layer", "head") if getattr(options, name) == "all")
        last = ("source", "source") if options.kind == "encoder" else ("target", "source")
        logprobs = tuple(float(value) for value in -np.random.default_rng(seed).exponential(0.3, len(target)))
        weights = weights.reshape(*shape, len(rows), len(columns))
        if options.kind == "occlusion":
            weights, found = (5 * weights - 0.3)[:, :-1], replace(found, column_tokens=source[:-1])
        return replace(
            found,
            axes=(*names, *last),
            weights=weights,
            scores=scores_of(weights) if options.stage == "scores" else None,
            alignment=tuple((at, at) for at in range(min(len(source), len(target)) - 1)),
            token_logprobs=logprobs,
            token_ranks=tuple(1 + int(-4 * value) for value in logprobs),
        )


def info_of(info: ModelInfo) -> ModelInfo:
    """Return a fake model's description with the digest and the attention section of a real one."""
    digest = "sha256:" + info.name.encode().hex().ljust(64, "0")
    align = {"layer": 0, "head": 0, "step": "produce", "threshold": None, "aer": None, "measured_on": None}
    if info.architecture == "ensemble":
        _, *pair = info.name.split("-")
        members = [f"{architecture}-{'-'.join(pair)}" for architecture in SIZES]
        own = [
            MemberInfo(name, "1", f"sha256:{name}", {**SIZES[name.split("-")[0]], "align": align}) for name in members
        ]
        return replace(info, digest=digest, attention=own[0].attention, members=tuple(own))
    return replace(info, digest=digest, attention={**SIZES[info.architecture], "align": align})


class GalleryRegistry(DummyRegistry):
    """The dummy's models, with layers and heads."""

    def translator(self, info: ModelInfo, on_event: EventListener, seconds: float) -> GalleryTranslator:
        translator = GalleryTranslator(info_of(info), on_event, seconds)
        translator.say = str.title if info.target_language == "en" else str.upper
        return translator


if __name__ == "__main__":
    settings = load_settings()
    configure_logging(settings.log_level)
    registry = GalleryRegistry(names=sys.argv[1:] or (*MODELS, "transformer-fr-en"))
    sys.exit(uvloop.run(serve(service_of(registry, settings))))
