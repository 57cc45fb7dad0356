"""Requests and answers of the Open Inference Protocol: named tensors, here of texts and of numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from service.api.dependencies import TranslatorPort
from service.api.errors import ApiError, invalid
from service.api.extensions.binary_tensors import SIZE, BinaryData, decode_strings, encode_numbers, encode_strings
from service.api.fields import flag, sizes_of
from service.api.rendering import finite
from service.api.routes.translate import check_batch, check_characters, read_search
from service.engine import AttentionOptions, FloatArray, Translation, TranslationOptions
from service.settings import Settings

# What a request that names no outputs gets, and what the metadata lists. `attention` has to be named: it exists for one
# text at a time, and that text is then taken for one sentence.
DEFAULT_OUTPUTS = ("translation", "score")
KNOWN_OUTPUTS = (*DEFAULT_OUTPUTS, "attention")


@dataclass(frozen=True, slots=True)
class Inference:
    """A checked request."""

    id: str | None
    texts: tuple[str, ...]
    target_texts: tuple[str, ...] | None
    outputs: tuple[str, ...]
    options: TranslationOptions
    binary: frozenset[str] = field(default_factory=frozenset)  # the outputs wanted as bytes


@dataclass(frozen=True, slots=True)
class Tensor:
    """One output: texts, or numbers of any shape."""

    name: str
    datatype: Literal["BYTES", "FP32"]
    values: Sequence[str] | FloatArray

    @property
    def shape(self) -> list[int]:
        """Its sizes."""
        return list(self.values.shape) if isinstance(self.values, np.ndarray) else [len(self.values)]

    def as_json(self) -> list[Any]:
        """Its elements, flat, in row-major order."""
        if isinstance(self.values, np.ndarray):
            return [finite(float(value)) for value in self.values.ravel()]
        return list(self.values)

    def as_bytes(self) -> bytes:
        """Return the same as the binary tensor data extension has it."""
        if isinstance(self.values, np.ndarray):
            return encode_numbers(self.values)
        return encode_strings(self.values)


def read_inference(body: Mapping[str, Any], data: BinaryData, settings: Settings) -> Inference:
    """Check a request; raises ApiError (400) for what is wrong first."""
    own_id = body.get("id")
    if own_id is not None and not isinstance(own_id, str):
        raise invalid("id must be a string", param="id")
    parameters = _parameters(body, "the request")
    tensors = _inputs(body.get("inputs"), data)
    data.check_end()
    for given in tensors.values():
        check_batch(given, settings)
        check_characters(given, settings)
    texts, target_texts = tensors["text"], tensors.get("target_text")
    outputs, binary = _outputs(body.get("outputs"), all_binary=flag(parameters, "binary_data_output"))
    if target_texts is not None and len(target_texts) != len(texts):
        raise invalid("target_text must have as many elements as text", param="target_text")
    if "attention" in outputs and len(texts) != 1:
        raise invalid("attention is given for one text at a time", param="outputs")
    return Inference(own_id, texts, target_texts, outputs, TranslationOptions(**read_search(parameters)), binary)


def _parameters(given: Mapping[str, Any], owner: str) -> Mapping[str, Any]:
    parameters = given.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise invalid(f"the parameters of {owner} must be an object", param="parameters")
    return parameters


def _inputs(given: Any, data: BinaryData) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, list) or not all(isinstance(tensor, dict) for tensor in given):
        raise invalid("inputs must be a list of objects", param="inputs")
    found: dict[str, tuple[str, ...]] = {}
    for tensor in given:
        name = tensor.get("name")
        if name not in {"text", "target_text"} or name in found:
            raise invalid(
                "inputs are one tensor called text and, for forced decoding, one called target_text", param="inputs"
            )
        found[name] = _texts(name, tensor, data)
    if "text" not in found:
        raise invalid("the input text is missing", "missing_parameter", "text")
    return found


def _texts(name: str, tensor: Mapping[str, Any], data: BinaryData) -> tuple[str, ...]:
    def wrong(what: str) -> ApiError:
        return invalid(what, param=name)

    if tensor.get("datatype") != "BYTES":
        raise wrong(f"the datatype of {name} must be BYTES")
    shape = sizes_of(tensor.get("shape"))
    if shape is None:
        raise wrong(f"the shape of {name} must be a list of whole numbers")
    size = _parameters(tensor, name).get(SIZE)
    if size is None:
        given = tensor.get("data")
        texts = [given] if isinstance(given, str) else _flat(given)
    elif "data" in tensor:
        raise wrong(f"{name} has both data and {SIZE}; give one of them")
    else:
        texts = decode_strings(name, data.take(name, size))
    if texts is None:
        raise wrong(f"the data of {name} must be strings, in one list or nested as the shape says")
    if len(shape) > 2 or math.prod(shape) != len(texts):
        raise wrong(f"the shape of {name} does not fit its {len(texts)} elements")
    if not texts:
        raise wrong(f"{name} has no elements")
    return tuple(texts)


def _flat(data: Any) -> list[str] | None:
    """Return the strings of a list, or of a list of lists; None for anything else."""
    if not isinstance(data, list):
        return None
    items = [item for part in data for item in part] if data and all(isinstance(part, list) for part in data) else data
    return items if all(isinstance(item, str) for item in items) else None


def _outputs(given: Any, *, all_binary: bool) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the outputs that are wanted, and those of them that are wanted as bytes."""
    if given is None or given == []:
        return DEFAULT_OUTPUTS, frozenset(DEFAULT_OUTPUTS if all_binary else ())
    if not isinstance(given, list) or not all(isinstance(tensor, dict) for tensor in given):
        raise invalid("outputs must be a list of objects", param="outputs")
    names = tuple(tensor.get("name") for tensor in given)
    if not all(name in KNOWN_OUTPUTS for name in names) or len(set(names)) != len(names):
        raise invalid(f"outputs are {', '.join(KNOWN_OUTPUTS)}, each at most once", param="outputs")
    wanted = (_parameters(tensor, str(tensor["name"])) for tensor in given)
    binary = [flag(own, "binary_data") if "binary_data" in own else all_binary for own in wanted]
    return names, frozenset(name for name, is_binary in zip(names, binary, strict=True) if is_binary)


async def infer_with(translator: TranslatorPort, inference: Inference, deadline: float) -> list[Tensor]:
    """Return the output tensors that were asked for, in that order."""
    if inference.target_texts is None and "attention" not in inference.outputs:
        options = replace(inference.options, details="score" in inference.outputs)
        found = await translator.translate(inference.texts, options, deadline=deadline)
        tensors = [Tensor("translation", "BYTES", [translation.text for translation in found])]
        if options.details:
            tensors.append(numbers("score", [_score(translation) for translation in found]))
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
    """Return the body of an answer and, where it has tensors as bytes, the length of the JSON before them."""
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


def _score(translation: Translation) -> float:
    """Return the mean of the sentences' scores, each for as many tokens as it has; 0 where nothing was translated."""
    sizes = [len(sentence.target_tokens) for sentence in translation.sentences]
    scores = (sentence.score for sentence in translation.sentences)
    return sum(score * size for score, size in zip(scores, sizes, strict=True)) / max(sum(sizes), 1)
