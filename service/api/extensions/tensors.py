"""Requests and answers of the Open Inference Protocol: named tensors of texts and of numbers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic_core import to_json

from service.answers.answer import finite
from service.api.errors import invalid
from service.api.request_body import SIZE, Tensor, as_bytes
from service.api.schemas.inference import InferenceParameters, InferenceRequest
from service.engine import (
    AttentionOptions,
    FloatArray,
    Languages,
    ModelInfo,
    Pair,
    Translates,
    Translation,
    TranslationOptions,
    pairs_of,
)


def pair_of(parameters: InferenceParameters, info: ModelInfo) -> Pair:
    """Return the pair of a model that a request means; raise ApiError (400) if the model does not have it.

    The target of a model with several has to be named: the first one would be a translation that nobody asked for.
    """
    if parameters.target is None and len(info.targets) > 1:
        raise invalid(
            f"{info.name} translates into {', '.join(info.targets)}; name one of them in the parameter target",
            "missing_parameter",
            "target",
        )
    source, target = parameters.source or info.source_language, parameters.target or info.target_language
    languages = Languages.of([info])
    pair = languages.pair(source, target)
    if pair is None or pair[0] == pair[1]:
        wrong = "source" if languages.match(source) is None else "target"
        pairs = ", ".join(f"{source} to {target}" for source, target in pairs_of(info))
        raise invalid(f"{info.name} translates {pairs}; choose one of these pairs", "unsupported_pair", wrong)
    return pair


async def infer_with(
    translator: Translates, request: InferenceRequest, options: TranslationOptions, deadline: float
) -> dict[str, Tensor]:
    """Return the requested outputs, in that order."""
    names, texts, targets = request.wanted, request.texts, request.target_texts
    tensors: dict[str, Tensor]
    if "attention" in names:
        view = AttentionOptions(translation=options)
        one = await translator.attention(texts[0], targets[0] if targets else None, view, deadline=deadline)
        tensors = {"translation": [one.target_text], "score": numbers([one.score]), "attention": one.weights}
    elif targets is not None:
        pairs = list(zip(texts, targets, strict=True))
        scored = await translator.score_batch(pairs, options.length_penalty, deadline=deadline)
        tensors = {"translation": targets, "score": numbers([one.score for one in scored])}
    else:
        options = replace(options, details="score" in names)
        translations = await translator.translate(texts, options, deadline=deadline)
        tensors = {
            "translation": [translation.text for translation in translations],
            "score": numbers([_score(translation) for translation in translations]),
        }
    return {name: tensors[name] for name in names}


def numbers(values: Sequence[float]) -> FloatArray:
    """Return a tensor of numbers."""
    return np.array([finite(value) for value in values], dtype=np.float32)


def render(head: Mapping[str, Any], tensors: Mapping[str, Tensor], binary: Collection[str]) -> tuple[bytes, int | None]:
    """Return the body of an answer and, if it has tensors as bytes, the length of the JSON before them."""
    described, behind = [], []
    for name, values in tensors.items():
        entry: dict[str, Any] = {"name": name, "shape": [len(values)], "datatype": "BYTES"}
        if isinstance(values, np.ndarray):
            entry |= {"shape": [*values.shape], "datatype": "FP32"}
        if name in binary:
            behind.append(as_bytes(values))
            entry["parameters"] = {SIZE: len(behind[-1])}
        elif isinstance(values, np.ndarray):
            entry["data"] = [finite(float(value)) for value in values.ravel()]
        else:
            entry["data"] = values
        described.append(entry)
    text = to_json({**head, "outputs": described})
    return b"".join([text, *behind]), len(text) if behind else None


def _score(translation: Translation) -> float:
    """Return the mean of the sentences' scores, weighted by their tokens; 0 if nothing was translated."""
    sizes = [len(sentence.target_tokens) for sentence in translation.sentences]
    scores = (sentence.score for sentence in translation.sentences)
    return sum(score * size for score, size in zip(scores, sizes, strict=True)) / max(sum(sizes), 1)
