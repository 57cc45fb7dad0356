"""Which served language a text is taken for, also where imported models name it by another code."""

from __future__ import annotations

import pytest

from service.detection import Detector
from service.engine.languages.tags import Languages


@pytest.mark.parametrize(
    ("served", "text", "wanted"),
    [
        (("en", "fil"), "Nasaan ang istasyon ng tren? Nawala ko ang aking mga susi.", "fil"),
        (("en", "nb"), "Hvor er togstasjonen? Jeg har mistet nøklene mine.", "nb"),
        (("en", "gn"), "Mba'éichapa reime? Che cheréra.", "gn"),
        (("en", "ar"), "انا عايز اروح البيت دلوقتي", "ar"),
        (("en", "zh-Hans"), "火车站在哪里？我想买一张票。", "zh-Hans"),
        (("yue", "zh-Hans"), "我哋今日去邊度食飯呀？", "yue"),
        (("az-Latn", "en"), "Mən açarlarımı itirmişəm. Qatar stansiyası haradadır?", "az-Latn"),
    ],
)
def test_a_text_is_found_under_the_code_that_is_served(served: tuple[str, ...], text: str, wanted: str) -> None:
    known = Languages({code: (code,) for code in sorted(served)})
    guesses = Detector(known.primary).detect(text)
    assert guesses[0].language == wanted
    assert guesses[0].confidence > 60
    assert len({guess.language for guess in guesses}) == len(guesses) <= len(served)
    assert sum(guess.confidence for guess in guesses) == pytest.approx(100, abs=0.2)
