"""Which served language a tag means."""

from dataclasses import replace

import pytest

from service.engine.languages.tags import Languages, canonical
from tests.support.fake_engine import info_of


def languages(*pairs: tuple[str, str]) -> Languages:
    """Return the languages of models with these pairs."""
    plain = info_of("transformer-en-fr")
    return Languages.of([replace(plain, source_language=source, target_language=target) for source, target in pairs])


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
    assert languages(("en", "fr")).match("en" + "-a" * 500_000) is None


def test_the_nearest_pair_is_found() -> None:
    known = languages(("en", "fr"), ("en", "pt"), ("fr", "pt-BR"))
    assert known.pair("en-US", "fr-FR") == ("en", "fr")
    assert known.pair("en", "pt-BR") == ("en", "pt")  # pt-BR is served, but not from English
    assert known.pair("fr", "pb") == ("fr", "pt-BR")
    assert known.pair("en-US", "en-GB") == ("en", "en")
    assert known.pair("pt-BR", "pt") is None  # no model, and not the same
    assert known.pair("fr", "en") is None
    assert known.pair("zz", "en") is None


def test_a_bare_code_may_mean_a_regional_language() -> None:
    known = languages(("en", "pt-BR"), ("en", "zh-Hant"))
    assert [known.primary(code) for code in ("en", "pt", "zh", "de")] == ["en", "pt-BR", "zh-Hant", None]
