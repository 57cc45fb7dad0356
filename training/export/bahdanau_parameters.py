"""Converts the parameters of the Bahdanau network to the layout of its graphs, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from service.bundle.vocabulary import BOS, PAD
from training.export.parameters import (
    OUTPUT_BIAS,
    Matrix,
    Parameters,
    StateArrays,
    joined,
    linear,
    put_linear,
    suppressed_bias,
)
from training.recipe import BahdanauConfig

SOURCE, TARGET = "source_embedding", "target_embedding"
STATE = "decoder.state"
"""The matrix of all products with the decoder's top state: gates, query, centre."""
TRANSITION = {"ih": "transition.input", "hh": "transition.hidden"}
"""The first half of a conditional GRU, by PyTorch's kind of matrix."""


QUERY_ENERGY, KEY_ENERGY = "attention.score.query.energy", "attention.score.key.energy"
"""The two halves of the linear score."""


def _energies(config: BahdanauConfig) -> dict[str, str]:
    """Return the vectors of attention: their names in the graphs, with the network's own names."""
    if config.attention == "none":
        return {}
    found = {}
    if config.score == "additive":
        found["attention.score.energy"] = "attention.score.energy"
    if config.score == "concat":
        found |= {QUERY_ENERGY: "attention.score.query", KEY_ENERGY: "attention.score.key"}
    if config.attention == "local":
        found["attention.centre.energy"] = "attention.centre.energy"
    return found


def gate_order(config: BahdanauConfig, units: int) -> npt.NDArray[np.int64]:
    """Return the columns of the gates in the graphs' order: for an LSTM i, f, o, g instead of PyTorch's i, f, g, o."""
    blocks = [0, 1, 2] if config.cell == "gru" else [0, 1, 3, 2]
    return np.concatenate([np.arange(units) + block * units for block in blocks])


def pair_order(size: int) -> npt.NDArray[np.int64]:
    """Return the columns of the maxout layer: the first of every pair, then the second of every pair."""
    return np.concatenate([np.arange(0, 2 * size, 2), np.arange(1, 2 * size, 2)])


def _directions(config: BahdanauConfig) -> list[str]:
    return ["", "_reverse"] if config.bidirectional else [""]


def _cell(state: StateArrays, prefix: str, kind: str, suffix: str, order: npt.NDArray[np.int64]) -> Matrix:
    weight, bias = state[f"{prefix}weight_{kind}{suffix}"], state[f"{prefix}bias_{kind}{suffix}"]
    return Matrix(np.ascontiguousarray(weight[order].T), bias[order])


def _put_cell(state: StateArrays, names: tuple[str, str], matrix: Matrix, order: npt.NDArray[np.int64]) -> None:
    weight, bias = np.empty_like(matrix.weight.T), np.empty_like(matrix.weight[0])
    weight[order], bias[order] = matrix.weight.T, matrix.bias
    state[names[0]], state[names[1]] = weight, bias


def _query(config: BahdanauConfig, state: StateArrays) -> list[Matrix]:
    """Return the matrix by which attention multiplies the decoder's state."""
    parts: list[Matrix] = []
    if config.attention == "none":
        return parts
    if config.score == "additive":
        parts.append(linear(state, "attention.score.query"))
    if config.attention == "local":
        parts.append(linear(state, "attention.centre.hidden"))
    return parts


def _keys(config: BahdanauConfig, state: StateArrays) -> Matrix | None:
    """Return the matrix that turns annotations into keys."""
    if config.attention == "none":
        return None
    return linear(state, "attention.score.key") if config.score in ("additive", "general") else None


def bahdanau_parameters(config: BahdanauConfig, state: StateArrays) -> Parameters:
    """Return the parameters in the layout of the graphs, where one matrix has all products with the same input."""
    result = Parameters()
    _encoder(config, state, result)
    if config.start == "bridge":
        result.matrices["bridge"] = linear(state, "bridge")
    order = gate_order(config, config.decoder_hidden)
    if config.conditional:
        for kind, name in TRANSITION.items():
            result.matrices[name] = _cell(state, "transition.", kind, "", order)
    for layer in range(config.decoder_layers):
        top = layer == config.decoder_layers - 1
        result.matrices[f"decoder.{layer}.input"] = _cell(state, f"cells.{layer}.", "ih", "", order)
        hidden = _cell(state, f"cells.{layer}.", "hh", "", order)
        result.matrices[STATE if top else f"decoder.{layer}.hidden"] = (
            joined(hidden, *_query(config, state)) if top else hidden
        )
    keys = _keys(config, state)
    if keys is not None:
        result.matrices["keys"] = keys
    if config.output == "deep":
        deep, pairs = linear(state, "deep_output.mix"), pair_order(config.output_size)
        assert deep.bias is not None
        result.matrices["deep_output"] = Matrix(np.ascontiguousarray(deep.weight[:, pairs]), deep.bias[pairs])
    for energy, name in _energies(config).items():
        result.vectors[energy] = state[f"{name}.weight"].reshape(-1, 1)
    result.tables[SOURCE] = state["source_embedding.weight"]
    if not config.tie_embeddings:
        result.tables[TARGET] = state["target_embedding.weight"]
        result.tables["output"] = state["output.weight"]
    result.vectors[OUTPUT_BIAS] = suppressed_bias(state["output.bias"], (PAD, BOS))
    return result


def _convolutions(config: BahdanauConfig) -> dict[str, str]:
    """Return the matrices of a convolutional encoder: their names in the graphs, with the network's own names."""
    layers = {f"encoder.{i}.convolution": f"encoder.layers.{i}" for i in range(config.encoder_layers)}
    return {"encoder.project": "encoder.project", **layers}


def _encoder(config: BahdanauConfig, state: StateArrays, result: Parameters) -> None:
    """Add the encoder's matrices."""
    if config.encoder == "convolutional":
        for matrix, name in _convolutions(config).items():
            result.matrices[matrix] = linear(state, name)
        return
    order = gate_order(config, config.encoder_hidden)
    for layer in range(config.encoder_layers):
        cells = [f"_l{layer}{direction}" for direction in _directions(config)]
        inputs = [_cell(state, "encoder.rnn.", "ih", cell, order) for cell in cells]
        result.matrices[f"encoder.{layer}.input"] = joined(*inputs)
        for direction, cell in enumerate(cells):
            hidden = _cell(state, "encoder.rnn.", "hh", cell, order)
            result.matrices[f"encoder.{layer}.hidden_{direction}"] = hidden


def bahdanau_state(config: BahdanauConfig, parameters: Parameters) -> StateArrays:
    """Return the inverse of ``bahdanau_parameters``; the biases of suppressed tokens become zero."""
    state: StateArrays = {}
    _put_encoder(config, parameters, state)
    _put_decoder(config, parameters, state)
    if config.start == "bridge":
        put_linear(state, "bridge", parameters.matrices["bridge"])
    if config.output == "deep":
        pairs, deep = np.argsort(pair_order(config.output_size)), parameters.matrices["deep_output"]
        assert deep.bias is not None
        put_linear(state, "deep_output.mix", Matrix(deep.weight[:, pairs], deep.bias[pairs]))
    for energy, name in _energies(config).items():
        state[f"{name}.weight"] = parameters.vectors[energy].reshape(1, -1)
    tables = parameters.tables
    state["source_embedding.weight"] = tables[SOURCE]
    state["target_embedding.weight"] = tables[SOURCE if config.tie_embeddings else TARGET]
    state["output.weight"] = tables[SOURCE if config.tie_embeddings else "output"]
    bias = parameters.vectors[OUTPUT_BIAS].copy()
    bias[[PAD, BOS]] = 0
    state["output.bias"] = bias
    return state


def _put_encoder(config: BahdanauConfig, parameters: Parameters, state: StateArrays) -> None:
    if config.encoder == "convolutional":
        for matrix, name in _convolutions(config).items():
            put_linear(state, name, parameters.matrices[matrix])
        return
    order = gate_order(config, config.encoder_hidden)
    for layer in range(config.encoder_layers):
        inputs = parameters.matrices[f"encoder.{layer}.input"]
        assert inputs.bias is not None
        for direction, suffix in enumerate(_directions(config)):
            columns = slice(direction * len(order), (direction + 1) * len(order))
            cell = f"_l{layer}{suffix}"
            names = (f"encoder.rnn.weight_ih{cell}", f"encoder.rnn.bias_ih{cell}")
            _put_cell(state, names, Matrix(inputs.weight[:, columns], inputs.bias[columns]), order)
            hidden = parameters.matrices[f"encoder.{layer}.hidden_{direction}"]
            _put_cell(state, (f"encoder.rnn.weight_hh{cell}", f"encoder.rnn.bias_hh{cell}"), hidden, order)


def _put_decoder(config: BahdanauConfig, parameters: Parameters, state: StateArrays) -> None:
    order = gate_order(config, config.decoder_hidden)
    if config.conditional:
        for kind, name in TRANSITION.items():
            names = (f"transition.weight_{kind}", f"transition.bias_{kind}")
            _put_cell(state, names, parameters.matrices[name], order)
    for layer in range(config.decoder_layers):
        top = layer == config.decoder_layers - 1
        inputs = parameters.matrices[f"decoder.{layer}.input"]
        _put_cell(state, (f"cells.{layer}.weight_ih", f"cells.{layer}.bias_ih"), inputs, order)
        hidden = parameters.matrices[STATE if top else f"decoder.{layer}.hidden"]
        assert hidden.bias is not None
        gates = Matrix(hidden.weight[:, : len(order)], hidden.bias[: len(order)])
        _put_cell(state, (f"cells.{layer}.weight_hh", f"cells.{layer}.bias_hh"), gates, order)
    if config.attention == "none":
        return
    rest = parameters.matrices[STATE].weight[:, len(order) :]
    keys = parameters.matrices.get("keys")
    if config.score == "additive":
        query, rest = rest[:, : config.attention_size], rest[:, config.attention_size :]
        put_linear(state, "attention.score.query", Matrix(query))
    if keys is not None:
        put_linear(state, "attention.score.key", keys)
    if config.attention == "local":
        put_linear(state, "attention.centre.hidden", Matrix(rest))
