"""Damaged and foreign files of Firefox's format: each is refused at once, in one sentence that names the file."""

import gzip
import json
import shutil
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.marian_files import Item, float_item, model_bytes, model_items
from tests.training.imports.firefox_models import StudentFolder, student_folder
from training.imports.files import ImportRefused
from training.imports.firefox import read_firefox
from training.imports.source import ReadOptions

Spoil = Callable[[Path, StudentFolder], Any]
MODEL, SHORTLIST, VOCABULARY = "model.enfr.intgemm.alphas.bin", "lex.50.50.enfr.s2t.bin", "vocab.enfr.spm"
HEADERS, NAME, TYPE, AXES, SIZE = 16, 0, 8, 16, 24
"""Where the headers begin, and the places in one."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> StudentFolder:
    return student_folder(tmp_path_factory.mktemp("student"), int8=True)


def edited(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    return lambda folder, _original: (folder / name).write_bytes(change((folder / name).read_bytes()))


def cut(name: str, length: int) -> Spoil:
    return edited(name, lambda data: data[:length])


def patched(name: str, place: int, code: str, *values: float) -> Spoil:
    """Write numbers at a place of a file."""
    new = struct.pack(f"<{code}", *values)
    return edited(name, lambda data: data[:place] + new + data[place + len(new) :])


def items_of(original: StudentFolder, options: dict[str, Any] | None = None) -> list[Item]:
    student = original.student
    return model_items(replace(student, options={**student.options, **(options or {})}))


def items(change: Callable[[list[Item]], Sequence[Item]]) -> Spoil:
    return lambda folder, original: (folder / MODEL).write_bytes(model_bytes(change(items_of(original))))


def changed_item(name: str, change: Callable[[Item], Item]) -> Spoil:
    return items(lambda found: [change(each) if each.name == name else each for each in found])


def item(name: str, **changes: Any) -> Spoil:
    return changed_item(name, lambda each: replace(each, **changes))


def data(name: str, place: int, number: float) -> Spoil:
    """Write a float into an item's data."""
    new = struct.pack("<f", number)
    return changed_item(name, lambda each: replace(each, data=each.data[:place] + new + each.data[place + 4 :]))


def options(**changes: Any) -> Spoil:
    named = {name.replace("_", "-"): value for name, value in changes.items()}
    return lambda folder, original: (folder / MODEL).write_bytes(model_bytes(items_of(original, named)))


def yml(content: bytes) -> Spoil:
    return item("special:model.yml", data=content, shape=(len(content),))


def packed(name: str, content: bytes) -> Spoil:
    def spoil(folder: Path, _original: StudentFolder) -> None:
        (folder / name).unlink()
        (folder / f"{name}.gz").write_bytes(content)

    return spoil


def written(name: str, content: str) -> Spoil:
    return lambda folder, _original: (folder / name).write_text(content)


CASES: dict[str, tuple[Spoil, str]] = {
    "no model": (lambda folder, _original: (folder / MODEL).unlink(), r"it has 0 files model\.\*\.bin"),
    "two models": (written("model.other.bin", ""), "it has 2 files"),
    "cut header": (cut(MODEL, 12), "cut off: its header"),
    "text": (edited(MODEL, lambda _data: b"no model at all, just text"), "it has version"),
    "cut item table": (cut(MODEL, 100), "cut off: its item table"),
    "cut data": (cut(MODEL, 20_000), "cut off: its item"),
    "cut last byte": (edited(MODEL, lambda data: data[:-1]), "cut off: its item special:model.yml"),
    "more than it says": (edited(MODEL, lambda data: data + b"\0" * 8), "it has 8 bytes more"),
    "version 2": (patched(MODEL, 0, "Q", 2), "it has version 2"),
    "no items": (patched(MODEL, 8, "Q", 0), "it has 0 items"),
    "too many items": (patched(MODEL, 8, "Q", 2**59), r"it has 576460752303423488 items"),
    "no name": (patched(MODEL, HEADERS + NAME, "Q", 0), "no readable name"),
    "endless name": (patched(MODEL, HEADERS + NAME, "Q", 2**63), "cut off: its names"),
    "name of bytes": (edited(MODEL, lambda data: data.replace(b"Wemb\0", b"\xff\xfeab\0")), "no readable name"),
    "too many axes": (patched(MODEL, HEADERS + AXES, "Q", 2**62), "axes; at most 4"),
    "endless item": (patched(MODEL, HEADERS + SIZE, "Q", 2**64 - 1), "cut off: its item"),
    "unknown type": (patched(MODEL, HEADERS + TYPE, "Q", 0x999), "of the unknown type 0x999"),
    "float16": (item("decoder_l1_rnn_W", type=0x402), "decoder_l1_rnn_W is float16"),
    "intgemm16": (item("decoder_l1_rnn_W", type=0x4102), "decoder_l1_rnn_W is intgemm16"),
    "packed for a processor": (item("Wemb", type=0x5101), "Wemb is intgemm8 packed for AVX2"),
    "negative size": (item("decoder_l1_rnn_W", shape=(-32, 32)), r"has the shape \(-32, 32\)"),
    "empty size": (item("decoder_l1_rnn_W", shape=(0, 32)), r"has the shape \(0, 32\)"),
    "giant shape": (item("Wemb", shape=(2**31 - 1, 2**31 - 1)), "Wemb has .* bytes, but its shape"),
    "too little data": (item("Wemb", data=b"\0" * 256), "Wemb has 256 bytes, but"),
    "another shape": (item("decoder_l1_rnn_W", shape=(16, 64)), r"has the shape \(16, 64\); \(32, 32\) is needed"),
    "multiplier 0": (data("decoder_l1_rnn_W", 32 * 32, 0.0), "the multiplier 0"),
    "multiplier nan": (data("decoder_l1_rnn_W", 32 * 32, float("nan")), "the multiplier nan"),
    "input's multiplier 0": (data("decoder_l1_rnn_W_QuantMultA", 0, 0.0), "the first 0; one number above 0"),
    "weight nan": (data("decoder_l1_rnn_bf", 0, float("nan")), "decoder_l1_rnn_bf holds numbers that are not finite"),
    "two of one name": (items(lambda found: [*found, found[0]]), "two items of one name"),
    "missing": (items(lambda found: [each for each in found if each.name != "decoder_l2_rnn_Wf"]),
                "decoder_l2_rnn_Wf is missing"),
    "left over": (items(lambda found: [*found, replace(found[0], name="decoder_l3_rnn_W")]), "decoder_l3_rnn_W"),
    "no options": (items(lambda found: found[:-1]), "it has no special:model.yml"),
    "no yaml": (yml(b"{type: [\0"), "special:model.yml is no YAML"),
    "no mapping": (yml(b"- type\0"), "special:model.yml names no options"),
    "code in yaml": (yml(b"!!python/object/apply:os.system ['true']\0"), "special:model.yml is no YAML"),
    "aliases": (yml(b"a: &a [1]\nb: [*a, *a]\0"), "bytes or aliases"),
    "gru": (options(dec_cell="gru"), "dec-cell is 'gru'; 'ssru' can be imported"),
    "self-attention": (options(transformer_decoder_autoreg="self-attention"), "transformer-decoder-autoreg is"),
    "pre-norm": (options(transformer_preprocess="n"), "transformer-preprocess is 'n'"),
    "gelu": (options(transformer_ffn_activation="gelu"), "'relu' or 'swish' can be imported"),
    "unknown option": (options(brain_dim=9), r"it uses brain-dim \(9\)"),
    "learnt positions": (options(transformer_train_position_embeddings=True), "it uses transformer-train-position"),
    "untied": (options(tied_embeddings_all=False), "tied-embeddings is false"),
    "other decoder": (options(transformer_decoder_dim_ffn=99), "transformer-decoder-dim-ffn is 99"),
    "other width": (options(dim_emb=64), r"has the shape \(32, 32\); \(64, 64\) is needed"),
    "heads": (options(transformer_heads=5), "width 32 must be a multiple of heads 5"),
    "layers": (options(enc_depth=2**40), "encoder_l3_self_Wq is missing"),
    "alignment": (options(transformer_guided_alignment_layer="9"), "'last' or 1 to 2 can be imported"),
    "no vocabulary": (lambda folder, _original: (folder / VOCABULARY).unlink(), r"0 files vocab\.\*\.spm"),
    "damaged vocabulary": (cut(VOCABULARY, 300), "no SentencePiece model"),
    "small network": (changed_item("Wemb", lambda _item: float_item("Wemb", np.ones((9, 32), np.float32))),
                      "pieces, but the network has 9 embeddings"),
    "no shortlist": (patched(SHORTLIST, 0, "Q", 7), "it is no binary shortlist"),
    "cut shortlist": (cut(SHORTLIST, 100), "cut off: its table of offsets"),
    "cut lists": (edited(SHORTLIST, lambda data: data[:-8]), "cut off: its lists"),
    "endless shortlist": (patched(SHORTLIST, 32, "Q", 2**61), "cut off: its table of offsets"),
    "overlapping lists": (patched(SHORTLIST, 48 + 8, "Q", 2**63), "its lists overlap"),
    "piece out of range": (edited(SHORTLIST, lambda data: data[:-4] + b"\xff" * 4), "it names pieces"),
    "bomb": (packed(MODEL, gzip.compress(bytes(2**26))), "it unpacks to more than"),
    "cut gzip": (packed(SHORTLIST, gzip.compress(bytes(4000))[:20]), "cannot be read, or it is cut off"),
    "no gzip": (packed(VOCABULARY, b"plain"), "it is no SentencePiece model, or it is cut off"),
    "metadata": (written("metadata.json", "{"), "it is not valid JSON"),
    "language": (written("metadata.json", json.dumps({"sourceLanguage": "../x"})), "is no language code"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_damaged_or_foreign_file_is_refused_in_one_sentence_at_once(
    case: str, original: StudentFolder, tmp_path: Path
) -> None:
    shutil.copytree(original.path, tmp_path, dirs_exist_ok=True)
    spoil, message = CASES[case]
    spoil(tmp_path, original)
    began = time.process_time()
    with pytest.raises(ImportRefused, match=message) as refused:
        read_firefox(tmp_path, ReadOptions("firefox-en-fr"))
    assert time.process_time() - began < 1
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path))
