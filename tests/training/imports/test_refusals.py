"""Refused imports: one sentence says what was found and what is accepted."""

import json
import os
import pickle
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file

from tests.training.imports.marian_models import ENGLISH, MarianShape, write_model
from tests.training.imports.opennmt_models import opennmt_folder
from training.imports.argos import installed_packages, read_argos
from training.imports.ctranslate2 import Ctranslate2Options, read_ctranslate2
from training.imports.files import ImportRefused
from training.imports.marian import MarianOptions, read_marian

Spoil = Callable[[Path], Any]


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a MarianMT folder that can be imported."""
    folder = tmp_path_factory.mktemp("hub") / "opus-mt-en-fr"
    write_model(folder)
    return folder


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a CTranslate2 folder that can be imported."""
    return opennmt_folder(tmp_path_factory.mktemp("ctranslate2") / "model")


def changed(name: str, **values: Any) -> Spoil:
    """Change keys of a JSON file."""

    def spoil(folder: Path) -> None:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(content | values, ensure_ascii=False), encoding="utf-8")

    return spoil


def config(**values: Any) -> Spoil:
    return changed("config.json", **values)


def written(name: str, content: bytes) -> Spoil:
    return lambda folder: (folder / name).write_bytes(content)


def removed(*names: str) -> Spoil:
    def spoil(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return spoil


def edited(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def cut(name: str, share: float = 0.5) -> Spoil:
    return edited(name, lambda data: data[: int(len(data) * share)])


def without_piece(piece: str) -> Spoil:
    def spoil(folder: Path) -> None:
        pieces = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        del pieces[piece]
        (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")

    return spoil


def tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Spoil:
    def spoil(folder: Path) -> None:
        content = load_file(folder / "model.safetensors")
        change(content)
        save_file(content, folder / "model.safetensors")

    return spoil


def pickled(content: object) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        with (folder / "pytorch_model.bin").open("wb") as file:
            pickle.dump(content, file, protocol=2)

    return spoil


def saved(content: object, share: float = 1) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        torch.save(content, folder / "pytorch_model.bin")
        cut("pytorch_model.bin", share)(folder)

    return spoil


class RunsCode:
    """A pickle that would run a command."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/a-pickle-ran",)


def other_pieces(kind: str, **settings: Any) -> Spoil:
    def spoil(folder: Path) -> None:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(ENGLISH), model_prefix=str(folder / "other"), model_type=kind, vocab_size=200,
            hard_vocab_limit=False, minloglevel=2, num_threads=1, **settings,
        )  # fmt: skip
        (folder / "other.model").rename(folder / "source.spm")

    return spoil


MARIAN: dict[str, tuple[Spoil, str]] = {
    "another architecture": (config(model_type="m2m_100"), "model_type is 'm2m_100'; 'marian' can be imported"),
    "pre-norm": (config(normalize_before=True), "normalize_before is true"),
    "normalised embeddings": (config(normalize_embedding=True), "normalize_embedding is true"),
    "a final norm": (config(add_final_layer_norm=True), "add_final_layer_norm is true"),
    "learnt positions, said": (config(static_position_embeddings=False), "static_position_embeddings is false"),
    "an untied output": (config(tie_word_embeddings=False), "tie_word_embeddings is false"),
    "an unknown activation": (config(activation_function="tanh"), "'tanh'; relu, swish, silu, gelu can be imported"),
    "heads that do not divide": (config(encoder_attention_heads=5, decoder_attention_heads=5), "multiple of heads 5"),
    "unequal heads": (config(decoder_attention_heads=2), "decoder_attention_heads is 2; equal ones"),
    "unequal layers": (config(decoder_ffn_dim=128), "encoder_ffn_dim is 64 and decoder_ffn_dim is 128"),
    "no width": (config(d_model=None), "width"),
    "no start": (config(decoder_start_token_id=None), "decoder_start_token_id is None"),
    "a start outside": (config(decoder_start_token_id=99999), "the decoder starts with id 99999"),
    "more layers than there are": (config(encoder_layers=4), "encoder.layers.2.self_attn.q_proj.weight is missing"),
    "fewer layers than there are": (config(decoder_layers=1), "tensors have no place in our Transformer"),
    "fewer rows than ids": (config(vocab_size=20), "but the network has 20 embeddings"),
    "no configuration": (removed("config.json"), "config.json: there is no such file"),
    "a configuration that is no JSON": (written("config.json", b"{"), "is not valid JSON"),
    "a configuration that is a list": (written("config.json", b"[]"), "a JSON object is needed"),
    "no vocabulary": (removed("vocab.json"), "the model's vocabulary is needed"),
    "a vocabulary that is no JSON": (written("vocab.json", b"a\nb\n"), "vocab.json: it is not valid JSON"),
    "a vocabulary that is a list": (written("vocab.json", b'["a"]'), "an id for every piece is needed"),
    "an id twice": (changed("vocab.json", other=0), "two pieces have the same id"),
    "no end": (without_piece("</s>"), "</s> is missing from the vocabulary"),
    "no unknown": (without_piece("<unk>"), "<unk> is missing from the vocabulary"),
    "no padding": (without_piece("<pad>"), "<pad> is missing from the vocabulary"),
    "no pieces": (removed("source.spm"), "source.spm: there is no such file"),
    "pieces cut off": (cut("target.spm"), "target.spm: it is no SentencePiece model, or it is cut off"),
    "pieces that are text": (written("source.spm", b"hello world"), "source.spm: it is no SentencePiece model"),
    "pieces of words": (other_pieces("word"), "of type word; unigram and bpe can be imported"),
    "pieces of characters": (other_pieces("char"), "of type char"),
    "spaces behind": (other_pieces("unigram", treat_whitespace_as_suffix=True), "puts white space behind words"),
    "no checkpoint": (removed("model.safetensors"), "model.safetensors or pytorch_model.bin is needed"),
    "a checkpoint cut off": (cut("model.safetensors", 0.9), "cannot be read as safetensors, or is cut off"),
    "a checkpoint that is text": (written("model.safetensors", b"version https://git-lfs"), "cannot be read"),
    "a pickle with code": (pickled(RunsCode()), "it is no PyTorch checkpoint of weights alone"),
    "a pickle of a list": (saved([torch.ones(1)]), "a dictionary of tensors is needed"),
    "a pickle cut off": (saved({"a": torch.ones(9)}, 0.5), "or it is cut off"),
    "a tensor missing": (tensors(lambda t: t.pop("model.encoder.layers.0.fc1.weight")), "fc1.weight is missing"),
    "a tensor too many": (tensors(lambda t: t.update(extra=torch.zeros(2))), "extra among them"),
    "integers": (tensors(lambda t: t.update(final_logits_bias=torch.zeros(1, 3, dtype=torch.int8))), "torch.int8"),
    "an untied output, in the file": (
        tensors(lambda t: t.update({"lm_head.weight": torch.ones_like(t["model.shared.weight"])})),
        "differ; models whose output layer is tied",
    ),
    "learnt positions, in the file": (
        tensors(lambda t: t.update({"model.encoder.embed_positions.weight": torch.ones(128, 32)})),
        "was learnt; sinusoidal positions can be imported",
    ),
    "no licence": (removed("README.md"), "give it as --licence"),
    "the template's licence": (written("README.md", b"---\nlicense: apache-2.0\n---\n"), "--licence CC-BY-4.0"),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "message"), MARIAN.values(), ids=MARIAN)
def test_hub_folders(spoil: Spoil, message: str, marian: Path, tmp_path: Path) -> None:
    folder = tmp_path / "opus-mt-en-fr"
    shutil.copytree(marian, folder)
    spoil(folder)
    with pytest.raises(ImportRefused) as caught:
        read_marian(folder, MarianOptions("imported"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not Path("/tmp/a-pickle-ran").exists()


LANGUAGES: dict[str, tuple[dict[str, Any], str]] = {
    "no language": ({"source": ("ROMANCE",)}, "'ROMANCE' is no language code"),
    "two targets of one": ({"target": ("fr", "es")}, "it translates into one language, but --target names 2"),
}


@pytest.mark.parametrize(("languages", "message"), LANGUAGES.values(), ids=LANGUAGES)
def test_languages(languages: dict[str, Any], message: str, marian: Path) -> None:
    with pytest.raises(ImportRefused, match=message):
        read_marian(marian, MarianOptions("imported", **languages))


def test_a_target_that_a_model_of_several_does_not_have(tmp_path: Path) -> None:
    write_model(tmp_path, MarianShape(language_tokens=(">>fra<<", ">>spa<<", ">>test<<")))
    model = read_marian(tmp_path, MarianOptions("imported", ("en",)))
    assert [(target.language, len(target.prefix)) for target in model.targets] == [("fr", 1), ("es", 1)]
    with pytest.raises(ImportRefused, match="it does not translate into de; it has es, fr"):
        read_marian(tmp_path, MarianOptions("imported", ("en",), ("de",)))


def replaced(name: str, old: bytes, new: bytes) -> Spoil:
    def spoil(folder: Path) -> None:
        data = (folder / name).read_bytes()
        assert old in data
        (folder / name).write_bytes(data.replace(old, new, 1))

    return spoil


CTRANSLATE2: dict[str, tuple[Spoil, str]] = {
    "no model": (removed("model.bin"), "model.bin: there is no such file"),
    "a model cut off": (cut("model.bin", 0.7), "it is no CTranslate2 model, or it is cut off"),
    "a model that is text": (written("model.bin", b"hello, this is no model"), "CTranslate2"),
    "a newer format": (
        edited("model.bin", lambda data: struct.pack("I", 9) + data[4:]),
        "version 9 of CTranslate2's format; 2 to 6 can be imported",
    ),
    "another network": (replaced("model.bin", b"TransformerSpec", b"WhisperSpecific"), "it is a WhisperSpecific"),
    "something behind": (edited("model.bin", lambda data: data + b"."), "so it is damaged"),
    "no vocabulary": (removed("shared_vocabulary.json"), "or one for source and one for target"),
    "a vocabulary that is an object": (written("shared_vocabulary.json", b"{}"), "a list of pieces is needed"),
    "a piece twice": (written("shared_vocabulary.json", b'["a", "a"]'), "a piece stands in it twice"),
    "a start that is no piece": (config(decoder_start_token="<go>"), "starts with <go>"),
    "packed weights": (config(quantization_type="awq"), "its weights are packed"),
    "no pieces": (removed("source.spm"), "source.spm: there is no such file"),
    "relative positions": (replaced("model.bin", b"position_encodings", b"relative_positions"), "does not have"),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "message"), CTRANSLATE2.values(), ids=CTRANSLATE2)
def test_ctranslate2_folders(spoil: Spoil, message: str, converted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(converted, folder)
    spoil(folder)
    with pytest.raises(ImportRefused) as caught:
        read_ctranslate2(folder, Ctranslate2Options("imported", ("en",), ("fr",), folder / "source.spm", licence="MIT"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def packed(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(f"package/{name.replace('__', '/').replace('_DOT_', '.')}", content)
    return path


def test_argos_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.argosmodel"
    text.write_text("no archive")
    said = {"metadata_DOT_json": b'{"from_code": "en", "to_code": "fr"}', "model__model_DOT_bin": b"x"}
    cases = {
        tmp_path / "absent.argosmodel": "there is no such file",
        text: "it is no zip archive that can be read",
        packed(tmp_path / "empty.argosmodel"): "it is no Argos package",
        packed(tmp_path / "bad.argosmodel", **said | {"metadata_DOT_json": b"{"}): "is not valid JSON",
        packed(tmp_path / "silent.argosmodel", **said | {"metadata_DOT_json": b"{}"}): "does not say from_code",
        packed(tmp_path / "prefix.argosmodel", **said | {
            "metadata_DOT_json": b'{"from_code": "en", "to_code": "pt", "target_prefix": "__pt__"}'
        }): "it has a target_prefix",
        packed(tmp_path / "model.argosmodel", **said): "model.argosmodel: model/model.bin: it is no CTranslate2 model",
    }  # fmt: skip
    for path, message in cases.items():
        with pytest.raises(ImportRefused, match=message):
            read_argos(path, None, "MIT")
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(ImportRefused, match="set ARGOS_PACKAGES_DIR"):
        installed_packages()
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path))
    with pytest.raises(ImportRefused, match="it holds no packages"):
        installed_packages()
