"""The weights file: every array once, at an aligned offset, read by all graphs as ONNX external data."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

_ALIGNMENT = 64


class WeightStore:
    """Arrays by name, one after the other in the order in which they are added."""

    def __init__(self, location: str) -> None:
        self.location = location
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._offsets: dict[str, int] = {}
        self._same: dict[tuple[str, tuple[int, ...], str], str] = {}
        self._end = 0

    def add(self, name: str, array: npt.NDArray[Any]) -> None:
        """Store an array; an array that equals an earlier one takes no additional space."""
        assert name not in self._arrays, f"{name} is stored already"
        array = np.ascontiguousarray(array)
        key = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).hexdigest())
        twin = self._same.setdefault(key, name)
        self._arrays[name] = array
        if twin != name:
            self._offsets[name] = self._offsets[twin]
            return
        self._offsets[name] = self._end
        self._end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._arrays[name]

    def reference(self, name: str) -> TensorProto:
        """Return an initialiser that points into the file."""
        array = self._arrays[name]
        tensor = TensorProto(name=name, dims=array.shape, data_type=helper.np_dtype_to_tensor_dtype(array.dtype))
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", self.location), ("offset", self._offsets[name]), ("length", array.nbytes)):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
        return tensor

    def offset(self, name: str) -> int:
        """Return the offset of an array in the file, in bytes."""
        return self._offsets[name]

    def write(self, folder: Path) -> Path:
        """Write the file into a bundle's folder."""
        path = folder / self.location
        with path.open("wb") as file:
            file.truncate(self._end)
            for name, array in self._arrays.items():
                file.seek(self._offsets[name])
                file.write(array.tobytes())
        return path
