"""CTranslate2 folders and Argos packages in our network, against CTranslate2 itself."""

import json
import zipfile
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import torch
from ctranslate2.converters import TransformersConverter

from service.bundle.vocabulary import BOS, EOS
from tests.training.imports.marian_models import ENGLISH, MarianShape, write_model
from tests.training.imports.opennmt_models import opennmt_folder
from training.imports.argos import installed_packages, read_argos
from training.imports.bundle import network_of
from training.imports.ctranslate2 import Ctranslate2Options, read_ctranslate2
from training.networks.interface import Network


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


def greedy(network: Network, source: list[int], steps: int) -> tuple[list[int], float]:
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
