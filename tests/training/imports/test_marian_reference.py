"""The reference for Marian's students and the files it is checked with: each agrees with what is known from outside."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.marian_files import candidates, model_bytes, model_items, shortlist_bytes
from tests.support.marian_reference import MarianReference
from tests.support.marian_students import Student, is_product, random_student, student_options, weight_shapes

# What the engine itself (PyPI bergamot 0.4.5) made of engine_students' files: precision, beam, number of the source,
# ids. Its words were compared one by one with those of the ids; all sources but the last set the int8 multipliers.
SOURCES = [
    [int(number) for number in line.split()]
    for line in """\
97 471 4 69 79 471 4 69 80 0
499 207 68 38 306 207 632 14 67 151 4 0
240 2 91 2 346 2 91 475 3 0
2 999 64 309 17 13 29 3 98 3 2 91 243 3 2 91 167 17 999 21 20 72 2 91 625 2 91 722 216 0
94 17 491 3 2 91 2 108 48 3 2 91 2 478 52 0""".splitlines()
]
FROM_ENGINE = """\
float32 1 1 839 210 403 469 943 976 403 403 403 135 403 403 976 135 403 403 403 469 943 976 403 403 135 403
float32 1 3 550 954 43 210 0
float32 1 4 600 404 548 845 962 210 210 210 210 210 210 210 962 43 0
float32 4 1 839 210 403 469 943 976 403 403 403 135 135 403 135 403 135 403 976 403 317 403 285 403 403 317
float32 4 3 550 954 43 954 43 954 43 954 43 210 738 618 954 548 954 43 140 140 618 550 0
float32 4 4 600 404 548 453 43 962 43 210 210 210 210 210 962 43 0
int8 1 1 317 710 317 285 935 25 403 403 317 285 285 285 317 285 403 469 447 403 447 943 943 403 403 403
int8 1 3 210 0
int8 1 4 600 611 845 453 962 138 138 845 138 133 962 962 962 962 962 962 962 0""".splitlines()


@pytest.fixture(scope="module")
def student() -> Student:
    """Return a student of two and two layers."""
    return random_student(student_options(vocabularies=(40,), width=16, feed_forward=32, layers=(2, 2), heads=2))


@pytest.fixture(scope="module")
def rounded(student: Student) -> Student:
    """Return the same student with multipliers of its activations, which makes it int8."""
    reference = MarianReference(student)
    reference.greedy((17, 5, 30, 8, 0))
    return replace(student, alphas=reference.measured_alphas())


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


def test_a_shortlist_holds_a_sorted_list_for_every_source_id() -> None:
    content = shortlist_bytes([[9, 2], [], [4]], first=3, best=2)
    magic, _, first, best, offsets, targets = struct.unpack_from("<6Q", content)
    assert (magic, first, best, offsets, targets) == (0xF11A48D5013417F5, 3, 2, 4, 3)
    assert struct.unpack_from("<4Q3I", content, 48) == (0, 2, 2, 3, 2, 9, 4)
    assert len(content) == 48 + 4 * 8 + 3 * 4


@pytest.fixture(scope="module")
def engine_students() -> dict[str, Student]:
    """Return the students that the engine was given, by precision."""
    options = student_options(vocabularies=(1000,), width=64, feed_forward=128, layers=(2, 2), heads=4)
    student = random_student(options)
    reference = MarianReference(student)
    for source in SOURCES[:-1]:
        reference.greedy(source)
    alphas = {name: round(alpha, 2) for name, alpha in reference.measured_alphas().items()}
    return {"float32": student, "int8": replace(student, alphas=alphas)}


@pytest.mark.parametrize("made", FROM_ENGINE, ids=lambda made: "-".join(made.split()[:3]))
def test_the_engine_made_the_same_words(engine_students: dict[str, Student], made: str) -> None:
    precision, beam, *numbers = made.split()
    number, *ids = map(int, numbers)
    source, reference = SOURCES[number], MarianReference(engine_students[precision])
    lists = [[(7 * piece + 13 * place) % 1000 for place in range(40)] for piece in range(1000)]
    allowed = candidates(source, lists, vocabulary=1000)
    found = reference.greedy(source, allowed) if beam == "1" else reference.beam(source, allowed, size=int(beam))
    assert list(found.ids) == ids
