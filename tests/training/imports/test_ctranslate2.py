"""CTranslate2 folders and Argos packages in our network, against CTranslate2 itself."""

import json
import zipfile
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import torch

from service.bundle.vocabulary import EOS
from tests.training.imports.marian_models import MarianShape, write_model
from tests.training.imports.opennmt_models import converted_folder, opennmt_folder
from tests.training.imports.toy_text import ENGLISH
from training.data.batching import collate
from training.imports.argos import installed_packages, read_argos
from training.imports.ctranslate2 import Ctranslate2Options, read_ctranslate2
from training.imports.network import network_of


@pytest.mark.filterwarnings("ignore:Recommended")  # what transformers' tokenizer would like to have beside it
@pytest.mark.parametrize(
    ("kind", "quantization"),
    [
        ("opennmt", None),
        ("opennmt, post-norm", None),
        ("opennmt", "int8"),
        ("marian", None),
        ("marian", "int16"),
        ("marian", "float16"),
    ],
)
def test_tokens_and_scores_are_those_of_ctranslate2(kind: str, quantization: str | None, tmp_path: Path) -> None:
    folder, marian = tmp_path / "model", kind == "marian"
    if marian:
        write_model(tmp_path / "hub", MarianShape(byte_fallback=True))
        converted_folder(tmp_path / "hub", folder, quantization)
    else:
        opennmt_folder(folder, "post-norm" not in kind, quantization)
    pieces = folder / "source.spm", folder / "target.spm" if marian else None
    model = read_ctranslate2(folder, Ctranslate2Options("imported", ("en",), ("fr",), *pieces, licence="MIT"))
    assert model.source_end is marian
    network, end = network_of(model), [EOS] * marian
    theirs = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    names = json.loads((folder / "shared_vocabulary.json").read_text(encoding="utf-8"))
    never = np.setdiff1d(np.arange(len(names)), model.rows[1][model.target.producible])
    sources = [[*model.source.tokenizer.encode(text, add_special_tokens=False).ids, *end] for text in ENGLISH[:60]]
    found = theirs.translate_batch(
        [[names[model.rows[0][number]] for number in ids] for ids in sources],
        beam_size=1,
        min_decoding_length=0,
        max_decoding_length=8,
        length_penalty=0,
        return_scores=True,
        suppress_sequences=[[names[number]] for number in never.tolist()],
    )
    ours = {names[row]: number for number, row in enumerate(model.rows[1].tolist()) if row < len(names)}
    equal = 0
    for source, other in zip(sources, found, strict=True):
        target = [*(ours[name] for name in other.hypotheses[0]), EOS][:8]  # the eighth token is not followed by </s>
        batch = collate([np.array(source, np.uint16)], [np.array(target, np.uint16)])
        with torch.no_grad():
            decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
            logprobs = network.logits(decoded.hidden).log_softmax(-1)[0]  # [T, V]
        assert float(logprobs[range(len(target)), target].sum()) == pytest.approx(other.scores[0], abs=3e-3)
        equal += logprobs.argmax(-1).tolist() == target
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
