"""Requests and answers of the Open Inference Protocol: named tensors, here of texts and of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from service.api.errors import invalid
from service.api.fields import as_whole
from service.api.ports import TranslatorPort
from service.api.render import finite
from service.api.translate import check_characters, read_search
from service.engine.types import AttentionOptions, Translation, TranslationOptions
from service.settings import Settings

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


def read_inference(body: Mapping[str, Any], settings: Settings) -> Inference:
    """Check a request; raises ApiError (400) for what is wrong first."""
    own_id = body.get("id")
    if own_id is not None and not isinstance(own_id, str):
        raise invalid("id must be a string")
    parameters = body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise invalid("parameters must be an object")
    tensors = _inputs(body.get("inputs"), settings.batch_limit)
    texts, target_texts = tensors["text"], tensors.get("target_text")
    outputs = _outputs(body.get("outputs"))
    if target_texts is not None and len(target_texts) != len(texts):
        raise invalid("target_text must have as many elements as text")
    if "attention" in outputs and len(texts) != 1:
        raise invalid("attention is given for one text at a time")
    check_characters(sum(map(len, texts + (target_texts or ()))), settings)
    return Inference(own_id, texts, target_texts, outputs, TranslationOptions(**read_search(parameters)))


def _inputs(given: Any, limit: int) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, list) or not all(isinstance(tensor, dict) for tensor in given):
        raise invalid("inputs must be a list of objects")
    found: dict[str, tuple[str, ...]] = {}
    for tensor in given:
        name = tensor.get("name")
        if name not in {"text", "target_text"} or name in found:
            raise invalid("inputs are one tensor called text and, for forced decoding, one called target_text")
        found[name] = _texts(name, tensor, limit)
    if "text" not in found:
        raise invalid("the input text is missing", "missing_parameter")
    return found


def _texts(name: str, tensor: Mapping[str, Any], limit: int) -> tuple[str, ...]:
    if tensor.get("datatype") != "BYTES":
        raise invalid(f"the datatype of {name} must be BYTES")
    shape = _sizes(tensor.get("shape"))
    if shape is None:
        raise invalid(f"the shape of {name} must be a list of whole numbers")
    data = tensor.get("data")
    texts = [data] if isinstance(data, str) else _flat(data)
    if texts is None:
        raise invalid(f"the data of {name} must be strings, in one list or nested as the shape says")
    if len(shape) > 2 or math.prod(shape) != len(texts):
        raise invalid(f"the shape of {name} does not fit its {len(texts)} elements")
    if not texts:
        raise invalid(f"{name} has no elements")
    if len(texts) > limit:
        raise invalid(f"request ({len(texts)}) exceeds text limit ({limit})", "batch_limit")
    return tuple(texts)


def _sizes(shape: Any) -> list[int] | None:
    """The sizes of a tensor's axes; None for anything that is no shape."""
    if not isinstance(shape, list) or any(isinstance(size, str) for size in shape):
        return None
    sizes = [size for size in map(as_whole, shape) if size is not None and 0 <= size <= 2**31]
    return sizes if len(sizes) == len(shape) else None


def _flat(data: Any) -> list[str] | None:
    """The strings of a list, or of a list of lists; None for anything else."""
    if not isinstance(data, list):
        return None
    items = [item for part in data for item in part] if data and all(isinstance(part, list) for part in data) else data
    return items if all(isinstance(item, str) for item in items) else None


def _outputs(given: Any) -> tuple[str, ...]:
    if given is None or given == []:
        return DEFAULT_OUTPUTS
    if not isinstance(given, list):
        raise invalid("outputs must be a list of objects")
    names = tuple(tensor.get("name") if isinstance(tensor, dict) else None for tensor in given)
    if not all(name in KNOWN_OUTPUTS for name in names) or len(set(names)) != len(names):
        raise invalid(f"outputs are {', '.join(KNOWN_OUTPUTS)}, each at most once")
    return tuple(str(name) for name in names)


async def infer_with(translator: TranslatorPort, inference: Inference, deadline: float) -> list[dict[str, Any]]:
    """The output tensors that were asked for, in that order."""
    if inference.target_texts is None and "attention" not in inference.outputs:
        options = replace(inference.options, details="score" in inference.outputs)
        found = await translator.translate(inference.texts, options, deadline=deadline)
        tensors = {"translation": strings([translation.text for translation in found])}
        if options.details:
            tensors["score"] = numbers([_score(translation) for translation in found])
        return [{"name": name, **tensors[name]} for name in inference.outputs]
    if inference.target_texts is not None and "attention" not in inference.outputs:
        pairs = list(zip(inference.texts, inference.target_texts, strict=True))
        scores = await translator.force(pairs, inference.options.length_penalty, deadline=deadline)
        tensors = {
            "translation": strings(inference.target_texts),
            "score": numbers([one.score for one in scores]),
        }
        return [{"name": name, **tensors[name]} for name in inference.outputs]
    target = None if inference.target_texts is None else inference.target_texts[0]
    view = AttentionOptions(translation=inference.options)
    found_map = await translator.attention(inference.texts[0], target, view, deadline=deadline)
    weights = found_map.weights
    tensors = {
        "translation": strings([found_map.target_text]),
        "score": numbers([found_map.score]),
        "attention": {
            "shape": list(weights.shape),
            "datatype": "FP32",
            "data": [finite(float(value)) for value in weights.ravel()],
        },
    }
    return [{"name": name, **tensors[name]} for name in inference.outputs]


def strings(values: Sequence[str]) -> dict[str, Any]:
    """A tensor of texts."""
    return {"shape": [len(values)], "datatype": "BYTES", "data": list(values)}


def numbers(values: Sequence[float]) -> dict[str, Any]:
    """A tensor of numbers."""
    return {"shape": [len(values)], "datatype": "FP32", "data": [finite(value) for value in values]}


def _score(translation: Translation) -> float:
    """The mean of the sentences' scores, each for as many tokens as it has; 0 where nothing was translated."""
    sizes = [len(sentence.target_tokens) for sentence in translation.sentences]
    scores = (sentence.score for sentence in translation.sentences)
    return sum(score * size for score, size in zip(scores, sizes, strict=True)) / max(sum(sizes), 1)
