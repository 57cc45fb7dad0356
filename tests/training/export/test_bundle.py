"""A bundle: each weight once, checksums, a manifest the engine takes, a card, and the way back."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import yaml
from onnx import TensorProto
from tokenizers import Tokenizer

from service.engine.bundle import load_bundle
from tests.training.export.exported import Exported, batch_of, id_pairs, recipe_of, write_quantised
from tests.training.tiny import VARIANTS, bahdanau, network, transformer
from training.config import VocabularyConfig, parse_recipe
from training.data.subwords import BOS, PAD, train_tokenizer
from training.export.bundle import ExportOptions, export_bundle
from training.export.card import DataCredit, ModelCard, Score, recipe_text
from training.export.dequantise import BundleReadError, dequantise_bundle, read_recipe
from training.export.manifest import Alignment, Decoding
from training.export.parity import ParityError, ParityLimits, torch_reference
from training.networks.build import build_network

CARD = ModelCard(
    data=(DataCredit("made-up", 1200, "CC0", "nobody | at all"),),
    seed=7,
    git_revision="abc",
    scores=(Score("made-up test", "BLEU", 12.5, "nrefs:1|case:mixed", "int8", 4),),
    notes="For tests.",
)
LOOSE = ParityLimits(attention=0.1, agreement=0.5, steps=0.1)
"""Networks of a few random numbers are hard on eight bits."""


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["a b c"], VocabularyConfig(size=300, min_frequency=1))


def _network(config: Any, vocabulary: int, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return build_network(config, vocabulary)


@pytest.fixture(scope="module", params=["transformer", "bahdanau"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    """A bundle of each architecture with every precision."""
    config = transformer(norm="pre") if request.param == "transformer" else bahdanau(tie_embeddings=True)
    vocabulary = tokenizer.get_vocab_size()
    options = ExportOptions(
        card=CARD,
        version="3",
        precisions=("int8", "fp16", "fp32"),
        decoding=Decoding(wrap_tokens=24),
        alignment=Alignment(0, 0, "consume", 0.2, 25.0, "ten sentences"),
        limits=LOOSE,
    )
    out = tmp_path_factory.mktemp("models") / "tiny-en-fr"
    pairs = id_pairs(vocabulary=vocabulary)
    return export_bundle(_network(config, vocabulary), tokenizer, recipe_of(config), pairs, out, options)


def test_the_engine_takes_it(folder: Path, tokenizer: Tokenizer) -> None:
    bundle = load_bundle(folder)
    assert bundle.manifest.vocabulary_size == tokenizer.get_vocab_size()
    assert bundle.manifest.version == "3"
    assert set(bundle.manifest.graphs) == {"int8", "fp16", "fp32"}
    assert bundle.manifest.attention.align.step == "consume"
    assert bundle.manifest.decoding.wrap_tokens == 24


def test_every_file_has_its_checksum(folder: Path) -> None:
    files = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    assert set(files) == {path.name for path in folder.iterdir()} - {"manifest.json"}
    for name, checksum in files.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == checksum


def test_the_arrays_of_the_manifest_are_those_of_the_graphs(folder: Path) -> None:
    graphs = json.loads((folder / "manifest.json").read_text("utf-8"))["graphs"]
    types = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}
    for section in graphs.values():
        decoder = onnx.load_model(str(folder / section["decoder"]), load_external_data=False).graph
        inputs = {value.name: value.type.tensor_type for value in decoder.input}
        outputs = {value.name for value in decoder.output}
        for array in section["memory"] + section["state"]:
            declared = inputs[array["name"]]
            assert declared.elem_type == types[array["dtype"]]
            assert [d.dim_param or d.dim_value for d in declared.shape.dim] == array["axes"]
        assert {f"next_{array['name']}" for array in section["state"]} <= outputs


def test_int8_and_fp16_share_one_file_without_gaps_or_copies(folder: Path) -> None:
    places: dict[tuple[int, int], set[str]] = {}
    for path in folder.glob("*.onnx"):
        for tensor in onnx.load_model(str(path), load_external_data=False).graph.initializer:
            entries = {entry.key: entry.value for entry in tensor.external_data}
            if not entries:
                continue
            assert entries["location"] == ("weights.fp32.bin" if "fp32" in path.name else "weights.bin")
            if "fp32" not in path.name:
                places.setdefault((int(entries["offset"]), int(entries["length"])), set()).add(tensor.name)
    ends = sorted(places)
    for (offset, length), (following, _) in itertools.pairwise(ends):
        assert offset + length <= following
    used = sum(length for _, length in places)
    assert used > 0.7 * (folder / "weights.bin").stat().st_size


def test_weights_of_eight_bits_are_a_quarter_of_the_floats(folder: Path) -> None:
    assert (folder / "weights.bin").stat().st_size < 0.7 * (folder / "weights.fp32.bin").stat().st_size


def test_the_card_tells_where_it_comes_from(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")
    for fact in (
        "CC0",
        "nobody \\| at all",
        "1,200",
        "12.50",
        "nrefs:1\\|case:mixed",
        "Seed 7",
        "25.0",
        "For tests.",
        "kind:",
    ):
        assert fact in text


def test_a_bundle_gives_its_network_back(folder: Path, tokenizer: Tokenizer) -> None:
    recipe = read_recipe(folder)
    fresh = build_network(recipe.network, tokenizer.get_vocab_size())
    original = _network(recipe.network, tokenizer.get_vocab_size()).state_dict()
    fresh.load_state_dict(dequantise_bundle(folder))
    for name, tensor in fresh.state_dict().items():
        if name.endswith(("output_bias", "output.bias")):
            assert not tensor[[PAD, BOS]].any()
        assert (tensor - original[name]).norm() <= 0.03 * original[name].norm() + 1e-6, name


def test_a_folder_that_is_no_bundle_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleReadError, match=r"manifest\.json"):
        dequantise_bundle(tmp_path)


def test_what_disagrees_is_not_exported(tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that forgets the positions: no bundle, and the old one stays."""
    config, vocabulary = transformer(), tokenizer.get_vocab_size()
    out = tmp_path / "models" / "tiny"
    out.mkdir(parents=True)
    (out / "old").write_text("kept")
    monkeypatch.setattr("training.export.transformer_parameters.sinusoidal_positions", lambda n, w: torch.zeros(n, w))
    with pytest.raises(ParityError, match="FAIL fp32"):
        export_bundle(
            _network(config, vocabulary),
            tokenizer,
            recipe_of(config),
            id_pairs(vocabulary=vocabulary),
            out,
            ExportOptions(card=CARD, precisions=("int8",), limits=LOOSE),
        )
    assert [path.name for path in out.parent.iterdir()] == ["tiny"]
    assert (out / "old").read_text() == "kept"


def test_exporting_twice_gives_the_same_bytes(tmp_path: Path, tokenizer: Tokenizer) -> None:
    config, vocabulary = bahdanau(), tokenizer.get_vocab_size()
    digests = set()
    for name in ("first", "second"):
        options = ExportOptions(card=CARD, precisions=("int8", "fp16"), limits=None)
        pairs = id_pairs(vocabulary=vocabulary)
        made = export_bundle(
            _network(config, vocabulary), tokenizer, recipe_of(config), pairs, tmp_path / name, options
        )
        digests.add(load_bundle(made).digest)
    assert len(digests) == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_comes_back_from_eight_bits(variant: str, tmp_path: Path) -> None:
    """The float products over int8 weights are those of PyTorch with the weights that are read back."""
    exported: Exported = write_quantised(VARIANTS[variant], tmp_path)
    document = {
        "graphs": {"int8": {"forced": "forced.int8.onnx"}},
        "card": {"recipe": recipe_of(exported.config).model_dump_json()},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(document))
    restored = network(exported.config)
    restored.load_state_dict(dequantise_bundle(tmp_path))
    batch = batch_of(id_pairs())
    valid = batch.target_out.numpy() != PAD
    ours = exported.force("expanded", batch)["logprobs"]
    np.testing.assert_allclose(ours[valid], torch_reference(restored, batch).logprobs[valid], atol=2e-3)


def test_a_card_names_files_without_the_folders_they_lay_in() -> None:
    recipe = recipe_of(transformer())
    own = recipe.corpora[0].model_copy(update={"name": "own", "path": Path("/home/somebody/own.tsv"), "licence": "CC0"})
    told = recipe_text(recipe.model_copy(update={"corpora": (own,), "start_from": Path("/home/somebody/models/old")}))
    assert "somebody" not in told
    assert "null" not in told
    again = parse_recipe(yaml.safe_load(told), "card")
    assert (again.corpora[0].path, again.corpora[0].licence) == (Path("own.tsv"), "CC0")
    assert again.start_from == Path("old")
    assert again.network == recipe.network
