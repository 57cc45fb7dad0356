"""Writes bundles; if that fails, nothing is written."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from service.bundle.exact_products import WEIGHT_BITS
from service.bundle.load import is_bundle
from service.bundle.manifest import (
    FLOAT_WEIGHTS_NAME,
    TARGET_TOKENIZER_NAME,
    TOKENIZER_NAME,
    AlignmentHead,
    DecodingDefaults,
    Precision,
    SpecialIds,
    parse_graphs,
)
from service.bundle.shortlist import SHORTLIST_NAME
from service.bundle.vocabulary import BOS, EOS, PAD
from service.bundle.write import write_manifest
from training.export.card import Card, readme
from training.export.compare import Comparison, Original, ParityLimits
from training.export.graphs.architecture import NetworkConfig, make_graphs, parameters_of
from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import ALWAYS, MOST_CONSTANTS, Arithmetic, DequantisedArithmetic, Int8Arithmetic
from training.export.intgemm import Intgemm
from training.export.manifest import (
    README,
    WEIGHTS,
    ModelDescription,
    Subwords,
    align_of,
    graph_file,
    graph_section,
    manifest_document,
)
from training.export.parameters import OUTPUT_BIAS, SCORED_BIAS, Parameters, suppressed_bias
from training.export.parity import Exported, check_parity
from training.export.quantise import IdPair, float_store, make_plan, quantised_store, sample_sites
from training.export.running import ON_GPU, write_running
from training.export.shortlist import Shortlist, Tokens
from training.export.weights import WeightStore

OWN_FORCED = "own_forced.fp32.onnx"


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What to export, its model card, and the limits of the comparison."""

    card: Card
    version: str = "1"
    precisions: tuple[Precision, ...] = ("int8", "fp16")
    alignment: AlignmentHead | None = None
    decoding: DecodingDefaults = field(default_factory=DecodingDefaults)
    shortlist: Shortlist | None = None
    """The shortlist for int8; None: the whole vocabulary."""
    produced: Tokens | None = None
    """The only tokens that a translation may contain, for int8 without a shortlist; None: the whole vocabulary."""
    float_bias: npt.NDArray[np.float32] | None = None
    """The output bias of fp32 graphs, where they score other tokens than the original; None: the original's own."""
    text_seen: bool = True
    """Whether the calibration pairs are real text."""
    intgemm: Intgemm | None = None
    """The original's own numbers for int8; None: they are chosen here."""
    limits: ParityLimits | None = field(default_factory=ParityLimits)
    """The limits for differences from the original; None: no comparison (only for made-up networks in tests)."""
    compared: tuple[Comparison, ...] = ()
    """What was compared before."""

    @property
    def used_shortlist(self) -> Shortlist | None:
        """Return the shortlist if anything that is exported uses one."""
        return self.shortlist if "int8" in self.precisions else None

    @property
    def always(self) -> Tokens | None:
        """Return the tokens that every step scores; None: all of the vocabulary."""
        return self.produced if self.used_shortlist is None else self.used_shortlist.always


def write_bundle(
    original: Original,
    subwords: Subwords,
    model: ModelDescription,
    pairs: Sequence[IdPair],
    out_dir: Path,
    options: ExportOptions,
) -> Path:
    """Write the bundle of a model into ``out_dir``, where a bundle is replaced, and return that folder.

    ``pairs``: development sentences as token ids with end tokens (about 200 are enough). They calibrate int8, and
    graphs and original are compared on them. Raises ParityError if the two disagree, and FileExistsError if
    ``out_dir`` holds anything but a bundle; it then stays unchanged.
    """
    require_replaceable(out_dir)
    out_dir.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out_dir.parent, prefix=".export-") as name:
        folder = Path(name) / out_dir.name
        folder.mkdir()
        parameters = parameters_of(model.network, original.state(), model.max_tokens)
        sections = write_graphs(model.network, parameters, pairs, folder, options)
        subwords.source.save(str(folder / TOKENIZER_NAME), pretty=False)
        if subwords.target is not None:
            subwords.target.save(str(folder / TARGET_TOKENIZER_NAME), pretty=False)
        if options.used_shortlist is not None:
            options.used_shortlist.write(folder / SHORTLIST_NAME)
        compared = _compare(original, model, parameters, pairs, folder, options)
        document = manifest_document(model, options.version, subwords, sections, options.alignment, options.decoding)
        document["parity"] = parity_section([*options.compared, *compared], options.precisions)
        document["card"] = options.card.document(parameters.count)
        (folder / README).write_text(readme(document), encoding="utf-8")
        write_manifest(folder, document)
        if out_dir.exists():
            out_dir.rename(Path(name) / "replaced")  # deleted with the temporary folder
        folder.rename(out_dir)
    return out_dir


def require_replaceable(out_dir: Path) -> None:
    """Raise FileExistsError if something other than a bundle, or an empty folder, is in the place of a new bundle."""
    if not out_dir.exists() or (out_dir.is_dir() and not any(out_dir.iterdir())):
        return
    replaceable = out_dir.is_dir() and is_bundle(out_dir) and not any(entry.is_dir() for entry in out_dir.iterdir())
    if not replaceable or out_dir.resolve() == Path.cwd():
        raise FileExistsError(f"{out_dir} exists and is no bundle, so it is not replaced: name a new folder in it")


def _compare(
    original: Original,
    model: ModelDescription,
    parameters: Parameters,
    pairs: Sequence[IdPair],
    folder: Path,
    options: ExportOptions,
) -> list[Comparison]:
    """Compare the graphs in a folder with their original; raises ParityError if the two disagree."""
    if options.limits is None:
        return []
    places: dict[str, Path] = dict.fromkeys(options.precisions, folder)
    if "fp32" not in places:  # the float graphs show whether the graphs themselves are right
        places["fp32"] = original.graphs or folder.parent / "fp32"
        if original.graphs is None:
            places["fp32"].mkdir()
            write_graphs(model.network, parameters, pairs, places["fp32"], replace(options, precisions=("fp32",)))
    graphs = Exported(places, align_of(model, options.alignment), options.always, options.float_bias, original.graphs)
    return check_parity(original, model, graphs, pairs, options.limits)


def parity_section(compared: Sequence[Comparison], precisions: Sequence[Precision]) -> dict[str, Any]:
    """Return the manifest's ``parity``: the comparisons, and the precisions that could not be compared."""
    seen = {comparison.precision for comparison in compared}
    return {
        "compared": [comparison.document() for comparison in compared],
        "not_compared": [precision for precision in precisions if precision not in seen],
    }


def write_graphs(
    config: NetworkConfig,
    parameters: Parameters,
    pairs: Sequence[IdPair],
    folder: Path,
    options: ExportOptions,
) -> dict[str, Any]:
    """Write weights and graphs of the requested precisions; returns the manifest's ``graphs``."""
    precisions, always = options.precisions, options.always
    sections: dict[str, Any] = {}
    if "int8" in precisions or "fp16" in precisions:
        products, samples = sample_sites(config, parameters, pairs)
        plan = make_plan(parameters, products, samples, options.text_seen)
        if options.intgemm is not None:
            plan = options.intgemm.plan(plan, products)
        store = quantised_store(parameters, products, samples, plan, WEIGHTS, options.intgemm)
        if options.float_bias is not None:
            store.add(SCORED_BIAS, suppressed_bias(options.float_bias))
        if "int8" in precisions:
            if always is not None and len(always) > MOST_CONSTANTS:
                store.add(ALWAYS, always.astype(np.int64))
            arithmetic = Int8Arithmetic(plan, always, options.used_shortlist is not None)
            sections["int8"] = _write(config, arithmetic, store, folder, "int8", options.intgemm is not None)
        if "fp16" in precisions:
            sections["fp16"] = _write(config, DequantisedArithmetic(), store, folder, "fp16")
        store.write(folder)
    if "fp32" in precisions:
        sections["fp32"] = write_float_graphs(config, parameters, options.float_bias, folder)
    return sections


def write_float_graphs(
    config: NetworkConfig, parameters: Parameters, bias: npt.NDArray[np.float32] | None, folder: Path
) -> dict[str, Any]:
    """Write weights and graphs in fp32, with another output bias if one is given; returns the manifest's entry."""
    if bias is not None:
        parameters = replace(parameters, vectors={**parameters.vectors, OUTPUT_BIAS: suppressed_bias(bias)})
    store = float_store(parameters, FLOAT_WEIGHTS_NAME)
    section = _write(config, Arithmetic(), store, folder, "fp32")
    store.write(folder)
    return section


def write_compared_graphs(
    config: NetworkConfig, parameters: Parameters, bias: npt.NDArray[np.float32], folder: Path
) -> None:
    """Write fp32 graphs; their forced decoding has another output bias, as in int8, and OWN_FORCED has their own."""
    store = float_store(parameters, FLOAT_WEIGHTS_NAME)
    _write(config, Arithmetic(), store, folder, "fp32")
    (folder / graph_file("forced", "fp32")).rename(folder / OWN_FORCED)
    store.add(SCORED_BIAS, suppressed_bias(bias))
    _write(config, Arithmetic(), store, folder, "fp32")
    store.write(folder)


def _write(
    config: NetworkConfig,
    arithmetic: Arithmetic,
    store: WeightStore,
    folder: Path,
    precision: Precision,
    eight_bits: bool = False,
) -> dict[str, Any]:
    graphs = make_graphs(config, arithmetic)
    for kind in graphs.kinds:
        graph = GraphBuilder(kind, store)
        if precision == "int8" and eight_bits:
            graph.note(WEIGHT_BITS, "8")
        if kind in ("forced", "explain") and SCORED_BIAS in store:
            graph.in_place_of[OUTPUT_BIAS] = SCORED_BIAS
        getattr(graphs, kind)(graph)
        (folder / graph_file(kind, precision)).write_bytes(graph.model().SerializeToString(deterministic=True))
    section = graph_section(graphs, precision)
    if precision == ON_GPU:
        section |= write_running(folder, parse_graphs(section), SpecialIds(PAD, BOS, EOS))
    return section
