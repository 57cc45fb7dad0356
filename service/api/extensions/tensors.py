"""Requests and answers of the Open Inference Protocol: named tensors of texts and of numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from service.api.binary_tensors import SIZE, BinaryData, decode_strings, encode_numbers, encode_strings
from service.api.checks import check_batch, check_characters
from service.api.errors import invalid
from service.api.interface import TranslatorPort
from service.api.rendering import finite
from service.api.schemas.inference_request import InferenceParameters, InferenceRequest, OutputName, RequestedOutput
from service.api.validation import parse
from service.engine import (
    AttentionOptions,
    FloatArray,
    Languages,
    ModelInfo,
    Pair,
    Translation,
    TranslationOptions,
    pairs_of,
)
from service.glossaries.checks import Entries
from service.settings import Settings

# What a request that names no outputs gets, and what the metadata lists. `attention` has to be named: it exists for one
# text at a time, and that text is then taken for one sentence.
DEFAULT_OUTPUTS: tuple[OutputName, ...] = ("translation", "score")


@dataclass(frozen=True, slots=True)
class Inference:
    """A checked request."""

    id: str | None
    texts: tuple[str, ...]
    target_texts: tuple[str, ...] | None
    outputs: tuple[str, ...]
    options: TranslationOptions
    source: str | None = None  # language tags, of a model with several pairs
    target: str | None = None
    binary: frozenset[str] = field(default_factory=frozenset)  # the outputs wanted as bytes
    glossary: str | Entries | None = None  # the name of a glossary, or its entries


@dataclass(frozen=True, slots=True)
class Tensor:
    """One output: texts, or numbers of any shape."""

    name: str
    datatype: Literal["BYTES", "FP32"]
    values: Sequence[str] | FloatArray

    @property
    def shape(self) -> list[int]:
        """Return its sizes."""
        return list(self.values.shape) if isinstance(self.values, np.ndarray) else [len(self.values)]

    def as_json(self) -> list[Any]:
        """Return its elements, flat, in row-major order."""
        if isinstance(self.values, np.ndarray):
            return [finite(float(value)) for value in self.values.ravel()]
        return list(self.values)

    def as_bytes(self) -> bytes:
        """Return its elements in the format of the binary tensor data extension."""
        if isinstance(self.values, np.ndarray):
            return encode_numbers(self.values)
        return encode_strings(self.values)


def read_inference(message: dict[str, Any], data: BinaryData, settings: Settings) -> Inference:
    """Return a checked request; raise ApiError (400) for the first error."""
    inputs = message.get("inputs")
    if isinstance(inputs, list):
        message = {**message, "inputs": [with_data(tensor, data) for tensor in inputs]}
        data.check_end()
    request = parse(InferenceRequest, message)
    for tensor in request.inputs:
        check_batch(tensor.data, settings)
        check_characters(tensor.data, settings)
    parameters = request.parameters or InferenceParameters()
    wanted = request.outputs or [RequestedOutput(name=name) for name in DEFAULT_OUTPUTS]
    options = TranslationOptions(
        beam_size=parameters.beam_size,
        length_penalty=parameters.length_penalty,
        max_length=parameters.max_length,
        repetition_guard=parameters.repetition_guard,
        values=parameters.values or settings.values,
        min_quality=parameters.min_quality,
        keep_source=parameters.below_min_quality == "keep_source",
    )
    return Inference(
        id=request.id,
        texts=tuple(request.texts),
        target_texts=None if request.target_texts is None else tuple(request.target_texts),
        outputs=tuple(output.name for output in wanted),
        options=options,
        source=parameters.source,
        target=parameters.target,
        glossary=parameters.glossary,
        binary=frozenset(output.name for output in wanted if output.is_binary(parameters.binary_data_output)),
    )


def pair_of(inference: Inference, info: ModelInfo) -> Pair:
    """Return the pair of a model that a request means; raise ApiError (400) if the model does not have it.

    The target of a model with several has to be named: the first one would be a translation that nobody asked for.
    """
    if inference.target is None and len(info.targets) > 1:
        raise invalid(
            f"{info.name} translates into {', '.join(info.targets)}; name one of them in the parameter target",
            "missing_parameter",
            "target",
        )
    source, target = inference.source or info.source_language, inference.target or info.target_language
    known = Languages.of([info])
    pair = known.pair(source, target)
    if pair is None or pair[0] == pair[1]:
        wrong = "source" if known.match(source) is None else "target"
        pairs = ", ".join(f"{source} to {target}" for source, target in pairs_of(info))
        raise invalid(f"{info.name} translates {pairs}; choose one of these pairs", "unsupported_pair", wrong)
    return pair


def with_data(tensor: Any, data: BinaryData) -> Any:
    """Return a tensor with its strings among its fields, also where they follow the JSON as bytes; raise ApiError."""
    if not isinstance(tensor, dict) or tensor.get("name") not in ("text", "target_text"):
        return tensor  # validation refuses it
    name = tensor["name"]
    parameters = tensor.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise invalid(f"the parameters of {name} must be an object", param="parameters")
    size = parameters.get(SIZE)
    if size is None:
        return tensor
    if "data" in tensor:
        raise invalid(f"{name} has both data and {SIZE}; give one of them", param=name)
    return {**tensor, "data": decode_strings(name, data.take(name, size))}


async def infer_with(translator: TranslatorPort, inference: Inference, deadline: float) -> list[Tensor]:
    """Return the requested output tensors, in that order; raise ApiError if the model gives no quality."""
    if "quality" in inference.outputs and translator.info.confidence is None:
        raise invalid(f"{translator.info.name} gives no quality; leave the output out", "unsupported_output", "outputs")
    if inference.target_texts is None and "attention" not in inference.outputs:
        options = replace(inference.options, details="score" in inference.outputs)
        found = await translator.translate(inference.texts, options, deadline=deadline)
        tensors = [Tensor("translation", "BYTES", [translation.text for translation in found])]
        if options.details:
            tensors.append(numbers("score", [_score(translation) for translation in found]))
        if "quality" in inference.outputs:
            tensors.append(numbers("quality", [_quality(translation) for translation in found]))
    elif inference.target_texts is not None and "attention" not in inference.outputs:
        pairs = list(zip(inference.texts, inference.target_texts, strict=True))
        scored = await translator.score_batch(pairs, inference.options.length_penalty, deadline=deadline)
        tensors = [
            Tensor("translation", "BYTES", inference.target_texts),
            numbers("score", [one.score for one in scored]),
        ]
    else:
        target = None if inference.target_texts is None else inference.target_texts[0]
        view = AttentionOptions(translation=inference.options)
        one = await translator.attention(inference.texts[0], target, view, deadline=deadline)
        tensors = [
            Tensor("translation", "BYTES", [one.target_text]),
            numbers("score", [one.score]),
            Tensor("attention", "FP32", one.weights),
        ]
    by_name = {tensor.name: tensor for tensor in tensors}
    return [by_name[name] for name in inference.outputs]


def numbers(name: str, values: Sequence[float]) -> Tensor:
    """Return a tensor of numbers."""
    return Tensor(name, "FP32", np.array([finite(value) for value in values], dtype=np.float32))


def render(head: Mapping[str, Any], tensors: Sequence[Tensor], binary: frozenset[str]) -> tuple[bytes, int | None]:
    """Return the body of an answer and, if it has tensors as bytes, the length of the JSON before them."""
    described, behind = [], []
    for tensor in tensors:
        entry: dict[str, Any] = {"name": tensor.name, "shape": tensor.shape, "datatype": tensor.datatype}
        if tensor.name in binary:
            behind.append(tensor.as_bytes())
            entry["parameters"] = {SIZE: len(behind[-1])}
        else:
            entry["data"] = tensor.as_json()
        described.append(entry)
    text = json.dumps({**head, "outputs": described}, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join([text, *behind]), len(text) if behind else None


def _quality(translation: Translation) -> float:
    """Return the quality of a text; 1 if there was nothing to translate."""
    return 1.0 if translation.quality is None else translation.quality


def _score(translation: Translation) -> float:
    """Return the mean of the sentences' scores, weighted by their tokens; 0 if nothing was translated."""
    sizes = [len(sentence.target_tokens) for sentence in translation.sentences]
    scores = (sentence.score for sentence in translation.sentences)
    return sum(score * size for score, size in zip(scores, sizes, strict=True)) / max(sum(sizes), 1)
