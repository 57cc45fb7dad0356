"""Which pairs are translated through a pivot language."""

from dataclasses import replace

from service.engine.languages.tags import Languages, pivoted_pairs
from tests.support.fake_engine import info_of

DIRECT = {("de", "en"), ("fr", "en"), ("en", "fr"), ("en", "it"), ("de", "it"), ("it", "pl")}


def languages(pivot: str | None, *pairs: tuple[str, str]) -> Languages:
    plain = info_of("transformer-en-fr")
    return Languages.of([replace(plain, source_language=one, target_language=other) for one, other in pairs], pivot)


def test_a_pair_is_pivoted_if_both_legs_have_a_model_and_the_pair_has_none() -> None:
    assert pivoted_pairs(DIRECT, "en") == {("de", "fr"), ("fr", "it")}  # de to it has a model, it to pl no leg


def test_nothing_is_pivoted_without_a_pivot_or_through_a_language_that_no_model_knows() -> None:
    assert pivoted_pairs(DIRECT, None) == pivoted_pairs(DIRECT, "zz") == frozenset()


def test_the_languages_list_pivoted_pairs_and_name_their_legs() -> None:
    known = languages("en", *DIRECT)
    assert known.targets["de"] == ("de", "en", "fr", "it")
    assert known.legs("de", "fr") == (("de", "en"), ("en", "fr"))
    assert known.legs("de", "it") == (("de", "it"),)
    assert known.pair("DE", "fr-CA") == ("de", "fr")
    assert known.pair("de", "fr", direct=True) is None
    assert known.pair("de", "it", direct=True) == ("de", "it")
    assert known.pair("it", "en") is None
    assert languages(None, *DIRECT).targets["de"] == ("de", "en", "it")


def test_a_model_of_a_broader_tag_wins_over_two_legs_of_the_exact_one() -> None:
    known = languages("en", ("pt-BR", "en"), ("en", "fr"), ("pt", "fr"))
    assert known.pair("pt-BR", "fr") == ("pt", "fr")
    assert ("pt-BR", "fr") in known.pivoted
    assert known.pair("pt-BR", "en") == ("pt-BR", "en")


def test_the_pivot_may_be_written_as_any_tag_that_means_a_served_language() -> None:
    known = languages("PT_br", ("de", "pt-BR"), ("pt-BR", "fr"))
    assert known.pivot == "pt-BR"
    assert known.legs("de", "fr") == (("de", "pt-BR"), ("pt-BR", "fr"))
