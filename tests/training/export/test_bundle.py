"""A bundle: each weight once, checksums, a manifest the engine takes, a card, and the way back."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from tokenizers import Tokenizer

from service.bundle.load import load_bundle
from service.bundle.manifest import AlignmentHead, DecodingDefaults, GoldRate
from service.bundle.vocabulary import BOS, PAD
from tests.support.exported import CARD, LOOSE, Array, batch_of, id_pairs, recipe_of, write_quantised
from tests.support.tiny_networks import VARIANTS, bahdanau, network, transformer
from training.data.padding import PaddedPairs
from training.data.subwords import train_tokenizer
from training.export import parity
from training.export.bundle import ExportOptions, require_replaceable
from training.export.compare import ParityError
from training.export.dequantise import BundleReadError, dequantise_bundle, read_recipe
from training.export.parity import half_provider
from training.export.trained import export_bundle, torch_reference
from training.networks.build import build_network
from training.recipe import VocabularyConfig


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["a b c"], VocabularyConfig(size=300, min_frequency=1))


def _network(config: Any, vocabulary: int) -> Any:
    torch.manual_seed(0)
    return build_network(config, vocabulary)


def export(config: Any, tokenizer: Tokenizer, out: Path, **options: Any) -> Path:
    """Write a bundle of int8 graphs that were not compared, if ``options`` say nothing else."""
    vocabulary = tokenizer.get_vocab_size()
    chosen = ExportOptions(**{"card": CARD, "precisions": ("int8",), "limits": None, **options})
    pairs = id_pairs(vocabulary=vocabulary)
    return export_bundle(_network(config, vocabulary), tokenizer, recipe_of(config), pairs, out, chosen)


@pytest.fixture(scope="module", params=["transformer", "bahdanau"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    return export(
        transformer(norm="pre") if request.param == "transformer" else bahdanau(tie_embeddings=True),
        tokenizer,
        tmp_path_factory.mktemp("models") / "tiny-en-fr",
        version="3",
        precisions=("int8", "fp16", "fp32"),
        decoding=DecodingDefaults(wrap_tokens=24),
        alignment=AlignmentHead(0, 0, "consume", 0.2, 25.0, "ten sentences"),
        limits=LOOSE,
    )


def test_the_service_reads_it_and_every_file_has_its_checksum(folder: Path, tokenizer: Tokenizer) -> None:
    manifest = load_bundle(folder).manifest  # compares the checksums
    assert (manifest.vocabulary_size, manifest.version) == (tokenizer.get_vocab_size(), "3")
    assert set(manifest.graphs) == {"int8", "fp16", "fp32"}
    assert (manifest.attention.align.step, manifest.decoding.wrap_tokens) == ("consume", 24)
    assert set(manifest.files) == {path.name for path in folder.iterdir()} - {"manifest.json"}


def test_int8_and_fp16_share_one_file_without_gaps_or_copies(folder: Path) -> None:
    places = set()
    for path in folder.glob("*.onnx"):
        for tensor in onnx.load_model(str(path), load_external_data=False).graph.initializer:
            entries = {entry.key: entry.value for entry in tensor.external_data}
            if entries:
                assert entries["location"] == ("weights.fp32.bin" if "fp32" in path.name else "weights.bin")
            if entries and "fp32" not in path.name:
                places.add((int(entries["offset"]), int(entries["length"])))
    assert all(offset + length <= following for (offset, length), (following, _) in itertools.pairwise(sorted(places)))
    size = (folder / "weights.bin").stat().st_size
    assert sum(length for _, length in places) > 0.7 * size
    assert size < 0.7 * (folder / "weights.fp32.bin").stat().st_size


def test_the_card_tells_where_it_comes_from(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")
    facts = ["CC0", "nobody \\| at all", "1,200", "12.50", "nrefs:1\\|case:mixed", "Seed 7", "25.0", "For tests."]
    assert all(fact in text for fact in [*facts, "kind:"])


def test_a_bundle_gives_its_network_back(folder: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(BundleReadError, match=r"manifest\.json"):
        dequantise_bundle(tmp_path)
    recipe = read_recipe(folder)
    fresh = build_network(recipe.network, tokenizer.get_vocab_size())
    original = _network(recipe.network, tokenizer.get_vocab_size()).state_dict()
    fresh.load_state_dict(dequantise_bundle(folder))
    for name, tensor in fresh.state_dict().items():
        if name.endswith(("output_bias", "output.bias")):
            assert not tensor[[PAD, BOS]].any()
        assert (tensor - original[name]).norm() <= 0.03 * original[name].norm() + 1e-6, name


def test_what_disagrees_is_not_exported(tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that forgets the positions: no bundle, and the old one stays."""
    out = tmp_path / "models" / "tiny"
    out.mkdir(parents=True)
    (out / "manifest.json").write_text("kept")
    forgetting = "training.export.graphs.architecture.sinusoidal_table"
    monkeypatch.setattr(forgetting, lambda length, width, layout: np.zeros((length, width), np.float32))
    with pytest.raises(ParityError, match="FAIL fp32"):
        export(transformer(), tokenizer, out, limits=LOOSE)
    assert [path.name for path in out.parent.iterdir()] == ["tiny"]
    assert (out / "manifest.json").read_text() == "kept"


def test_the_manifest_says_what_was_compared(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    parity = manifest["parity"]
    compared = {(entry["precision"], entry["what"].split(",")[0]) for entry in parity["compared"]}
    kinds = ["cross"] if manifest["architecture"] == "bahdanau" else ["cross", "encoder", "decoder"]
    for kind in kinds:
        assert ("int8", f"total variation of {kind} attention") in compared
    assert ("int8", "mean difference of forced log-probabilities") in compared
    assert ("int8", "greedy tokens as PyTorch chooses") in compared
    assert ("fp32", "largest difference of attention weights") in compared
    assert parity["not_compared"] == [] if half_provider() else ["fp16"]
    for entry in parity["compared"]:
        assert entry["value"] <= entry.get("at_most", 1.0)
        assert entry["value"] >= entry.get("at_least", 0.0)


def one_wrong_head(weights: Array, layer: int, head: int) -> Array:
    weights[:, layer, head] = np.eye(weights.shape[-1])[0]
    return weights


@pytest.mark.parametrize(
    ("output", "broken", "named"),
    [
        ("cross_attention", lambda weights: one_wrong_head(weights, 0, 0),
         r"total variation of cross attention, worst head \(0, 0\)"),
        ("encoder_attention", lambda weights: one_wrong_head(weights, 1, 1),
         r"total variation of encoder attention, worst head \(1, 1\)"),
        ("logprobs", lambda logprobs: logprobs - 0.6, "mean difference of forced log-probabilities"),
        # Every row looks a little more at its first place: small in total, and yet the link moves.
        ("cross_attention", lambda weights: weights + 0.3 * np.eye(weights.shape[-1])[0],
         r"links of the aligning head \(0, 0\)"),
    ],
)  # fmt: skip
def test_what_eight_bits_break_is_not_exported(
    output: str,
    broken: Callable[[Array], Array],
    named: str,
    tmp_path: Path,
    tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One head of many, or the log-probabilities alone; the graphs in floats are right."""
    honest = parity.force

    def force(session: onnxruntime.InferenceSession, batch: PaddedPairs) -> dict[str, Any]:
        result = honest(session, batch)
        if "int8" in str(session._model_path):
            result[output] = broken(result[output])
        return result

    monkeypatch.setattr(parity, "force", force)
    with pytest.raises(ParityError, match=f"FAIL int8  {named}"):
        export(transformer(), tokenizer, tmp_path / "tiny", alignment=AlignmentHead(0, 0), limits=LOOSE)
    assert not (tmp_path / "tiny").exists()


def test_half_precision_is_compared_where_something_runs_it(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CPU runs a Transformer in half precision; the exporter asks for a GPU, which serves it."""
    monkeypatch.setattr(parity, "half_provider", lambda: "CPUExecutionProvider")
    made = export(transformer(), tokenizer, tmp_path / "t", precisions=("int8", "fp16"), limits=LOOSE)
    found = json.loads((made / "manifest.json").read_text("utf-8"))["parity"]
    assert {entry["precision"] for entry in found["compared"]} == {"int8", "fp16", "fp32"}
    assert found["not_compared"] == []


def test_manifest_and_card_tell_how_the_model_was_trained_and_aligned(tmp_path: Path, tokenizer: Tokenizer) -> None:
    measured = AlignmentHead(
        0, 0, "produce", 0.2, 13.5, "an aligner's links", "silver", GoldRate(aer=28.9, measured_on="Hansards")
    )
    stage = {"from_update": 0, "to_update": 900, "precision": "fp32", "git_revision": "abc", "changed": {}}
    began = {"bundle": "old", "version": "3", "git_revision": "aaa", "legs": []}
    second = {**stage, "from_update": 900, "to_update": 1200, "changed": {"optimisation.peak_rate": 0.0005}}
    card = replace(CARD, stages=({**stage, "began_from": began}, second), exported_with="def")
    made = export(bahdanau(), tokenizer, tmp_path / "t", card=card, alignment=measured)
    manifest, text = load_bundle(made).manifest, (made / "README.md").read_text("utf-8")
    align = manifest.attention.align
    assert (align.aer, align.against, align.gold) == (13.5, "silver", {"aer": 28.9, "measured_on": "Hansards"})
    assert [leg["to_update"] for leg in manifest.card["legs"]] == [900, 1200]
    assert manifest.card["exported_with"] == "def"
    for told in (
        "13.5 on an aligner's links (silver:",
        "28.9 against links from people, Hansards",
        "began with the parameters of bundle old, version 3",
        "Updates 900 to 1,200, fp32, revision `abc`, changed: optimisation.peak_rate: 0.0005",
    ):
        assert told in text


def test_exporting_twice_gives_the_same_bytes(tmp_path: Path, tokenizer: Tokenizer) -> None:
    made = [export(bahdanau(), tokenizer, tmp_path / name, precisions=("int8", "fp16")) for name in ("one", "two")]
    assert len({load_bundle(path).digest for path in made}) == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_comes_back_from_eight_bits(variant: str, tmp_path: Path) -> None:
    """The float products over int8 weights are those of PyTorch with the weights that are read back."""
    exported = write_quantised(VARIANTS[variant], tmp_path)
    card = {"recipe": recipe_of(exported.config).model_dump_json()}
    document = {"graphs": {"int8": {"forced": "forced.int8.onnx"}}, "card": card}
    (tmp_path / "manifest.json").write_text(json.dumps(document))
    restored = network(exported.config)
    restored.load_state_dict(dequantise_bundle(tmp_path))
    batch = batch_of(id_pairs())
    valid = batch.target_out.numpy() != PAD
    ours = exported.force("expanded", batch)["logprobs"]
    np.testing.assert_allclose(ours[valid], torch_reference(restored, batch).logprobs[valid], atol=2e-3)


def test_only_a_bundle_is_replaced(folder: Path, tmp_path: Path) -> None:
    require_replaceable(tmp_path / "new")
    require_replaceable(tmp_path)
    require_replaceable(folder)
    thesis = tmp_path / "notes.txt"
    thesis.write_text("years of work")
    for place in (tmp_path, thesis):
        with pytest.raises(FileExistsError, match="not replaced"):
            require_replaceable(place)
