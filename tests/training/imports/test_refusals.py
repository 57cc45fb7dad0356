"""Refused imports: one sentence says what was found and what is accepted."""

import io
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
import torch
from safetensors.torch import load_file, save_file

from tests.training.imports.marian_models import MarianShape, write_model
from tests.training.imports.opennmt_models import opennmt_folder
from tests.training.imports.toy_text import ENGLISH, sentencepiece_model
from training.imports.argos import installed_packages, read_argos
from training.imports.ctranslate2 import read_ctranslate2
from training.imports.files import ImportRefused
from training.imports.marian import read_marian
from training.imports.source import ReadOptions

Spoil = Callable[[Path], Any]


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return opennmt_folder(tmp_path_factory.mktemp("ctranslate2") / "model")


def edited(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def edited_json(name: str, change: Callable[[dict[str, Any]], object]) -> Spoil:
    def changed(data: bytes) -> bytes:
        content = json.loads(data)
        change(content)
        return json.dumps(content).encode()

    return edited(name, changed)


def written(name: str, content: bytes) -> Spoil:
    return lambda folder: (folder / name).write_bytes(content)


def removed(name: str) -> Spoil:
    return lambda folder: (folder / name).unlink()


def cut(name: str, share: float = 0.5) -> Spoil:
    return edited(name, lambda data: data[: int(len(data) * share)])


def replaced(old: bytes, new: bytes) -> Spoil:
    return edited("model.bin", lambda data: data.replace(old, new, 1))


def config(**values: Any) -> Spoil:
    return edited_json("config.json", lambda content: content.update(values))


def vocabulary(change: Callable[[dict[str, int]], object]) -> Spoil:
    return edited_json("vocab.json", change)


def tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        content = load_file(folder / "model.safetensors")
        change(content)
        save_file(content, folder / "model.safetensors")

    return spoil


def pickled(content: bytes) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(content)

    return spoil


def saved(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


class RunsCode:
    """A pickle that would run a command."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/a-pickle-ran",)


def last_pieces(*names: str) -> Spoil:
    """Give the last rows of a CTranslate2 model other names."""

    def spoil(folder: Path) -> None:
        path = folder / "shared_vocabulary.json"
        path.write_text(json.dumps([*json.loads(path.read_text())[: -len(names)], *names]))

    return spoil


def other_pieces(kind: str, **settings: Any) -> Spoil:
    return written("source.spm", sentencepiece_model(ENGLISH, model_type=kind, vocab_size=200, **settings))


MARIAN: dict[str, tuple[Spoil, str]] = {
    "another architecture": (config(model_type="m2m_100"), "model_type is 'm2m_100'; 'marian' can be imported"),
    "pre-norm": (config(normalize_before=True), "normalize_before is true"),
    "learnt positions, said": (config(static_position_embeddings=False), "static_position_embeddings is false"),
    "an untied output": (config(tie_word_embeddings=False), "tie_word_embeddings is false"),
    "an unknown activation": (config(activation_function="tanh"), "'tanh'; relu, swish, silu, gelu can be imported"),
    "heads that do not divide": (config(encoder_attention_heads=5, decoder_attention_heads=5), "multiple of heads 5"),
    "unequal heads": (config(decoder_attention_heads=2), "decoder_attention_heads is 2; equal ones"),
    "no width": (config(d_model=None), "width"),
    "no start": (config(decoder_start_token_id=None), "decoder_start_token_id is None"),
    "a start outside": (config(decoder_start_token_id=99999), "the decoder starts with id 99999"),
    "fewer rows than ids": (config(vocab_size=20), "but the network has 20 embeddings"),
    "no configuration": (removed("config.json"), "config.json: there is no such file"),
    "a configuration that is no JSON": (written("config.json", b"{"), "is not valid JSON"),
    "a configuration that is a list": (written("config.json", b"[]"), "a JSON object is needed"),
    "no vocabulary": (removed("vocab.json"), "vocab.json: there is no such file"),
    "a vocabulary of names": (written("vocab.json", b'{"a": "b"}'), "an id for every piece is needed"),
    "an id twice": (vocabulary(lambda pieces: pieces.update(other=0)), "two pieces have the same id"),
    "no end": (vocabulary(lambda pieces: pieces.pop("</s>")), "</s> is missing from the vocabulary"),
    "no pieces": (removed("source.spm"), "source.spm: there is no such file"),
    "pieces cut off": (cut("target.spm"), "target.spm: it is no SentencePiece model, or it is cut off"),
    "an empty file of pieces": (written("target.spm", b""), "target.spm: it holds no pieces"),
    "pieces of words": (other_pieces("word"), "of type word; unigram, bpe and char can be imported"),
    "spaces behind": (other_pieces("unigram", treat_whitespace_as_suffix=True), "puts white space behind words"),
    "no checkpoint": (removed("model.safetensors"), "model.safetensors or pytorch_model.bin is needed"),
    "a checkpoint cut off": (cut("model.safetensors", 0.9), "cannot be read as safetensors, or is cut off"),
    "a pickle with code": (pickled(pickle.dumps(RunsCode(), protocol=2)), "no PyTorch checkpoint of weights alone"),
    "a pickle of a list": (pickled(saved([torch.ones(1)])), "a dictionary of tensors is needed"),
    "a pickle cut off": (pickled(saved({"a": torch.ones(9)})[:500]), "or it is cut off"),
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


def refused(read: Callable[[], object]) -> str:
    """Return the one sentence with which a reader refuses a model."""
    with pytest.raises(ImportRefused) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("spoil", "message"), MARIAN.values(), ids=MARIAN)
def test_hub_folders(spoil: Spoil, message: str, marian: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(marian, tmp_path / "opus-mt-en-fr")
    spoil(folder)
    assert message in refused(lambda: read_marian(folder, ReadOptions("imported")))
    assert not Path("/tmp/a-pickle-ran").exists()


def test_languages(marian: Path) -> None:
    said = refused(lambda: read_marian(marian, ReadOptions("imported", source=("ROMANCE",))))
    assert "'ROMANCE' is no language code" in said
    said = refused(lambda: read_marian(marian, ReadOptions("imported", target=("fr", "es"))))
    assert "it translates into one language, but --to names 2" in said


def test_a_target_that_a_model_of_several_does_not_have(tmp_path: Path) -> None:
    write_model(tmp_path, MarianShape(language_tokens=(">>fra<<", ">>spa<<", ">>test<<")))
    model = read_marian(tmp_path, ReadOptions("imported", ("en",)))
    assert [(target.language, len(target.prefix)) for target in model.targets] == [("fr", 1), ("es", 1)]
    with pytest.raises(ImportRefused, match="it does not translate into de; it has es, fr"):
        read_marian(tmp_path, ReadOptions("imported", ("en",), ("de",)))


CTRANSLATE2: dict[str, tuple[Spoil, str]] = {
    "no model": (removed("model.bin"), "model.bin: there is no such file"),
    "a model cut off": (cut("model.bin", 0.7), "it is no CTranslate2 model, or it is cut off"),
    "a newer format": (
        edited("model.bin", lambda data: struct.pack("I", 9) + data[4:]),
        "version 9 of CTranslate2's format; 1 to 6 can be imported",
    ),
    "another network": (replaced(b"TransformerSpec", b"WhisperSpecific"), "it is a WhisperSpecific"),
    "something behind": (edited("model.bin", lambda data: data + b"."), "so it is damaged"),
    "no vocabulary": (removed("shared_vocabulary.json"), "or one for source and one for target"),
    "a vocabulary that is an object": (written("shared_vocabulary.json", b"{}"), "a list of pieces is needed"),
    "a piece twice": (written("shared_vocabulary.json", b'["a", "a"]'), "a piece stands in it twice"),
    "a start that is no piece": (config(decoder_start_token="<go>"), "starts with <go>"),
    "no such target": (last_pieces("eng_Latn", "__de__"), "it does not translate into fr; it has de, en"),
    "packed weights": (config(quantization_type="awq"), "its weights are packed (awq)"),
    "relative positions": (replaced(b"position_encodings", b"relative_positions"), "does not have"),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "message"), CTRANSLATE2.values(), ids=CTRANSLATE2)
def test_ctranslate2_folders(spoil: Spoil, message: str, converted: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(converted, tmp_path / "model")
    spoil(folder)
    options = ReadOptions("imported", ("en",), ("fr",), folder / "source.spm", licence="MIT")
    assert message in refused(lambda: read_ctranslate2(folder, options))


def test_a_ctranslate2_folder_whose_languages_nobody_names(converted: Path) -> None:
    options = ReadOptions("imported", (), (), converted / "source.spm", licence="MIT")
    assert "give --from and --to" in refused(lambda: read_ctranslate2(converted, options))


SAID = b'{"from_code": "en", "to_code": "fr"}'
ARGOS: dict[str, tuple[dict[str, bytes] | str | None, str]] = {
    "no file": (None, "there is no such file"),
    "text": ("no archive", "it is no zip archive that can be read"),
    "an empty archive": ({}, "it is no Argos package"),
    "metadata that is no JSON": ({"metadata.json": b"{", "model/model.bin": b"x"}, "is not valid JSON"),
    "no languages": ({"metadata.json": b"{}", "model/model.bin": b"x"}, "does not say from_code"),
    "another model": (
        {"metadata.json": SAID, "model/model.bin": b"x"},
        "p.argosmodel: model/model.bin: it is no CTranslate2 model",
    ),
}


@pytest.mark.parametrize(("content", "message"), ARGOS.values(), ids=ARGOS)
def test_argos_packages(content: dict[str, bytes] | str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.argosmodel"
    if isinstance(content, str):
        path.write_text(content)
    elif content is not None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in content.items():
                archive.writestr(f"package/{name}", data)
    assert message in refused(lambda: read_argos(path, ReadOptions(licence="MIT")))


def test_a_package_whose_packed_bytes_are_damaged(tmp_path: Path) -> None:
    path = tmp_path / "p.argosmodel"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("package/metadata.json", SAID * 20)
    content = bytearray(path.read_bytes())
    content[51:71] = b"\xff" * 20  # the first bytes behind the header of the entry
    path.write_bytes(content)
    assert "it is no zip archive that can be read" in refused(lambda: read_argos(path, ReadOptions(licence="MIT")))


def test_argos_installations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, message in (("nowhere", "set ARGOS_PACKAGES_DIR"), (".", "it holds no packages")):
        monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / name))
        assert message in refused(installed_packages)
