"""Reads a bundle's weights back into the network, for warm starts without checkpoints and for comparisons."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import torch
import yaml
from onnx import TensorProto, helper
from torch import Tensor

from service.bundle.manifest import MANIFEST_NAME
from training.export.graphs.architecture import NetworkConfig
from training.export.layouts import layout_of
from training.export.parameters import OUTPUT_BIAS, SCORED_BIAS, Matrix, Parameters
from training.recipe import Recipe, parse_recipe, transformer_config

Arrays = dict[str, npt.NDArray[Any]]
_ONE = np.ones(1, np.float32)
_AXES = {"rows": 0, "scale": 1, "bias": 1}
"""The axis of a matrix along which an array lies that a graph does not use but notes."""


class BundleReadError(ValueError):
    """A folder cannot be read back; the message has the reason."""


def read_recipe(folder: Path) -> Recipe:
    """Return the recipe that a bundle's card records."""
    try:
        manifest = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
        content = yaml.safe_load(manifest["card"]["recipe"])
    except FileNotFoundError as error:
        raise BundleReadError(f"{folder} has no {MANIFEST_NAME}, so it is not a bundle") from error
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise BundleReadError(f"{folder}/{MANIFEST_NAME} has no recipe: {error}") from error
    return parse_recipe(content, f"the recipe in {folder}/{MANIFEST_NAME}")


def read_network(folder: Path) -> NetworkConfig:
    """Return the network that a bundle's card records, for an imported bundle, too. Raises BundleReadError."""
    imported = imported_card(folder)
    if imported is None:
        return read_recipe(folder).network
    settings = {key: value for key, value in imported["network"].items() if key != "kind"}
    return transformer_config(settings, f"the network in {folder}/{MANIFEST_NAME}")


def imported_card(folder: Path) -> dict[str, Any] | None:
    """Return what the card of a bundle says of its import; None for a bundle that was trained here, or no bundle."""
    path = folder / MANIFEST_NAME
    if not path.is_file():
        return None
    imported = json.loads(path.read_text(encoding="utf-8"))["card"].get("imported")
    return imported if isinstance(imported, dict) else None


def dequantise_bundle(folder: Path) -> dict[str, Tensor]:
    """Return a state dict for the network of the bundle's card, float32, from its int8 (else fp32) weights.

    The output biases of tokens that are never produced become zero. Raises BundleReadError.
    """
    layout = layout_of(read_network(folder))
    graphs = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))["graphs"]
    arrays = _stored_arrays(folder / graphs["int8" if "int8" in graphs else next(iter(graphs))]["forced"])
    arrays.setdefault(OUTPUT_BIAS, arrays.get(SCORED_BIAS, _ONE))
    parameters = Parameters()
    for name in layout.matrices:
        weight = arrays[f"{name}.weight"] * arrays.get(f"{name}.scale", _ONE)
        weight = weight * arrays.get(f"{name}.rows", _ONE)[:, None]
        parameters.matrices[name] = Matrix(weight.astype(np.float32), arrays.get(f"{name}.bias"))
    for name in set(layout.tables.values()):
        table = arrays[f"{name}.weight"] * arrays.get(f"{name}.scale", _ONE)[:, None]
        parameters.tables[name] = table.astype(np.float32)
    parameters.vectors = {name: arrays[name] for name in (*layout.vectors, OUTPUT_BIAS)}
    state = layout.state(parameters)
    return {name: torch.from_numpy(np.array(array, np.float32)) for name, array in state.items()}


def _stored_arrays(path: Path) -> Arrays:
    """Return all arrays of a graph that are in the weights file."""
    model = onnx.load_model(str(path), load_external_data=False)
    result: Arrays = {}
    file = path
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            place = {entry.key: entry.value for entry in tensor.external_data}
            dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
            file = path.parent / place["location"]
            result[tensor.name] = _read(file, dtype, tuple(tensor.dims), int(place["offset"]))
    for note in model.metadata_props:
        stem, _, part = note.key.rpartition(".")
        if part in _AXES:
            size = result[f"{stem}.weight"].shape[_AXES[part]]
            result[note.key] = _read(file, np.dtype(np.float32), (size,), int(note.value))
    return result


def _read(file: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> npt.NDArray[Any]:
    return np.fromfile(file, dtype, int(np.prod(shape)), offset=offset).reshape(shape)
