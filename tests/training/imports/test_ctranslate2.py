"""CTranslate2 folders and Argos packages in our network, against CTranslate2 itself."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch
from ctranslate2.converters import TransformersConverter
from ctranslate2.specs import TransformerSpec

from service.bundle.vocabulary import BOS, EOS
from tests.training.imports.marian_models import ENGLISH, MarianShape, train_pieces, write_model
from training.imports.argos import installed_packages, read_argos
from training.imports.ctranslate2 import Ctranslate2Options, read_ctranslate2
from training.imports.sentencepiece_file import read_sentencepiece
from training.imports.source import ImportedModel
from training.networks.build import build_network
from training.networks.transformer import Transformer, sinusoidal_positions


def network_of(model: ImportedModel) -> Transformer:
    """Return our network with an imported model's parameters."""
    network = build_network(model.network, model.vocabulary_size)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in model.state.items()})
    assert isinstance(network, Transformer)
    return network.eval()


def opennmt_folder(folder: Path, pre_norm: bool = True, **changed: Any) -> Path:
    """Write a CTranslate2 folder as OpenNMT-py's models become one, and its SentencePiece model beside it."""
    folder.mkdir(parents=True)
    train_pieces(folder, MarianShape(byte_fallback=True))
    model = read_sentencepiece(folder / "source.spm")
    pieces = ["<unk>", "<blank>", "<s>", "</s>", *(piece.text for piece in model.pieces if piece.matches_text)]
    generator = np.random.default_rng(1)
    spec = TransformerSpec.from_config((3, 2), 4, pre_norm=pre_norm)
    width, inner, vocabulary = 32, 64, len(pieces)

    def numbers(*shape: int, scale: float = 0.25) -> Any:
        return (generator.standard_normal(shape) * scale).astype(np.float32)

    def linear(part: Any, rows: int, columns: int, bias: bool = True) -> None:
        part.weight = numbers(rows, columns)
        if bias:
            part.bias = numbers(rows, scale=0.1)

    def norm(part: Any) -> None:
        part.gamma, part.beta = 1 + numbers(width, scale=0.1), numbers(width, scale=0.1)

    table = numbers(vocabulary, width)
    positions = sinusoidal_positions(128, width).numpy()
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = table
    spec.encoder.position_encodings.encodings = spec.decoder.position_encodings.encodings = positions
    spec.decoder.projection.weight, spec.decoder.projection.bias = table, numbers(vocabulary, scale=0.3)
    for side in (spec.encoder, spec.decoder):
        if pre_norm:
            norm(side.layer_norm)
        for layer in side.layer:
            for attention in [layer.self_attention, *([layer.attention] if side is spec.decoder else [])]:
                sizes = (3, 1) if attention is layer.self_attention else (1, 2, 1)
                for part, size in zip(attention.linear, sizes, strict=True):
                    linear(part, size * width, width, bias=size > 1)  # as without add_qkvbias, partly
                norm(attention.layer_norm)
            linear(layer.ffn.linear_0, inner, width)
            linear(layer.ffn.linear_1, width, inner)
            norm(layer.ffn.layer_norm)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    spec.optimize(quantization=changed.get("quantization"))
    spec.save(str(folder))
    return folder


def marian_folder(folder: Path, quantization: str | None) -> Path:
    """Write a CTranslate2 folder as ``ct2-transformers-converter`` makes it of a MarianMT model."""
    hub = folder.with_name("hub")
    write_model(hub, MarianShape(byte_fallback=True))
    TransformersConverter(str(hub)).convert(str(folder), quantization=quantization)
    for side in ("source", "target"):
        (hub / f"{side}.spm").rename(folder / f"{side}.spm")
    return folder


def options(folder: Path, target: bool) -> Ctranslate2Options:
    return Ctranslate2Options(
        "imported", ("en",), ("fr",), folder / "source.spm", folder / "target.spm" if target else None, licence="MIT"
    )


def greedy(network: Transformer, source: list[int], steps: int) -> tuple[list[int], float]:
    """Return the likeliest token at every step until </s>, and the sum of their log-probabilities."""
    memory = network.encode(torch.tensor([source]), torch.tensor([len(source)]))
    state, token, total = network.start(memory), torch.tensor([BOS]), 0.0
    ids: list[int] = []
    for _ in range(steps):
        logits, state, _ = network.step(token, state, memory)
        logprobs = logits.log_softmax(-1)
        token = logprobs.argmax(-1)
        total += float(logprobs.max())
        if int(token) == EOS:
            break
        ids.append(int(token))
    return ids, total


KINDS = ["opennmt", "opennmt-post-norm", "opennmt-int8", "marian", "marian-int16", "marian-float16"]


@pytest.mark.filterwarnings("ignore:Recommended")  # what transformers' tokenizer would like to have beside it
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_and_scores_are_those_of_ctranslate2(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    stored = kind.rpartition("-")[2]
    quantization = stored if stored in ("int8", "int16", "float16") else None
    marian = kind.startswith("marian")
    if marian:
        marian_folder(folder, quantization)
    else:
        opennmt_folder(folder, "post" not in kind, quantization=quantization)
    model = read_ctranslate2(folder, options(folder, marian))
    assert model.source_end is marian
    network = network_of(model)
    theirs = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    names = json.loads((folder / "shared_vocabulary.json").read_text(encoding="utf-8"))
    never = np.setdiff1d(np.arange(len(names)), model.rows[1][model.target.producible])
    sources = [model.source.tokenizer.encode(text, add_special_tokens=False).ids for text in ENGLISH[:60]]
    found = theirs.translate_batch(
        [[names[model.rows[0][number]] for number in ids] + ["</s>"] * marian for ids in sources],
        beam_size=1,
        min_decoding_length=0,
        max_decoding_length=8,
        length_penalty=0,
        return_scores=True,
        suppress_sequences=[[names[number]] for number in never.tolist()],
    )
    equal = 0
    for ids, other in zip(sources, found, strict=True):
        with torch.no_grad():
            own, total = greedy(network, [*ids, EOS] if marian else ids, 8)
        same = [names[model.rows[1][number]] for number in own] == other.hypotheses[0]
        equal += same
        assert not same or total == pytest.approx(other.scores[0], abs=3e-3)
    assert equal >= 0.95 * len(sources)  # where two tokens are equally likely, the last digit decides


def test_packages_are_read_packed_and_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = opennmt_folder(tmp_path / "made")
    package = tmp_path / "packages" / "translate-en_fr-1_0"
    (package / "model").mkdir(parents=True)
    for path in folder.iterdir():
        if path.suffix != ".spm":
            path.rename(package / "model" / path.name)
    (folder / "source.spm").rename(package / "sentencepiece.model")
    metadata = {"from_code": "en", "to_code": "fr", "package_version": "1.0"}
    (package / "metadata.json").write_text(json.dumps(metadata))
    archive = tmp_path / "translate-en_fr.argosmodel"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(package.rglob("*")):
            packed.write(path, Path(package.name) / path.relative_to(package))
        packed.writestr("../../escaped.txt", "climbed out")
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(package.parent))
    assert installed_packages() == [package]
    for path in (archive, package):
        model = read_argos(path, None, "CC0-1.0")
        assert (model.name, model.source_languages, model.targets[0].language) == ("argos-en-fr", ("en",), "fr")
        assert (model.decoding.beam_size, model.decoding.length_penalty) == (4, 0.2)
        assert model.source_end is False
    assert not (tmp_path.parent / "escaped.txt").exists()
