"""The tensors of a foreign file, each of which is taken once, and our Transformer's parameters made of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from training.export.parameters import StateArrays
from training.imports.files import ImportRefused
from training.recipe import RecipeError, TransformerConfig, transformer_config

Array = npt.NDArray[np.float32]
Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""The file's row of each of our ids, of the source and of the target; the row after the last one holds zeros."""


def our_network(settings: Mapping[str, Any], where: object) -> TransformerConfig:
    """Return our Transformer's configuration; raises ImportRefused for settings that it cannot have."""
    try:
        return transformer_config(settings, str(where))
    except RecipeError as error:
        raise ImportRefused(str(error)) from error


class BlockNames(NamedTuple):
    """The file's names of one block of a layer, with ``{}`` in the place of what distinguishes weight and bias."""

    parts: Mapping[str, Sequence[str]]
    """By our linear map; several stand side by side in ours."""
    norm: str


NamesOf = Callable[[str, int, str], BlockNames]
"""Returns the names for a side, the number of a layer, and a block: attention, ssru, cross or feed_forward."""


class TensorReader:
    """The tensors of a file that have not been read yet."""

    linear_parts, norm_parts = ("weight", "bias"), ("weight", "bias")
    biases_are_optional = False

    def __init__(self, tensors: Mapping[str, Array], where: object) -> None:
        self._tensors, self._where = dict(tensors), where

    def take(self, name: str, *shapes: tuple[int, ...]) -> Array:
        """Return a tensor and take it out; raises ImportRefused when it is missing or has another shape."""
        tensor = self._tensors.pop(name, None)
        if tensor is None:
            self.refuse(f"the tensor {name} is missing from the network")
        if shapes and tensor.shape not in shapes:
            self.refuse(f"{name} has the shape {tensor.shape}; {shapes[0]} is needed")
        return tensor

    def optional(self, name: str) -> Array | None:
        """Return a tensor and take it out if it is there."""
        return self._tensors.pop(name, None)

    def table(self, *names: str) -> Array:
        """Return one table of which there may be several copies; raises ImportRefused when two of them differ."""
        arrays = {name: array for name in names if (array := self.optional(name)) is not None}
        if not arrays:
            self.refuse(f"the tensor {names[0]} is missing from the network")
        first, *others = arrays
        for alternative in others:
            if not np.array_equal(arrays[first], arrays[alternative]):
                self.refuse(
                    f"{first} and {alternative} differ; models whose output layer is tied to the target's embeddings "
                    "can be imported"
                )
        return arrays[first]

    def matrix(self, name: str, outputs: int, inputs: int) -> Array:
        """Return a matrix as [outputs, inputs]."""
        return self.take(name, (outputs, inputs))

    def vector(self, name: str, size: int) -> Array:
        """Return a vector."""
        return self.take(name, (size,))

    def linear(self, name: str, outputs: int, inputs: int) -> tuple[Array, Array]:
        """Return weight and bias of a linear map."""
        weight, bias = (name.format(part) for part in self.linear_parts)
        product = self.matrix(weight, outputs, inputs)
        if self.biases_are_optional and bias not in self._tensors:
            return product, np.zeros(outputs, np.float32)
        return product, self.vector(bias, outputs)

    def refuse(self, what: str) -> NoReturn:
        """Raise ImportRefused."""
        raise ImportRefused(f"{self._where}: {what}")

    def refuse_rest(self) -> None:
        """Raise ImportRefused if anything is left over."""
        if self._tensors:
            some = ", ".join(sorted(self._tensors)[:3])
            self.refuse(f"{len(self._tensors)} tensors have no place in our Transformer, {some} among them")


def layers_of(config: TransformerConfig, reader: TensorReader, names: NamesOf) -> StateArrays:
    """Return the parameters of all layers in our state dict; raises ImportRefused."""
    state, width, inner = StateArrays(), config.width, config.feed_forward
    past = "ssru" if config.decoder == "ssru" else "attention"
    for side, layers, blocks in (
        ("encoder", config.encoder_layers, ("attention", "feed_forward")),
        ("decoder", config.decoder_layers, (past, "cross", "feed_forward")),
    ):
        for number in range(layers):
            for block in blocks:
                their_names, ours = names(side, number, block), f"{side}.{number}.{block}"
                for part, theirs in their_names.parts.items():
                    # Keys and values may be one tensor.
                    outputs = {"inner": inner, "key_value": 2 * width // len(theirs)}.get(part, width)
                    linears = [reader.linear(name, outputs, inner if part == "outer" else width) for name in theirs]
                    for kind, arrays in zip(("weight", "bias"), zip(*linears, strict=True), strict=True):
                        state[f"{ours}.{part}.{kind}"] = np.concatenate(arrays)
                put_norm(state, f"{ours}_frame.norm", reader, their_names.norm, width)
    return state


def put_norm(state: StateArrays, to: str, reader: TensorReader, name: str, width: int) -> None:
    """Put a norm's parameters into our state dict."""
    for ours, theirs in zip(("weight", "bias"), reader.norm_parts, strict=True):
        state[f"{to}.{ours}"] = reader.vector(name.format(theirs), width)


def put_embeddings(
    state: StateArrays, width: int, rows: Rows, reader: TensorReader, tables: Sequence[Sequence[str]], bias: str
) -> None:
    """Put embeddings and output bias, zeros if there is none, into our state dict; raises ImportRefused.

    ``tables``: the names of the output layer's table, and of the source's and of the target's if they have their own.
    """
    sizes = []
    tables_of = ("embedding", "source_embedding", "target_embedding")
    for name, names, ours in zip(tables_of, tables, (rows[1], *rows), strict=False):
        table = reader.table(*names)
        if table.ndim != 2 or table.shape[1] != width:
            reader.refuse(f"{names[0]} has the shape {table.shape}; (…, {width}) is needed")
        state[f"{name}.weight"] = np.concatenate([table, np.zeros((1, width), np.float32)])[ours]
        sizes.append(len(table))
    stored = reader.optional(bias)
    whole = np.zeros(sizes[0], np.float32) if stored is None else stored.reshape(-1)
    if len(whole) != sizes[0]:
        reader.refuse(f"{bias} has the shape {whole.shape}; ({sizes[0]},) is needed")
    state["output_bias"] = np.append(whole, np.float32(0))[rows[1]]
