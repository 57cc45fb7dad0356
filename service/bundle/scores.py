"""How attention computes its scores: the entry of a graph's metadata that says it."""

from dataclasses import dataclass
from typing import Literal

SCORES = "attention_scores"
"""JSON in the metadata of the graph that explains weights: the fields of a Score, by kind of attention."""

ScoreFunction = Literal["additive", "dot", "scaled_dot", "other"]
# What makes weights of scores: a softmax; one in a window around a centre; the choice of the largest.
Normalisation = Literal["softmax", "local", "hard"]


@dataclass(frozen=True, slots=True)
class AttentionScore:
    """The score of one kind of attention."""

    function: ScoreFunction
    normalisation: Normalisation = "softmax"
    scale: float = 1.0
