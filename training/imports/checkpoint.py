"""Reads a checkpoint's tensors: safetensors or PyTorch's own format, weights only."""

import json
import pickle
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from training.export.parameters import StateArrays
from training.imports.files import ImportRefused

SAFETENSORS, SAFETENSORS_INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
FILES = (SAFETENSORS, SAFETENSORS_INDEX, PICKLE)
"""The first existing one is read."""


def read_checkpoint(folder: Path) -> tuple[Path, StateArrays]:
    """Return the file that was read and its tensors as float32, by name.

    Only tensors are unpickled. Raises ImportRefused for a folder without a checkpoint, and for a file that is cut off
    or would run code.
    """
    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if path is None:
        raise ImportRefused(f"{folder}: there is no checkpoint; {SAFETENSORS} or {PICKLE} is needed")
    tensors = _read_pickle(path) if path.name == PICKLE else _read_safetensors(path)
    if not tensors:
        raise ImportRefused(f"{path}: it holds no tensors")
    wrong = next((name for name, tensor in tensors.items() if not tensor.is_floating_point()), None)
    if wrong is not None and not wrong.endswith("position_ids"):
        raise ImportRefused(f"{path}: {wrong} holds {tensors[wrong].dtype}; floating-point weights can be imported")
    return path, {name: tensor.float().numpy() for name, tensor in tensors.items()}


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        if path.name != SAFETENSORS_INDEX:
            return load_file(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        shards = sorted(set(content["weight_map"].values()))
        if any(Path(shard).name != shard for shard in shards):
            raise ImportRefused(f"{path}: it names files outside its folder")
        return {name: tensor for shard in shards for name, tensor in load_file(path.with_name(shard)).items()}
    except (SafetensorError, OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ImportRefused(f"{path}: it cannot be read as safetensors, or is cut off ({error})") from error


def _read_pickle(path: Path) -> dict[str, Tensor]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ImportRefused(
            f"{path}: it is no PyTorch checkpoint of weights alone, or it is cut off ({reason})"
        ) from error
    if not isinstance(content, dict) or not all(isinstance(tensor, Tensor) for tensor in content.values()):
        raise ImportRefused(f"{path}: a dictionary of tensors is needed")
    return content
