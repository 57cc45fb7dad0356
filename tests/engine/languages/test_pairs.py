"""Which served language a tag means, which pairs go through a pivot language, and which model translates a pair."""

import time
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pytest

from service.engine.errors import UnknownModel, UnsupportedLanguage, UnsupportedPair
from service.engine.languages.pairs import Pairs
from service.engine.languages.tags import Languages, canonical, pivoted_pairs
from service.engine.model_info import ModelInfo, ModelStateName
from tests.support.fake_engine import info_of


@dataclass
class Model:
    """A model that remembers which of its pairs were requested."""

    info: ModelInfo
    asked: list[tuple[str, str]] = field(default_factory=list)
    state: ModelStateName = "ready"
    failed_default: str | None = None

    @property
    def name(self) -> str:
        return self.info.name

    def for_pair(self, source_language: str, target_language: str) -> Self:
        self.asked.append((source_language, target_language))
        return self

    def standing_in(self, failed: str) -> Self:
        return replace(self, failed_default=failed)


def model(name: str, **scores: float) -> Model:
    """Return a model; a score is of a test set of one of its pairs, such as `set_en_fr`."""
    card: dict[str, Any] = {
        "scores": [
            {"test_set": "{}.{}-{}".format(*test.split("_")), "metric": "BLEU", "score": score}
            for test, score in scores.items()
        ]
    }
    return Model(replace(info_of(name), card=card))


def bleu(score: float, test_set: str = "tatoeba", precision: str = "int8") -> dict[str, Any]:
    return {"test_set": test_set, "metric": "BLEU", "score": score, "precision": precision}


TOY = [bleu(95.0, "toy")]
BOTH = [bleu(15.0, "news"), bleu(39.0)]  # the mean over what both have decides: 27 against 26.5
BETTER_ON_ONE = [bleu(13.0, "news"), bleu(40.0)]
OF_THE_PAIR = [bleu(14.0, "news.en-fr"), bleu(41.0, "tatoeba.en-fr"), bleu(0.0, "development/x")]


@pytest.mark.parametrize(
    ("scores", "default"),
    [
        ({"a": [], "b": []}, "a"),
        ({"a": [], "b": [bleu(39.0)], "c": [bleu(40.0)]}, "c"),
        ({"a": TOY, "b": BOTH}, "b"),
        ({"a": TOY, "b": BOTH, "c": BETTER_ON_ONE}, "b"),
        ({"a": TOY, "b": BOTH, "c": BETTER_ON_ONE, "d": OF_THE_PAIR}, "d"),
        ({"a": [bleu(42.0, precision="pytorch"), bleu(38.0)], "b": [bleu(39.0)]}, "b"),  # int8 runs
        ({"a": [bleu(38.0)], "b": [bleu(39.0), bleu(12.0)]}, "b"),  # what is measured twice counts as it was first
    ],
)
def test_the_model_with_the_best_measured_scores_is_the_default(
    scores: dict[str, list[dict[str, Any]]], default: str
) -> None:
    models = [Model(replace(info_of(f"{name}-en-fr"), card={"scores": own})) for name, own in scores.items()]
    assert Pairs(tuple(models)).resolve("en", "fr").name == f"{default}-en-fr"


@pytest.mark.parametrize(
    ("pair", "asked", "error", "message"),
    [
        (("en", "zz"), None, UnsupportedLanguage, "^zz is not supported$"),
        (("xx", "fr"), None, UnsupportedLanguage, "^xx is not supported$"),
        (("fr", "en"), None, UnsupportedPair, "from fr to en"),
        (("en", "fr"), "lstm", UnknownModel, "'lstm' from en to fr; available: bahdanau, bahdanau-en-fr, transformer"),
        (("en", "fr"), "bahdanau-en-de", UnknownModel, "available"),
    ],
)
def test_what_no_model_serves_is_told_apart(
    pair: tuple[str, str], asked: str | None, error: type[Exception], message: str
) -> None:
    pairs = Pairs(tuple(map(model, ("bahdanau-en-de", "bahdanau-en-fr", "transformer-en-fr"))))
    with pytest.raises(error, match=message):
        pairs.resolve(*pair, asked)


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


def test_a_model_that_may_not_be_the_default_translates_if_it_is_named() -> None:
    """Its scores count for nothing, and neither do the test sets that it has."""
    both = model("ensemble-en-fr", set_en_fr=50.0, other_en_fr=50.0)
    both.info = replace(both.info, may_be_default=False)
    one, none = model("transformer-en-fr", set_en_fr=40.0), model("bahdanau-en-fr")
    pairs = Pairs((both, none, one))
    assert pairs.resolve("en", "fr") is one
    assert pairs.resolve("en", "fr", "ensemble") is pairs.resolve("en", "fr", both.name) is both
    assert Pairs((both, none)).resolve("en", "fr") is none
    assert Pairs((both, none, one), (both.name,)).resolve("en", "fr") is both
    both.info = replace(both.info, may_be_default=True)
    assert Pairs((both, none, one)).resolve("en", "fr") is both


MEASURED = {"metric": "BLEU", "signature": "nrefs:1|case:mixed|version:2.6.0", "precision": "int8"}
OWN = [
    {"test_set": "everyday.en-fr", "score": 61.0} | MEASURED,
    {"test_set": "flores101.en-fr", "score": 26.4} | MEASURED,
]


@pytest.mark.parametrize(
    ("stated", "preferred", "default", "reason"),
    [
        (48.2, (), "firefox-en-fr", "by bleu on flores: 48.2 (own-en-fr 26.4)"),
        (20.0, (), "own-en-fr", "by bleu on flores: 26.4 (firefox-en-fr 20.0)"),
        (None, (), "own-en-fr", "by bleu on everyday, flores: 43.7 (firefox-en-fr has none)"),
        (20.0, ("firefox-en-fr",), "firefox-en-fr", "as TRANSLUCENT_DEFAULT_MODELS says"),
    ],
)
def test_a_stated_score_is_compared_with_measured_ones_of_its_test_set(
    stated: float | None, preferred: tuple[str, ...], default: str, reason: str
) -> None:
    scores = [] if stated is None else [{"test_set": "flores200-plus", "metric": "BLEU", "score": stated}]
    own = Model(replace(info_of("own-en-fr"), card={"scores": OWN}))
    added = Model(replace(info_of("firefox-en-fr"), card={"scores": scores}))
    pairs = Pairs((added, own), preferred)
    assert pairs.resolve("en", "fr").name == default
    assert pairs.default_reason(("en", "fr")) == reason


@pytest.mark.parametrize(("better", "default"), [(40.5, "transformer"), (40.6, "bahdanau")])
def test_among_equally_good_models_the_one_with_more_heads_is_the_default(better: float, default: str) -> None:
    many, one = model("transformer-en-fr", set_en_fr=40.0), model("bahdanau-en-fr", set_en_fr=better)
    many.info = replace(many.info, attention={"cross": {"layers": 2, "heads": 4}})
    one.info = replace(one.info, attention={"cross": {"layers": 1, "heads": 1}})
    assert Pairs((one, many)).resolve("en", "fr").name == f"{default}-en-fr"
    assert Pairs((one, many), (one.name,)).resolve("en", "fr") is one


def test_a_model_that_was_measured_on_something_else_wins_over_one_that_was_not_measured() -> None:
    best = model("transformer-en-fr", set_en_fr=40.0, other_en_fr=30.0)
    elsewhere, unknown = model("b-en-fr", else_en_fr=90.0), model("a-en-fr")
    best.state = "failed"
    assert Pairs((unknown, elsewhere, best)).resolve("en", "fr").name == elsewhere.name


def test_another_model_translates_where_the_default_has_failed() -> None:
    best, other = model("transformer-en-fr", set_en_fr=40.0), model("bahdanau-en-fr", set_en_fr=30.0)
    pairs = Pairs((other, best))
    assert pairs.resolve("en", "fr") is best
    assert best.failed_default is None
    best.state = "failed"
    instead = pairs.resolve("en", "fr")
    assert (instead.name, instead.failed_default) == (other.name, best.name)
    assert pairs.resolve("en", "fr", best.name) is best
    other.state = "failed"
    assert pairs.resolve("en", "fr") is best


def test_a_model_of_a_hundred_languages_makes_only_the_pair_that_is_requested() -> None:
    codes = [f"x{first}{second}" for first in "abcdefghij" for second in "abcdefghij"]
    many = Model(replace(info_of("transformer-xaa-xab"), source_languages=tuple(codes), target_languages=tuple(codes)))
    pairs = Pairs((many,))
    assert pairs.resolve("xba", "XJJ") is pairs.resolve("xba", "xjj") is many
    assert many.asked == [("xba", "xjj")]
    with pytest.raises(UnsupportedPair):
        pairs.resolve("xba", "xba")


def test_the_defaults_of_all_pairs_are_found_in_linear_time_and_no_pair_is_made() -> None:
    def seconds(languages: int) -> float:
        codes = tuple(f"x{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(languages))
        one, other = (model(name, **{f"set_{codes[0]}_{codes[1]}": 30.0}) for name in ("a-en-fr", "b-en-fr"))
        for each in (one, other):
            each.info = replace(each.info, source_languages=codes, target_languages=codes)
        pairs = Pairs((one, other))
        began = time.process_time()
        defaults = {pairs.default_name(pair) for pair in one.info.pairs}
        took = time.process_time() - began
        assert defaults == {"a-en-fr"}
        assert one.asked == other.asked == []
        return took

    assert min(seconds(60) / seconds(30) for _ in range(3)) < 9  # 4 times as many pairs; the square took 16 times


def languages(*pairs: tuple[str, str], pivot: str | None = None) -> Languages:
    """Return the languages of models with these pairs."""
    plain = info_of("transformer-en-fr")
    return Languages.of([replace(plain, source_language=one, target_language=other) for one, other in pairs], pivot)


@pytest.mark.parametrize(
    ("tag", "spelling"),
    [
        *(("en", "en"), ("EN", "en"), ("pt-br", "pt-BR"), ("PT_BR", "pt-BR"), ("zh-hans", "zh-Hans"), ("", "")),
        *(("ZH-HANT-tw", "zh-Hant-TW"), ("es-419", "es-419"), ("sr-latn-rs", "sr-Latn-RS"), (" fr ", "fr")),
    ],
)
def test_tags_have_one_spelling(tag: str, spelling: str) -> None:
    assert canonical(tag) == spelling


@pytest.mark.parametrize(
    ("served", "tag", "meant"),
    [
        *(("pt-BR", tag, "pt-BR") for tag in ("pt-BR", "pt-br", "PT_BR", "pb", "PB")),
        *(("pt-br", "pb", "pt-BR"), ("pb", "pt-BR", "pb"), ("pt", "pt-BR", "pt"), ("pt", "pb", "pt")),
        *(("pt-BR", "pt", None), ("pt-BR", "pt-PT", None)),
        *(("zh-Hans", tag, "zh-Hans") for tag in ("zh", "zh-CN", "zh_cn", "zh-Hans-CN", "zh-SG", "ZH-HANS")),
        *(("zh-Hant", tag, "zh-Hant") for tag in ("zt", "zh-TW", "zh-HK", "zh-Hant-HK", "zh-hant")),
        *(("zh", "zh-Hans", "zh"), ("zh", "zh-CN", "zh"), ("zh", "zh-TW", None), ("zh-Hans", "zt", None)),
        *(("fil", "tl", "fil"), ("tl", "fil", "tl"), ("no", "nb", "no"), ("nb", "no", "nb"), ("no", "nn", None)),
        *(("en", tag, "en") for tag in ("en-US", "en-GB", "EN_us", "en-GB-oxendict")),
        *(("en", "eng", None), ("en", "e", None), ("en", "", None), ("en", "-", None), ("en", "-en", None)),
    ],
)
def test_a_tag_finds_what_is_served(served: str, tag: str, meant: str | None) -> None:
    assert languages((served, "xx")).match(tag) == meant


def test_what_is_far_too_long_for_a_tag_costs_nothing() -> None:
    began = time.process_time()
    assert languages(("en", "fr")).match("en" + "-a" * 500_000) is None
    assert time.process_time() - began < 1


def test_the_nearest_pair_is_found() -> None:
    known = languages(("en", "fr"), ("en", "pt"), ("fr", "pt-BR"))
    assert known.pair("en-US", "fr-FR") == ("en", "fr")
    assert known.pair("en", "pt-BR") == ("en", "pt")  # pt-BR is served, but not from English
    assert known.pair("fr", "pb") == ("fr", "pt-BR")
    assert known.pair("en-US", "en-GB") == ("en", "en")
    assert known.pair("pt-BR", "pt") is None  # no model, and not the same
    assert known.pair("fr", "en") is known.pair("zz", "en") is None


def test_a_bare_code_may_mean_a_regional_language() -> None:
    known = languages(("en", "pt-BR"), ("en", "zh-Hant"))
    assert [known.primary(code) for code in ("en", "pt", "zh", "de")] == ["en", "pt-BR", "zh-Hant", None]


def test_a_pair_is_pivoted_if_both_legs_have_a_model_and_the_pair_has_none() -> None:
    direct = {("de", "en"), ("fr", "en"), ("en", "fr"), ("en", "it"), ("de", "it"), ("it", "pl")}
    assert pivoted_pairs(direct, "en") == {("de", "fr"), ("fr", "it")}  # de to it has a model, it to pl no leg
    assert pivoted_pairs(direct, None) == pivoted_pairs(direct, "zz") == frozenset()
    known = languages(*direct, pivot="en")
    assert known.targets["de"] == ("de", "en", "fr", "it")
    assert known.legs("de", "fr") == (("de", "en"), ("en", "fr"))
    assert known.legs("de", "it") == (("de", "it"),)
    assert known.pair("DE", "fr-CA") == ("de", "fr")
    assert known.pair("de", "fr", direct=True) is known.pair("it", "en") is None
    assert known.pair("de", "it", direct=True) == ("de", "it")
    assert languages(*direct).targets["de"] == ("de", "en", "it")


def test_a_model_of_a_broader_tag_wins_over_two_legs_of_the_exact_one() -> None:
    known = languages(("pt-BR", "en"), ("en", "fr"), ("pt", "fr"), pivot="en")
    assert known.pair("pt-BR", "fr") == ("pt", "fr")
    assert ("pt-BR", "fr") in known.pivoted
    assert known.pair("pt-BR", "en") == ("pt-BR", "en")


def test_the_pivot_may_be_written_as_any_tag_that_means_a_served_language() -> None:
    known = languages(("de", "pt-BR"), ("pt-BR", "fr"), pivot="PT_br")
    assert known.legs("de", "fr") == (("de", "pt-BR"), ("pt-BR", "fr"))
