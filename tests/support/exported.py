"""Small networks as graphs in a folder, and what PyTorch says about the same ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from service.bundle.vocabulary import EOS
from tests.support.tiny_networks import VOCABULARY, network
from training.data.batching import Batch, collate
from training.export.card import CardScore, DataCredit, ModelCard
from training.export.compare import ParityLimits
from training.export.graphs.architecture import make_graphs, parameters_of
from training.export.graphs.builder import GraphBuilder
from training.export.graphs.network import NetworkGraphs
from training.export.graphs.precision import Arithmetic, Calibration, DequantisedArithmetic, Int8Arithmetic
from training.export.parameters import Parameters
from training.export.quantise import IdPair, float_store, make_plan, quantised_store, sample_sites
from training.export.sessions import Stepper, open_session, run
from training.export.trained import NetworkOriginal
from training.recipe import BahdanauConfig, Recipe, TransformerConfig, parse_recipe

Array = npt.NDArray[Any]
LIMIT = 24
"""Longest side in these tests, in tokens."""
CARD = ModelCard(
    data=(DataCredit("made-up", 1200, "CC0", "nobody | at all"),),
    seed=7,
    git_revision="abc",
    scores=(CardScore("made-up test", "BLEU", 12.5, "nrefs:1|case:mixed", "int8", 4),),
    notes="For tests.",
)
LOOSE = ParityLimits(attention=0.2, links=0.7, logprobs=0.5, agreement=0.5, steps=0.1)
"""Networks of a few random numbers are hard on eight bits."""


def id_pairs(count: int = 12, vocabulary: int = VOCABULARY, longest: int = 14) -> list[IdPair]:
    """Made-up pairs of 1 to ``longest`` tokens, each side closed by the end token; always the same."""
    random = np.random.default_rng(0)

    def side() -> npt.NDArray[np.uint16]:
        words = random.integers(EOS + 1, vocabulary, random.integers(0, longest))
        return np.append(words, EOS).astype(np.uint16)

    return [(side(), side()) for _ in range(count)]


def batch_of(pairs: Sequence[IdPair]) -> Batch:
    """Pad pairs into one batch."""
    return collate([np.asarray(s, np.uint16) for s, _ in pairs], [np.asarray(t, np.uint16) for _, t in pairs])


def recipe_of(config: TransformerConfig | BahdanauConfig, name: str = "tiny-en-fr") -> Recipe:
    """Return a recipe with this network."""
    content = {
        "name": name,
        "source_language": "en",
        "target_language": "fr",
        "corpora": [{"name": "made-up"}],
        "network": config.model_dump(),
        "max_tokens": LIMIT,
    }
    return parse_recipe(content, "test")


@dataclass
class Exported:
    """Graphs of one network in one folder, opened when asked for."""

    folder: Path
    config: TransformerConfig | BahdanauConfig
    parameters: Parameters
    plan: Calibration | None = None

    def graphs(self) -> NetworkGraphs:
        """Return the graph builder, which has the names of memory and state."""
        return make_graphs(self.config, Arithmetic())

    def stepper(self, precision: str) -> Stepper:
        """Step-by-step decoding with caches as long as the limit."""
        return Stepper(self.graphs(), self.folder, precision, LIMIT)

    def force(self, precision: str, batch: Batch) -> dict[str, Array]:
        """Return the results of forced decoding of a batch."""
        feeds = {
            "source": batch.source.numpy(),
            "source_lengths": batch.source_lengths.numpy(),
            "target": batch.target_out.numpy(),
            "target_lengths": batch.target_lengths.numpy(),
        }
        return run(open_session(self.folder / f"forced.{precision}.onnx"), feeds)

    def step_through(self, precision: str, batch: Batch) -> Array:
        """Log-probabilities [B, T] of the target, decoded step by step."""
        stepper = self.stepper(precision)
        stepper.start(batch.source.numpy(), batch.source_lengths.numpy())
        chosen = []
        for inputs, outputs in zip(batch.target_in.numpy().T, batch.target_out.numpy().T, strict=True):
            ids, logprobs = stepper.step(inputs, VOCABULARY)
            chosen.append(logprobs[np.arange(len(ids)), (ids == outputs[:, None]).argmax(1)])
        return np.stack(chosen, 1)


def _parameters(config: TransformerConfig | BahdanauConfig) -> Parameters:
    return parameters_of(config, NetworkOriginal(network(config)).state(), LIMIT)


def write_float(config: TransformerConfig | BahdanauConfig, folder: Path) -> Exported:
    """Return the fp32 graphs of a made-up network."""
    parameters = _parameters(config)
    store = float_store(parameters, "weights.fp32.bin")
    _write(config, Arithmetic(), store, folder, "fp32")
    return Exported(folder, config, parameters)


def write_quantised(config: TransformerConfig | BahdanauConfig, folder: Path) -> Exported:
    """Return the int8 graphs of a made-up network, and "expanded" ones: float32 products of the same int8 weights."""
    parameters = _parameters(config)
    products, samples = sample_sites(config, parameters, id_pairs(24))
    plan = make_plan(parameters, products, samples)
    store = quantised_store(parameters, products, samples, plan, "weights.bin")
    _write(config, Int8Arithmetic(plan), store, folder, "int8")
    _write(config, DequantisedArithmetic(1), store, folder, "expanded")
    _write(config, DequantisedArithmetic(), store, folder, "fp16")
    return Exported(folder, config, parameters, plan)


def _write(config: Any, arithmetic: Arithmetic, store: Any, folder: Path, precision: str) -> None:
    store.write(folder)
    graphs = make_graphs(config, arithmetic)
    for kind in graphs.kinds:
        graph = GraphBuilder(kind, store)
        getattr(graphs, kind)(graph)
        (folder / f"{kind}.{precision}.onnx").write_bytes(graph.model().SerializeToString())
