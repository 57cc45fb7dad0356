"""The three graphs of a network: what they take and give, for either architecture."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import NamedTuple

from service.bundle.scores import SCORES, AttentionScore
from training.export.graphs.blocks import (
    FLOAT,
    INT32,
    INT64,
    SITE,
    Arrays,
    ForcedTarget,
    Hidden,
    OutputLayer,
    forced_outputs,
)
from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import Arithmetic

Attention = dict[str, tuple[str, list[str | int]]]
"""Attention weights in the graph's float type, and their axes, by the name of the output."""


Scores = dict[str, AttentionScore]
"""How scores are computed, by kind of attention."""
GRAPH_KINDS = ("encoder", "decoder", "forced")


class Step(NamedTuple):
    """The inputs of one step of N = B · K rows."""

    tokens: str
    """int64 [B, K]: the last token of each row."""
    past: str
    """int32 [N]: the tokens that were decoded before it."""
    total: str
    """int32 [1]: the longest row, with the new position."""
    lengths: str
    """int64 [B]: those of the sources."""
    rows: str
    """int64 [2] = (B, K)."""


class NetworkGraphs(ABC):
    """Builds the graphs of one network in one precision."""

    arithmetic: Arithmetic
    output: OutputLayer
    state_kind = "fixed"
    """Whether the state grows with every token (``cache``) or not (``fixed``)."""
    paddings: Mapping[str, float] = {}
    """The values of memory arrays after a sentence's own positions, where they matter."""

    @property
    @abstractmethod
    def memory(self) -> Arrays:
        """Return the arrays that the encoder passes to every step."""

    @property
    @abstractmethod
    def state(self) -> Arrays:
        """Return the arrays that a step passes to the next one."""

    @abstractmethod
    def _encoded(self, graph: GraphBuilder, source: str, lengths: str) -> tuple[list[str], list[str]]:
        """Return the memory arrays, and the initial states if the encoder makes them."""

    @abstractmethod
    def _step(self, graph: GraphBuilder, step: Step, memory: list[str], state: list[str]) -> tuple[str, list[str]]:
        """Return the input of the output layer, [N, 1, W] or [N, W], and the next states."""

    @abstractmethod
    def _forced(self, graph: GraphBuilder, source: str, lengths: str, target: str) -> tuple[str, Attention]:
        """Return the input of the output layer for all target positions, [B, T, W], and every attention."""

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """Return how each kind of attention computes its scores; nothing if its weights are fixed."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of the network's graphs, which are also the names of the methods that build them."""
        return (*GRAPH_KINDS, "explain") if self.scores else GRAPH_KINDS

    def encoder(self, graph: GraphBuilder) -> None:
        """Build the encoder: source [B, S], source_lengths [B] → memory and initial states."""
        source, lengths = graph.input("source", INT64, ["B", "S"]), graph.input("source_lengths", INT64, ["B"])
        memory, initial = self._encoded(graph, source, lengths)
        for (name, axes), tensor in zip(self.memory, memory, strict=True):
            graph.output(name, tensor, self.arithmetic.dtype, axes)
        for (name, axes), tensor in zip(self.state if initial else [], initial, strict=True):
            graph.output(f"initial_{name}", tensor, self.arithmetic.dtype, ["B", *axes[1:]])
        self.output.give(graph)

    def decoder(self, graph: GraphBuilder) -> None:
        """Build one step of N = B · K rows."""
        dtype, tokens = self.arithmetic.dtype, graph.input("tokens", INT64, ["B", "K"])
        past, total = graph.input("lengths", INT32, ["N"]), graph.input("total_length", INT32, [1])
        lengths, candidates = graph.input("source_lengths", INT64, ["B"]), graph.input("candidates", INT64, [1])
        memory, state = (
            [graph.input(name, dtype, axes) for name, axes in arrays] for arrays in (self.memory, self.state)
        )
        step = Step(tokens, past, total, lengths, graph.op("Shape", tokens))
        hidden, following = self._step(graph, step, memory, state)
        for (name, axes), tensor in zip(self.state, following, strict=True):
            graph.output(f"next_{name}", tensor, dtype, axes)
        self.output.top(graph, hidden, step.rows, candidates)

    def forced(self, graph: GraphBuilder) -> None:
        """Build forced decoding: source and whole target at once, with every attention weight."""
        source, lengths = graph.input("source", INT64, ["B", "S"]), graph.input("source_lengths", INT64, ["B"])
        target = ForcedTarget(graph.input("target", INT64, ["B", "T"]), graph.input("target_lengths", INT64, ["B"]))
        hidden, attention = self._forced(graph, source, lengths, target.ids)
        hidden = self.arithmetic.operand(graph, SITE, hidden).tensor
        forced_outputs(graph, Hidden(hidden, self.arithmetic.dtype, self.output.width), target, self.output.logits)
        for kind, (weights, axes) in attention.items():
            graph.output(kind, self.arithmetic.to_float(graph, weights), FLOAT, axes)

    def explain(self, graph: GraphBuilder) -> None:
        """Build forced decoding with more outputs: what the weights of every layer are made of.

        They are ``KIND.LAYER.scores`` [B, H, R, C] with -inf where a position is masked, and where a score is made of
        them, ``queries`` [B, H, R, D], ``keys`` [B, H, C, D] and the ``energy`` [D] of the additive score.
        """
        graph.recording = "scores"
        self.forced(graph)
        for site, tensor in graph.sites.items():
            given = tensor if site.endswith("energy") else self.arithmetic.to_float(graph, tensor)
            graph.output(site, given, FLOAT, None)
        graph.note(SCORES, json.dumps({kind: asdict(score) for kind, score in self.scores.items()}))
