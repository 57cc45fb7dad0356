"""The choice of a model for a pair, among models of one pair and of many."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import pytest

from service.engine.errors import UnknownModel, UnsupportedPair
from service.engine.languages.pairs import Pairs
from service.engine.model_info import ModelInfo, ModelStateName
from tests.support.fake_engine import info_of


@dataclass
class Model:
    """A model that remembers which of its pairs were requested."""

    info: ModelInfo
    asked: list[tuple[str, str]] = field(default_factory=list)
    state: ModelStateName = "ready"

    @property
    def name(self) -> str:
        return self.info.name

    def for_pair(self, source_language: str, target_language: str) -> Self:
        self.asked.append((source_language, target_language))
        return self


def model(name: str, **scores: float) -> Model:
    """Return a model; a score is of a test set of one of its pairs, such as `set_en_fr`."""
    card: dict[str, Any] = {
        "scores": [
            {"test_set": "{}.{}-{}".format(*test.split("_")), "metric": "BLEU", "score": score}
            for test, score in scores.items()
        ]
    }
    return Model(replace(info_of(name), card=card))


def test_a_model_of_several_targets_may_be_the_default_of_some_of_them() -> None:
    many = model("transformer-en-fr+de", set_en_fr=30.0, set_en_de=45.0)
    french, german = model("bahdanau-en-fr", set_en_fr=40.0), model("bahdanau-en-de", set_en_de=40.0)
    pairs = Pairs((many, french, german))
    assert pairs.resolve("en", "fr") is french
    assert pairs.resolve("en", "de") is many
    assert pairs.resolve("en", "fr", "transformer") is many
    assert Pairs((many, french, german), (many.name,)).resolve("en", "fr") is many
    with pytest.raises(UnknownModel, match="available: bahdanau, bahdanau-en-de, transformer, transformer-en-fr"):
        pairs.resolve("en", "de", "bahdanau-en-fr")


@pytest.mark.parametrize(("better", "default"), [(40.5, "transformer"), (40.6, "bahdanau")])
def test_among_equally_good_models_the_one_with_more_heads_is_the_default(better: float, default: str) -> None:
    many, one = model("transformer-en-fr", set_en_fr=40.0), model("bahdanau-en-fr", set_en_fr=better)
    many.info = replace(many.info, attention={"cross": {"layers": 2, "heads": 4}})
    one.info = replace(one.info, attention={"cross": {"layers": 1, "heads": 1}})
    assert Pairs((one, many)).resolve("en", "fr").name == f"{default}-en-fr"
    assert Pairs((one, many), (one.name,)).resolve("en", "fr") is one


def test_another_model_translates_where_the_default_has_failed() -> None:
    best, other = model("transformer-en-fr", set_en_fr=40.0), model("bahdanau-en-fr", set_en_fr=30.0)
    pairs = Pairs((other, best))
    assert pairs.resolve("en", "fr") is best
    assert pairs.failed_default("en", "fr") is None
    best.state = "failed"
    assert pairs.resolve("en", "fr") is other
    assert pairs.failed_default("en", "fr") is best
    assert pairs.resolve("en", "fr", best.name) is best
    other.state = "failed"
    assert pairs.resolve("en", "fr") is best
    assert pairs.failed_default("en", "fr") is None


def test_a_model_of_a_hundred_languages_makes_only_the_pair_that_is_requested() -> None:
    codes = [f"x{first}{second}" for first in "abcdefghij" for second in "abcdefghij"]
    many = Model(replace(info_of("transformer-xaa-xab"), source_languages=tuple(codes), target_languages=tuple(codes)))
    pairs = Pairs((many,))
    assert pairs.resolve("xba", "XJJ") is pairs.resolve("xba", "xjj") is many
    assert many.asked == [("xba", "xjj")]
    with pytest.raises(UnsupportedPair):
        pairs.resolve("xba", "xba")
