"""The reference for Marian's students gives what the engine itself gave."""

from dataclasses import replace

import pytest

from tests.support.marian_files import candidates
from tests.support.marian_reference import MarianReference
from tests.support.marian_students import Student, random_student, student_options

# What the engine itself (PyPI bergamot 0.4.5) made of engine_students' files: precision, number of the source, ids.
# Its words were compared one by one with those of the ids; all sources but the last set the int8 multipliers.
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
float32 1 839 210 403 469 943 976 403 403 403 135 403 403 976 135 403 403 403 469 943 976 403 403 135 403
float32 3 550 954 43 210 0
float32 4 600 404 548 845 962 210 210 210 210 210 210 210 962 43 0
int8 1 317 710 317 285 935 25 403 403 317 285 285 285 317 285 403 469 447 403 447 943 943 403 403 403
int8 3 210 0
int8 4 600 611 845 453 962 138 138 845 138 133 962 962 962 962 962 962 962 0""".splitlines()


@pytest.fixture(scope="module")
def engine_students() -> dict[str, Student]:
    options = student_options(vocabularies=(1000,), width=64, feed_forward=128, layers=(2, 2), heads=4)
    student = random_student(options)
    reference = MarianReference(student)
    for source in SOURCES[:-1]:
        reference.greedy(source)
    alphas = {name: round(alpha, 2) for name, alpha in reference.measured_alphas().items()}
    return {"float32": student, "int8": replace(student, alphas=alphas)}


@pytest.mark.parametrize("made", FROM_ENGINE, ids=lambda made: "-".join(made.split()[:2]))
def test_the_engine_made_the_same_words(engine_students: dict[str, Student], made: str) -> None:
    precision, *numbers = made.split()
    number, *ids = map(int, numbers)
    source, reference = SOURCES[number], MarianReference(engine_students[precision])
    lists = [[(7 * piece + 13 * place) % 1000 for place in range(40)] for piece in range(1000)]
    allowed = candidates(source, lists, vocabulary=1000)
    assert list(reference.greedy(source, allowed).ids) == ids
