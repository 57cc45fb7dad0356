"""The tensors of a foreign file, each of which is taken once."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from training.imports.files import ImportRefused

Array = npt.NDArray[np.float32]


class TensorReader:
    """The tensors of a checkpoint that have not been read yet."""

    def __init__(self, tensors: Mapping[str, Array], where: str) -> None:
        self._tensors, self._where = dict(tensors), where

    def take(self, name: str) -> Array:
        """Return a tensor and take it out; raises ImportRefused when it is missing."""
        tensor = self._tensors.pop(name, None)
        if tensor is None:
            raise ImportRefused(f"{self._where}: the tensor {name} is missing from the network")
        return tensor

    def optional(self, name: str) -> Array | None:
        """Return a tensor and take it out if it is there."""
        return self._tensors.pop(name, None)

    def table(self, *names: str) -> Array:
        """Return one table of which there may be several copies; raises ImportRefused when two of them differ."""
        found = {name: array for name in names if (array := self.optional(name)) is not None}
        if not found:
            raise ImportRefused(f"{self._where}: the tensor {names[0]} is missing from the network")
        first, *others = found
        for other in others:
            if not np.array_equal(found[first], found[other]):
                raise ImportRefused(
                    f"{self._where}: {first} and {other} differ; models whose output layer is tied to the target's "
                    "embeddings can be imported"
                )
        return found[first]

    def refuse_rest(self) -> None:
        """Raise ImportRefused if anything is left over."""
        if self._tensors:
            some = ", ".join(sorted(self._tensors)[:3])
            raise ImportRefused(
                f"{self._where}: {len(self._tensors)} tensors have no place in our Transformer, {some} among them"
            )
