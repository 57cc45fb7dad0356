"""Reads CTranslate2's ``model.bin`` (``ctranslate2/specs/model_spec.py``, ``_serialize``), and converts its tensors."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from training.export.parameters import StateArrays
from training.imports.files import ImportRefused
from training.imports.tensors import Array, TensorReader
from training.imports.vocabulary import Vocabulary
from training.recipe import TransformerConfig

NEWEST = 6
"""The newest version of the file format that is known."""
_TYPES: tuple[type[np.generic], ...] = (np.float32, np.int8, np.int16, np.int32, np.float16, np.uint16)
_BFLOAT16 = 5


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The content of a ``model.bin``."""

    specification: str
    """The network's kind, such as ``TransformerSpec``."""
    weights: dict[str, npt.NDArray[np.float32]]
    """By name, as float32; aliases are entries of their own."""
    options: dict[str, float]
    """Single numbers, such as ``encoder/num_heads``; ``scale_embeddings`` is the factor, however it is stored."""


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
    if not 2 <= version <= NEWEST:
        raise ImportRefused(f"{path}: it has version {version} of CTranslate2's format; 2 to {NEWEST} can be imported")
    specification = _text(file)
    _number(file, "I")  # the revision of the specification: what matters of it shows in the names
    stored = dict(_variable(file) for _ in range(_number(file, "I")))
    aliases = {_text(file): _text(file) for _ in range(_number(file, "I"))} if version >= 3 else {}
    if file.read(1):
        raise ImportRefused(f"{path}: there is more in it than it says, so it is damaged")
    weights = {name: _as_float(name, stored, path) for name, array in stored.items() if _is_weight(name, array)}
    options = {
        name: _option(name, array, stored)
        for name, array in stored.items()
        if array.ndim == 0 and not name.endswith("_scale")
    }
    weights |= {alias: weights[name] for alias, name in aliases.items() if name in weights}
    return ModelFile(specification, weights, options)


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


def _variable(file: BinaryIO) -> tuple[str, npt.NDArray[Any]]:
    name = _text(file)
    shape = [_number(file, "I") for _ in range(_number(file, "B"))]
    kind = _number(file, "B")
    data = file.read(size := _number(file, "I"))
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


def ctranslate2_state(
    file: ModelFile, network: TransformerConfig, vocabularies: tuple[Vocabulary, Vocabulary], where: Path
) -> StateArrays:
    """Return our state dict; raises ImportRefused if a tensor is missing or left over."""
    kept = {name: array for name, array in file.weights.items() if "position_encodings" not in name}
    reader, state = TensorReader(kept, str(where)), StateArrays()
    for side, layers in (("encoder", network.encoder_layers), ("decoder", network.decoder_layers)):
        for i in range(layers):
            _layer(state, reader, side, i, network.width)
        if network.norm == "pre":
            _norm(state, f"{side}_norm", reader, f"{side}/layer_norm")
    tables = ("decoder/embeddings/weight", "decoder/projection/weight")
    encoders = ("encoder/embeddings_0/weight", "encoder/embeddings/weight")
    if network.share_embeddings:
        table = reader.table(*tables, *encoders)
    else:
        table = reader.table(*tables)
        state["source_embedding.weight"] = _with_zeros(reader.table(*encoders))[vocabularies[0].rows]
    state["embedding.weight"] = _with_zeros(table)[vocabularies[1].rows]
    bias = reader.optional("decoder/projection/bias")
    whole = np.zeros(len(table), np.float32) if bias is None else bias
    state["output_bias"] = np.append(whole, np.float32(0))[vocabularies[1].rows]
    reader.refuse_rest()
    return state


def _with_zeros(table: Array) -> Array:
    return np.concatenate([table, np.zeros((1, table.shape[1]), np.float32)])


def _layer(state: StateArrays, reader: TensorReader, side: str, number: int, width: int) -> None:
    ours, theirs = f"{side}.{number}", f"{side}/layer_{number}"
    joined = _linear(reader, f"{theirs}/self_attention/linear_0")
    for part, rows in (("query", slice(0, width)), ("key_value", slice(width, None))):
        for kind, array in joined.items():
            state[f"{ours}.attention.{part}.{kind}"] = array[rows]
    _put(state, f"{ours}.attention.output", _linear(reader, f"{theirs}/self_attention/linear_1"))
    _norm(state, f"{ours}.attention_frame.norm", reader, f"{theirs}/self_attention/layer_norm")
    if side == "decoder":
        for part, place in (("query", 0), ("key_value", 1), ("output", 2)):
            _put(state, f"{ours}.cross.{part}", _linear(reader, f"{theirs}/attention/linear_{place}"))
        _norm(state, f"{ours}.cross_frame.norm", reader, f"{theirs}/attention/layer_norm")
    _put(state, f"{ours}.feed_forward.inner", _linear(reader, f"{theirs}/ffn/linear_0"))
    _put(state, f"{ours}.feed_forward.outer", _linear(reader, f"{theirs}/ffn/linear_1"))
    _norm(state, f"{ours}.feed_forward_frame.norm", reader, f"{theirs}/ffn/layer_norm")


def _linear(reader: TensorReader, name: str) -> dict[str, Array]:
    """Return weight and bias; zeros where the model has no bias."""
    weight, bias = reader.take(f"{name}/weight"), reader.optional(f"{name}/bias")
    return {"weight": weight, "bias": np.zeros(len(weight), np.float32) if bias is None else bias}


def _put(state: StateArrays, name: str, arrays: Mapping[str, Array]) -> None:
    for kind, array in arrays.items():
        state[f"{name}.{kind}"] = array


def _norm(state: StateArrays, to: str, reader: TensorReader, name: str) -> None:
    state[f"{to}.weight"], state[f"{to}.bias"] = reader.take(f"{name}/gamma"), reader.take(f"{name}/beta")
