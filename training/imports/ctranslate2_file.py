"""Reads CTranslate2's ``model.bin`` (``ctranslate2/specs/model_spec.py``, ``_serialize``), and converts its tensors."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from training.export.parameters import StateArrays
from training.imports.files import ImportRefused
from training.imports.tensors import BlockNames, Rows, TensorReader, layers_of, put_embeddings, put_norm
from training.recipe import TransformerConfig

NEWEST = 6
"""The newest version of the file format that is known."""
_TYPES: tuple[type[np.generic], ...] = (np.float32, np.int8, np.int16, np.int32, np.float16, np.uint16)
_BFLOAT16 = 5
_BY_SIZE = {1: 1, 2: 2, 4: 0}
"""The type of an item of so many bytes, in files before version 4."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The content of a ``model.bin``."""

    specification: str
    """The network's kind, such as ``TransformerSpec``."""
    weights: dict[str, npt.NDArray[np.float32]]
    """By name, as float32; aliases are entries of their own."""
    options: dict[str, float]
    """Single numbers, such as ``encoder/num_heads``; ``scale_embeddings`` is the factor, however it is stored."""
    config: dict[str, Any]
    """What stands in ``config.json`` since CTranslate2 3.0: special tokens, and which of them are added."""


def read_model_file(path: Path) -> ModelFile:
    """Read a ``model.bin``; raises ImportRefused for what is none, is newer, or is cut off."""
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except FileNotFoundError as error:
        raise ImportRefused(f"{path}: there is no such file; a folder that CTranslate2 converted is needed") from error
    except (struct.error, UnicodeDecodeError, ValueError, IndexError, KeyError, MemoryError, OverflowError) as error:
        if isinstance(error, ImportRefused):
            raise
        raise ImportRefused(f"{path}: it is no CTranslate2 model, or it is cut off") from error


def _read(file: BinaryIO, path: Path) -> ModelFile:
    version = _number(file, "I")
    if not 1 <= version <= NEWEST:
        raise ImportRefused(f"{path}: it has version {version} of CTranslate2's format; 1 to {NEWEST} can be imported")
    specification = _text(file) if version >= 2 else "TransformerBase"
    if version >= 2:
        _number(file, "I")  # the revision of the specification: what matters of it shows in the names
    stored = dict(_variable(file, version) for _ in range(_number(file, "I")))
    aliases = {_text(file): _text(file) for _ in range(_number(file, "I"))} if version >= 3 else {}
    for alias, name in aliases.items():
        stored |= {f"{alias}{part}": stored[f"{name}{part}"] for part in ("", "_scale") if f"{name}{part}" in stored}
    if file.read(1):
        raise ImportRefused(f"{path}: there is more in it than it says, so it is damaged")
    stored, config = _of_today(stored)
    if specification in _HEADS:
        stored = {f"{side}/num_heads": np.array(_HEADS[specification]) for side in _SIDES} | stored
        specification = "TransformerSpec"
    weights = {name: _as_float(name, stored, path) for name, array in stored.items() if _is_weight(name, array)}
    options = {
        name: _option(name, array, stored)
        for name, array in stored.items()
        if array.ndim == 0 and not name.endswith("_scale")
    }
    return ModelFile(specification, weights, options, config)


_SIDES = ("encoder", "decoder")
_HEADS = {"TransformerBase": 8, "TransformerBig": 16}
"""Of the oldest files, whose specification says it all."""
_OF_DECODER = ("alignment_layer", "alignment_heads")
_OF_BOTH = ("num_heads", "pre_norm", "activation", "with_relative_position", "layernorm_embedding")
_FLAGS = {"with_source_bos": "add_source_bos", "with_source_eos": "add_source_eos"}
_TOKENS = ("bos_token", "eos_token", "unk_token")


def _of_today(stored: dict[str, npt.NDArray[Any]]) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Return the variables by the names that CTranslate2 has used since 3.0, and what it has in ``config.json``."""
    kept: dict[str, npt.NDArray[Any]] = {}
    config: dict[str, Any] = {}
    for name, array in stored.items():
        first, _, last = name.rpartition("/")
        if name in _FLAGS:
            config[_FLAGS[name]] = bool(array)
        elif name in _TOKENS:
            config[name] = array.astype(np.uint8).tobytes().decode("utf-8")
        elif name == "with_target_bos":
            config |= {} if array else {"decoder_start_token": None}
        elif name == "user_decoder_start_tokens":
            config |= {"decoder_start_token": None} if array else {}
        elif name in _OF_BOTH:
            kept |= {f"{side}/{name}": array for side in _SIDES}
        elif name in _OF_DECODER or name == "embeddings_merge":
            kept[f"{'decoder' if name in _OF_DECODER else 'encoder'}/{name}"] = array
        elif last == "multiply_by_sqrt_depth":
            kept[f"{first.partition('/')[0]}/scale_embeddings"] = array.astype(np.int8)
        else:
            kept[name.replace("encoder/embeddings/", "encoder/embeddings_0/")] = array
    return kept, config


def _option(name: str, array: npt.NDArray[Any], stored: dict[str, npt.NDArray[Any]]) -> float:
    if not name.endswith("/scale_embeddings") or array.dtype.kind == "f":
        return float(array)
    width = stored["decoder/embeddings/weight"].shape[1]  # a truth value says whether the root of the width is meant
    return float(width**0.5) if array else 1.0


def _is_weight(name: str, array: npt.NDArray[Any]) -> bool:
    return array.ndim > 0 and not name.endswith("weight_scale")


def _as_float(name: str, stored: dict[str, npt.NDArray[Any]], path: Path) -> npt.NDArray[np.float32]:
    """Return a weight; eight- and sixteen-bit integers are divided by their scale, one for a row or one for all."""
    array = stored[name]
    if array.dtype.kind != "i":
        return array.astype(np.float32)
    scale = stored.get(f"{name}_scale")
    if scale is None:
        raise ImportRefused(
            f"{path}: {name} holds {array.dtype} without a scale; float, int8 and int16 weights can be imported"
        )
    divisor = scale.astype(np.float32).reshape(-1, *([1] * (array.ndim - 1)) if scale.ndim else ())
    result: npt.NDArray[np.float32] = array.astype(np.float32) / divisor
    return result


def _variable(file: BinaryIO, version: int) -> tuple[str, npt.NDArray[Any]]:
    name = _text(file)
    shape = [_number(file, "I") for _ in range(_number(file, "B"))]
    kind, size = _number(file, "B"), _number(file, "I")
    if version < 4:  # the size of an item and their number, in the place of the type and the bytes
        kind, size = _BY_SIZE[kind], kind * size
    data = file.read(size)
    if len(data) != size:
        raise ValueError("cut off")
    array = np.frombuffer(data, _TYPES[kind])
    if kind == _BFLOAT16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return name, array.reshape(shape)


def _number(file: BinaryIO, code: str) -> int:
    size = struct.calcsize(f"<{code}")
    value: int = struct.unpack(f"<{code}", file.read(size))[0]
    return value


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "H"))[:-1].decode("utf-8")


def ctranslate2_state(file: ModelFile, network: TransformerConfig, rows: Rows, where: Path) -> StateArrays:
    """Return our state dict; raises ImportRefused if a tensor is missing or left over."""
    kept = {name: array for name, array in file.weights.items() if "position_encodings" not in name}
    for name in [query for query in kept if "/self_attention/linear_0/" in query]:  # query, key and value in one
        joined = kept.pop(name)
        for part, place in (("query", slice(0, network.width)), ("key_value", slice(network.width, None))):
            kept[name.replace("linear_0", part)] = joined[place]
    reader = _Tensors(kept, where)
    state = layers_of(network, reader, _names)
    if network.norm == "pre":
        for side in ("encoder", "decoder"):
            put_norm(state, f"{side}_norm", reader, f"{side}/layer_norm/{{}}", network.width)
    source, target = ["encoder/embeddings_0/weight"], ["decoder/embeddings/weight"]
    output = ["decoder/projection/weight"]
    if not network.tie_output:
        tables = [output, source, target]
    else:
        tables = [[*target, *output, *source]] if network.share_embeddings else [[*target, *output], source]
    put_embeddings(state, network.width, rows, reader, tables, "decoder/projection/bias")
    reader.refuse_rest()
    return state


class _Tensors(TensorReader):
    norm_parts, biases_are_optional = ("gamma", "beta"), True


def _names(side: str, number: int, block: str) -> BlockNames:
    layer = f"{side}/layer_{number}"
    if block == "feed_forward":
        name, parts = f"{layer}/ffn", {"inner": "linear_0", "outer": "linear_1"}
    elif block == "attention":
        name = f"{layer}/self_attention"
        parts = {"query": "query", "key_value": "key_value", "output": "linear_1"}
    else:
        name, parts = f"{layer}/attention", {"query": "linear_0", "key_value": "linear_1", "output": "linear_2"}
    return BlockNames({ours: [f"{name}/{layer}/{{}}"] for ours, layer in parts.items()}, f"{name}/layer_norm/{{}}")
