"""The attention and the quality of a result are those of its own tokens, whatever its options were."""

from collections.abc import Iterator
from typing import Literal

import pytest

from tests.support.paths import MODELS
from translucent_mt import Translator

TEXT = "My washing machine costs €1,250.50 👍 at K2. Save Changes"


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    with Translator.load(str(MODELS / "transformer-en-fr")) as translator:
        yield translator


@pytest.mark.parametrize("values", ["localize", "keep", "off"])
def test_the_score_of_a_result_is_that_of_its_path(
    translator: Translator, values: Literal["localize", "keep", "off"]
) -> None:
    for sentence in translator(TEXT, values=values).sentences:
        found = sentence.attention
        assert found.target == sentence.text
        assert found.score == pytest.approx(sentence.score, abs=1e-4)
        assert [token.ids for token in found.rows] == [token.ids for token in sentence.tokens]


def test_after_a_glossary_the_text_is_scored(translator: Translator) -> None:
    [first, *_] = translator(TEXT, glossary={"washing machine": "lave-linge"}).sentences
    assert first.attention.target == first.text
    assert "lave-linge" in first.text


def test_the_quality_of_a_text_is_shown(translator: Translator) -> None:
    result = translator("I lost. He won.")
    assert result.quality is not None
    assert 0 < result.quality < 1
    assert f"quality {result.quality:.0%}" in result._repr_html_()
