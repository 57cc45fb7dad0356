"""The reference for Marian's students and the files it is checked with: each agrees with what is known from outside."""

import gzip
import hashlib
import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.marian_files import candidates, checksum, model_bytes, model_items, shortlist_bytes, write_folder
from tests.support.marian_reference import MarianReference
from tests.support.marian_students import Student, is_product, random_student, student_options, weight_shapes

SOURCE = (17, 5, 30, 8, 0)


# What the engine itself (PyPI bergamot 0.4.5) made of engine_students' files: precision, beam, source, ids.
# Its words were compared one by one with those of the ids; SEEN are the sentences that set the int8 multipliers.
SEEN = (
    "97 471 4 69 79 471 4 69 80 0",
    "499 207 68 38 306 207 632 14 67 151 4 0",
    "240 2 91 2 346 2 91 475 3 0",
    "2 999 64 309 17 13 29 3 98 3 2 91 243 3 2 91 167 17 999 21 20 72 2 91 625 2 91 722 216 0",
)
UNSEEN = "94 17 491 3 2 91 2 108 48 3 2 91 2 478 52 0"
FROM_ENGINE = (
    (
        "float32",
        1,
        SEEN[1],
        "839 210 403 469 943 976 403 403 403 135 403 403 976 135 403 403 403 469 943 976 403 403 135 403",
    ),
    ("float32", 1, SEEN[3], "550 954 43 210 0"),
    ("float32", 1, UNSEEN, "600 404 548 845 962 210 210 210 210 210 210 210 962 43 0"),
    (
        "float32",
        4,
        SEEN[1],
        "839 210 403 469 943 976 403 403 403 135 135 403 135 403 135 403 976 403 317 403 285 403 403 317",
    ),
    ("float32", 4, SEEN[3], "550 954 43 954 43 954 43 954 43 210 738 618 954 548 954 43 140 140 618 550 0"),
    ("float32", 4, UNSEEN, "600 404 548 453 43 962 43 210 210 210 210 210 962 43 0"),
    (
        "int8",
        1,
        SEEN[1],
        "317 710 317 285 935 25 403 403 317 285 285 285 317 285 403 469 447 403 447 943 943 403 403 403",
    ),
    ("int8", 1, SEEN[3], "210 0"),
    ("int8", 1, UNSEEN, "600 611 845 453 962 138 138 845 138 133 962 962 962 962 962 962 962 0"),
)


@pytest.fixture(scope="module")
def student() -> Student:
    """Return a student of two and two layers."""
    return random_student(student_options(vocabularies=(40,), width=16, feed_forward=32, layers=(2, 2), heads=2))


@pytest.fixture(scope="module")
def rounded(student: Student) -> Student:
    """Return the same student with multipliers of its activations, which makes it int8."""
    reference = MarianReference(student)
    reference.greedy(SOURCE)
    return replace(student, alphas=reference.measured_alphas())


def numbers(text: str) -> tuple[int, ...]:
    """Return the ids of a line of numbers."""
    return tuple(int(number) for number in text.split())


def read(content: bytes) -> dict[str, tuple[int, tuple[int, ...], int, bytes]]:
    """Return type, shape, place and data of every item; written apart from the writer on purpose."""
    version, count = struct.unpack_from("<QQ", content)
    assert version == 1
    headers = [struct.unpack_from("<QQQQ", content, 16 + 32 * index) for index in range(count)]
    place = 16 + 32 * count
    names, shapes, items = [], [], {}
    for length, *_ in headers:
        names.append(content[place : place + length - 1].decode())
        assert content[place + length - 1] == 0
        place += length
    for _, _, rank, _ in headers:
        shapes.append(struct.unpack_from(f"<{rank}i", content, place))
        place += 4 * rank
    place += 8 + int.from_bytes(content[place : place + 8], "little")
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers, strict=True):
        items[name] = (kind, shape, place, content[place : place + size])
        place += size
    assert place == len(content)
    return items


def int8_values(shape: tuple[int, ...], data: bytes) -> NDArray[np.float32]:
    """Return the stored order of an int8 item as floats."""
    size = shape[0] * shape[1]
    (multiplier,) = struct.unpack_from("<f", data, size)
    return np.frombuffer(data, np.int8, size).astype(np.float32) / np.float32(multiplier)


def test_float32_files_hold_the_weights_as_they_are(student: Student) -> None:
    items = read(model_bytes(model_items(student)))
    assert list(items) == [*sorted(student.weights), "special:model.yml"]
    for name, weight in student.weights.items():
        kind, shape, place, data = items[name]
        assert (kind, shape, place % 256) == (0x404, weight.shape, 0)
        assert np.array_equal(np.frombuffer(data, "<f4", weight.size).reshape(shape), weight)


def test_int8_files_hold_matrices_transposed_and_embeddings_as_they_are(rounded: Student) -> None:
    items = read(model_bytes(model_items(rounded)))
    for name, turned in (("encoder_l1_ffn_W1", True), ("decoder_l2_rnn_W", True), ("Wemb", False)):
        kind, shape, _, data = items[name]
        weight = rounded.weights[name]
        values = int8_values(shape, data)
        assert (kind, shape) == (0x4101, weight.shape)
        stored = values.reshape(shape[::-1]).T if turned else values.reshape(shape)
        assert np.abs(stored - weight).max() <= np.abs(weight).max() / 254 * 1.001
    assert items["encoder_l1_ffn_b1"][0] == 0x404


def test_multipliers_of_activations_are_floats_but_for_the_embedding(rounded: Student) -> None:
    items = read(model_bytes(model_items(rounded)))
    assert rounded.alphas is not None
    kind, shape, _, data = items["none_QuantMultA"]
    assert (kind, shape) == (0x404, (1, 1))
    assert struct.unpack_from("<f", data)[0] == pytest.approx(rounded.alphas["Wemb"])
    kind, shape, _, data = items["Wemb_QuantMultA"]
    assert (kind, data[0]) == (0x4101, 127)
    assert int8_values(shape, data)[0] == pytest.approx(rounded.alphas["Wemb"])


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (student_options(), 16907062),  # models/tiny/bgen/metadata.json
        (student_options(width=384, layers=(6, 4)), 31248966),  # models/base-memory/ende
        (student_options(vocabularies=(32000, 32000), width=384, layers=(6, 4)), 43536965),  # models/base-memory/enzh
    ],
    ids=["tiny", "base-memory", "two-vocabularies"],
)
def test_files_have_as_many_parameters_as_published_models(options: dict[str, object], parameters: int) -> None:
    weights = {name: np.ones(shape, np.float32) for name, shape in weight_shapes(options).items()}
    multiplied = {name for name in weights if is_product(name)} - {"encoder_Wemb"}
    items = model_items(Student(weights, options, dict.fromkeys(multiplied, 1.0)))
    assert sum(int(np.prod(item.shape)) for item in items[:-1]) == parameters


def test_the_checksum_is_that_of_a_word_counted_by_hand() -> None:
    first = 5 + 0x9E3779B9
    assert checksum(struct.pack("<Q", 5)) == first
    second = first ^ ((7 + 0x9E3779B9 + (first << 6) + (first >> 2)) % 2**64)
    assert checksum(struct.pack("<QQI", 5, 7, 99)) == second


def test_a_shortlist_holds_a_sorted_list_for_every_source_id() -> None:
    content = shortlist_bytes([[9, 2], [], [4]], first=3, best=2)
    magic, _, first, best, offsets, targets = struct.unpack_from("<6Q", content)
    assert (magic, first, best, offsets, targets) == (0xF11A48D5013417F5, 3, 2, 4, 3)
    assert struct.unpack_from("<4Q3I", content, 48) == (0, 2, 2, 3, 2, 9, 4)
    assert len(content) == 48 + 4 * 8 + 3 * 4


def test_candidates_are_the_first_ids_the_lists_and_what_makes_eights() -> None:
    lists = [[30], [31, 32], [], [33]]
    assert candidates([1, 3, 0], lists, vocabulary=40, first=3, shared=False) == [0, 1, 2, 3, 30, 31, 32, 33]
    assert candidates([1, 3, 0], lists, vocabulary=40, first=4) == [0, 1, 2, 3, 30, 31, 32, 33]
    assert candidates([2], lists, vocabulary=3, first=3) == [0, 1, 2]


def test_a_folder_has_the_names_of_the_models_repository(tmp_path: Path, rounded: Student) -> None:
    folder = write_folder(tmp_path / "ende", rounded, [b"vocabulary"], [[2]] * 40, compress=True)
    names = {path.name for path in folder.iterdir()}
    model = "model.ende.intgemm.alphas.bin.gz"
    assert names == {model, "lex.50.50.ende.s2t.bin.gz", "vocab.ende.spm.gz", "metadata.json"}
    metadata = json.loads((folder / "metadata.json").read_text())
    content = gzip.decompress((folder / model).read_bytes())
    assert metadata["hash"] == hashlib.sha256(content).hexdigest()
    assert metadata["byteSize"] == len(content)
    two = write_folder(tmp_path / "enzh", rounded, [b"one", b"two"], [[2]] * 40, languages=("en", "zh"))
    assert {"srcvocab.enzh.spm", "trgvocab.enzh.spm"} < {path.name for path in two.iterdir()}


def test_an_ssru_keeps_what_its_gate_says() -> None:
    options = student_options(vocabularies=(4,), width=2, feed_forward=2, layers=(1, 1), heads=1)
    by_hand = {
        "l_rnn_Wf": [[0, 0], [0, 0]],
        "l_rnn_bf": [[0, 0]],  # a gate of one half
        "l_rnn_W": [[2, 0], [0, 1]],  # new: 2 and -2
        "l_rnn_ffn_ln_scale": [[1, 1]],
        "l_rnn_ffn_ln_bias": [[0, 3]],
    }
    reference = MarianReference(Student({name: np.array(value, "f4") for name, value in by_hand.items()}, options))
    output, cell = reference.recurrent(np.array([[1, -2]], "f4"), np.array([[0.5, 0.5]], "f4"), "l_rnn")
    assert cell.tolist() == [[1.25, -0.75]]
    # relu gives 1.25 and 0, with the input 2.25 and -2, normalised 1 and -1, and the bias of 3 behind it
    assert output == pytest.approx(np.array([[1, 2]]), abs=1e-5)


@pytest.mark.parametrize("layer", ["last", "1"])
def test_rows_of_the_alignment_sum_to_one(student: Student, layer: str) -> None:
    guided = replace(student, options={**student.options, "transformer-guided-alignment-layer": layer})
    translation = MarianReference(guided).greedy(SOURCE)
    assert translation.alignment.shape == (len(translation.ids), len(SOURCE))
    assert translation.alignment.sum(axis=1) == pytest.approx(np.ones(len(translation.ids)), abs=1e-5)


def test_a_beam_of_one_is_greedy_and_a_wider_one_scores_no_less_here(student: Student) -> None:
    reference = MarianReference(student)
    greedy, one, four = reference.greedy(SOURCE), reference.beam(SOURCE, size=1), reference.beam(SOURCE, size=4)
    assert one.ids == greedy.ids
    assert one.score == pytest.approx(greedy.score)
    assert np.array_equal(one.alignment, greedy.alignment)
    assert four.score >= greedy.score


def test_only_candidates_are_chosen_and_never_the_unknown(student: Student) -> None:
    allowed = [0, 1, 7, 9, 11, 20, 21, 22]
    translation = MarianReference(student).greedy(SOURCE, allowed)
    assert set(translation.ids) <= set(allowed) - {1}


def test_int8_scores_are_near_those_of_floats(student: Student, rounded: Student) -> None:
    exact, near = (
        (reference := MarianReference(one)).step(reference.encode(SOURCE), reference.start(), None, 0, range(40)).logits
        for one in (student, rounded)
    )
    assert 0 < np.abs(exact - near).mean() < 0.1 * np.std(exact)


@pytest.fixture(scope="module")
def engine_students() -> dict[str, Student]:
    """Return the students that the engine was given, by precision."""
    options = student_options(vocabularies=(1000,), width=64, feed_forward=128, layers=(2, 2), heads=4)
    student = random_student(options)
    reference = MarianReference(student)
    for source in SEEN:
        reference.greedy(numbers(source))
    alphas = {name: round(alpha, 2) for name, alpha in reference.measured_alphas().items()}
    return {"float32": student, "int8": replace(student, alphas=alphas)}


@pytest.mark.parametrize(("precision", "beam", "source", "ids"), FROM_ENGINE)
def test_the_engine_made_the_same_words(
    engine_students: dict[str, Student], precision: str, beam: int, source: str, ids: str
) -> None:
    pieces = numbers(source)
    lists = [[(7 * piece + 13 * place) % 1000 for place in range(40)] for piece in range(1000)]
    allowed = candidates(pieces, lists, vocabulary=1000)
    reference = MarianReference(engine_students[precision])
    translation = reference.greedy(pieces, allowed) if beam == 1 else reference.beam(pieces, allowed, size=beam)
    assert translation.ids == numbers(ids)
