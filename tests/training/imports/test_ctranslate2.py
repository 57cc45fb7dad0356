"""CTranslate2 folders and Argos packages in our network, against CTranslate2 itself."""

import json
import zipfile
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import sentencepiece
import torch

from service.bundle.limits import length_limit
from service.bundle.load import load_bundle
from service.bundle.vocabulary import EOS
from tests.training.imports.marian_models import MarianShape, write_model
from tests.training.imports.old_ctranslate2 import rewrite
from tests.training.imports.opennmt_models import (
    ARABIC,
    OpenNmtShape,
    character_folder,
    converted_folder,
    opennmt_folder,
)
from tests.training.imports.toy_text import ENGLISH
from training.data.batching import collate
from training.data.distillation import translated
from training.export.compare import ParityError, ParityLimits
from training.imports.argos import installed_packages, read_argos
from training.imports.bundle import ImportOptions
from training.imports.ctranslate2 import read_ctranslate2
from training.imports.files import ImportRefused
from training.imports.network import import_bundle, network_of
from training.imports.source import ReadOptions


@pytest.mark.filterwarnings("ignore:Recommended")  # what transformers' tokenizer would like to have beside it
@pytest.mark.parametrize(
    ("kind", "quantization"),
    [
        ("opennmt", None),
        ("opennmt, post-norm", None),
        ("opennmt", "int8"),
        ("opennmt, version 2", None),
        ("opennmt, version 3", "int16"),
        ("opennmt, version 4", None),
        ("opennmt, version 4", "int8"),
        ("opennmt, version 5", "int16"),
        ("opennmt, with a token of the language", None),
        ("opennmt, untied", None),
        ("opennmt, untied", "int8"),
        ("opennmt, positions none", None),
        ("opennmt, positions shifted", None),
        ("opennmt, positions learnt", None),
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
        positions = kind.partition("positions ")[2] or "stored"
        shape = OpenNmtShape("post-norm" not in kind, positions, "untied" not in kind)
        opennmt_folder(folder, shape, quantization)
        if "version" in kind:
            rewrite(folder, int(kind[-1]))
        if "token" in kind:
            add_source_token(folder)
    pieces = folder / "source.spm", folder / "target.spm" if marian else None
    model = read_ctranslate2(folder, ReadOptions("imported", ("en",), ("fr",), *pieces, licence="MIT"))
    assert model.source_end is marian
    assert bool(model.targets[0].prefix) is ("token" in kind)
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
        source = [*model.targets[0].prefix, *source]
        batch = collate([np.array(source, np.uint16)], [np.array(target, np.uint16)])
        with torch.no_grad():
            decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
            logprobs = network.logits(decoded.hidden).log_softmax(-1)[0]  # [T, V]
        assert float(logprobs[range(len(target)), target].sum()) == pytest.approx(other.scores[0], abs=3e-3)
        equal += logprobs.argmax(-1).tolist() == target
    assert equal >= 0.95 * len(sources)  # where two tokens are equally likely, the last digit decides


def add_source_token(folder: Path) -> None:
    """Make it a model that CTranslate2 gives a token before each source, as some of Argos' packages are."""
    names, config = (json.loads((folder / f"{name}.json").read_text()) for name in ("shared_vocabulary", "config"))
    (folder / "shared_vocabulary.json").write_text(json.dumps([*names[:-1], ">>fra<<"]))
    (folder / "config.json").write_text(json.dumps(config | {"add_source_bos": True, "bos_token": ">>fra<<"}))


def test_a_model_that_is_told_the_language_by_a_token_has_the_targets_of_its_tokens(tmp_path: Path) -> None:
    folder = opennmt_folder(tmp_path / "made")
    names = json.loads((folder / "shared_vocabulary.json").read_text())
    (folder / "shared_vocabulary.json").write_text(json.dumps([*names[:-2], ">>fra<<", ">>por<<"]))

    def targets(*codes: str) -> dict[str, str]:
        options = ReadOptions("imported", ("en",), codes, folder / "source.spm", licence="MIT")
        model = read_ctranslate2(folder, options)
        names = json.loads(model.source.tokenizer.to_str())["model"]["vocab"]
        return {target.language: names[target.prefix[0]][0].strip() for target in model.targets}

    assert targets("pt", "fr") == {"pt": ">>por<<", "fr": ">>fra<<"}
    with pytest.raises(ImportRefused, match="does not translate into es; it has fr, pt"):
        targets("es")


def test_an_import_without_ties_and_with_a_table_of_its_own_passes_the_gate(tmp_path: Path) -> None:
    model = read_ctranslate2(*untied(tmp_path))
    bundle = import_bundle(model, tmp_path / "models/imported", ImportOptions(precisions=("fp32",)))
    assert load_bundle(bundle).manifest.card["imported"]["network"]["tie_output"] is False


def test_without_the_gate_the_card_says_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.imports.bundle.GATE", ParityLimits(pairs=8, longest=32, agreement=1.01))
    model, output = read_ctranslate2(*untied(tmp_path)), tmp_path / "models/imported"
    with pytest.raises(ParityError):
        import_bundle(model, output, ImportOptions())
    assert not output.exists()
    import_bundle(model, output, ImportOptions(gate=False))
    notes = load_bundle(output).manifest.card["notes"]
    assert "did not pass the comparison of its graphs, and was added all the same: FAIL" in notes
    assert "greedy tokens" in notes


def untied(folder: Path) -> tuple[Path, ReadOptions]:
    made = opennmt_folder(folder / "made", OpenNmtShape(positions="shifted", tied=False))
    return made, ReadOptions("imported", ("en",), ("fr",), made / "source.spm", licence="MIT")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "quantization"), [(1, None), (1, "int16"), (2, None), (2, "int16"), (2, "int8"), (6, None)]
)
def test_words_are_written_letter_by_letter_as_by_ctranslate2(
    version: int, quantization: str | None, tmp_path: Path
) -> None:
    """The folders have the five shapes of CTranslate2's own test models (`aren-transliteration`), and today's."""
    folder = character_folder(tmp_path / "aren", version, quantization)
    letters = np.random.default_rng(3)
    words = ["".join(letters.choice([*ARABIC], letters.integers(2, 12))) for _ in range(200)]
    model = read_ctranslate2(folder, ReadOptions("aren", ("ar",), ("en",), licence="MIT"))
    bundle = import_bundle(model, tmp_path / "models/aren", ImportOptions(precisions=("fp32",)))
    theirs = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    found = [
        *(theirs.translate_batch([[*word]], beam_size=1, max_decoding_length=length_limit(len(word), 512),
                                 disable_unk=True)[0].hypotheses[0] for word in words)
    ]  # fmt: skip
    ours = translated(bundle, words, "--precision", "fp32", "--values", "off", "--beam-size", "1")
    assert ours == ["".join(letters) for letters in found]


def argos_package(folder: Path, package: Path, **metadata: str) -> Path:
    """Make a CTranslate2 folder an Argos package as it is installed."""
    (package / "model").mkdir(parents=True)
    for path in folder.iterdir():
        if path.suffix != ".spm":
            path.rename(package / "model" / path.name)
    (folder / "source.spm").rename(package / "sentencepiece.model")
    metadata = {"from_code": "en", "to_code": "fr", "package_version": "1.0"} | metadata
    (package / "metadata.json").write_text(json.dumps(metadata))
    return package


@pytest.mark.slow
def test_a_package_whose_translations_begin_with_a_token_translates_as_ctranslate2_does(tmp_path: Path) -> None:
    folder = opennmt_folder(tmp_path / "made")
    names = json.loads((folder / "shared_vocabulary.json").read_text())
    (folder / "shared_vocabulary.json").write_text(json.dumps([*names[:-2], "__es__", "__fr__"]))
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    package = argos_package(folder, tmp_path / "translate-en_fr-1_0", target_prefix="__fr__")
    model = read_argos(package, ReadOptions(licence="MIT"))
    bundle = import_bundle(model, tmp_path / "models/argos", ImportOptions(precisions=("fp32",)))
    sources = [pieces.encode(text, out_type=str) for text in ENGLISH[:20]]
    theirs = ctranslate2.Translator(str(package / "model"), compute_type="float32", intra_threads=1)

    def expected(prefix: str) -> list[str]:
        found = [
            theirs.translate_batch([source], target_prefix=[[prefix]], beam_size=4, length_penalty=0.2,
                                   max_decoding_length=length_limit(len(source), 512), disable_unk=True,
                                   suppress_sequences=[["<s>"]])[0].hypotheses[0]
            for source in sources
        ]  # fmt: skip
        assert all(hypothesis[0] == prefix for hypothesis in found)
        return [model.target.tokenizer.decoder.decode(hypothesis[1:]) for hypothesis in found]

    ours = translated(bundle, ENGLISH[:20], "--precision", "fp32", "--values", "off")
    assert ours == expected("__fr__")
    assert ours != expected("__es__")
    (package / "metadata.json").write_text('{"from_code": "en", "to_code": "pt", "target_prefix": "__pt__"}')
    with pytest.raises(ImportRefused, match="texts begin with __pt__, but its vocabulary does not have it"):
        read_argos(package, ReadOptions(licence="MIT"))


def test_packages_are_read_packed_and_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = argos_package(opennmt_folder(tmp_path / "made"), tmp_path / "packages" / "translate-en_fr-1_0")
    archive = tmp_path / "translate-en_fr.argosmodel"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(package.rglob("*")):
            packed.write(path, Path(package.name) / path.relative_to(package))
        packed.writestr("../../escaped.txt", "climbed out")
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(package.parent))
    assert installed_packages() == [package]
    for path in (archive, package):
        model = read_argos(path, ReadOptions(licence="CC0-1.0"))
        assert (model.name, model.source_languages, model.targets[0].language) == ("argos-en-fr", ("en",), "fr")
        assert (model.decoding.beam_size, model.decoding.length_penalty) == (4, 0.2)
        assert model.source_end is False
    assert not (tmp_path.parent / "escaped.txt").exists()
    (package / "bpe.model").write_text("")
    with pytest.raises(ImportRefused, match=r"it has subwords of subword-nmt \(bpe.model\)"):
        read_argos(package, ReadOptions(licence="CC0-1.0"))
