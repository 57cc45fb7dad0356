"""The measurement of values: what it counts as kept, doubled and lost."""

import pytest

from benchmarks.values.generator import TEMPLATES, RandomValue, Sample, samples, survivors


def test_there_are_sixty_templates_and_random_values_in_each() -> None:
    assert len(TEMPLATES["en"]) == 60
    first, second = (samples("en", "fr", 60, seed) for seed in (0, 1))
    assert first == samples("en", "fr", 60, 0)
    assert sum(one.text != other.text for one, other in zip(first, second, strict=True)) >= 58
    assert all(sample.values and all(value.text in sample.text for value in sample.values) for sample in first)


@pytest.mark.parametrize("source", ["en", "fr", "de"])
def test_a_copy_of_the_source_keeps_every_value(source: str) -> None:
    for sample in samples(source, "fr" if source == "en" else "en", 300, 5):
        assert all(survivors(sample, sample.text)), sample


@pytest.mark.parametrize(
    ("translation", "kept"),
    [
        ("Prenez 2 comprimés de 500 mg", [True, True]),
        ("Prenez 2 comprimés de 500 mg, 2 fois", [False, True]),
        ("Prenez 2000 mg", [False, False]),
        ("Prenez 2 comprimés de 1500 mg", [True, False]),
        ("Prenez 2,5 comprimés de 500 mg", [False, True]),
    ],
)
def test_a_value_is_kept_if_it_stands_there_exactly_once(translation: str, kept: list[bool]) -> None:
    values = tuple(
        RandomValue(digits, (rf"(?<![\d])(?<!\d[.,:/-]){digits}(?!\d|[.,:/]\d)",)) for digits in ("2", "500")
    )
    assert survivors(Sample("Take 2 tablets of 500 mg", values), translation) == kept
