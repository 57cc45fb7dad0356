"""Short texts are looked at on the event loop, long ones and the first ones in a thread."""

from collections.abc import Callable
from typing import Any

import pytest

from service.api import languages
from service.api.languages import SHORT, LanguageDetection
from service.engine import Languages

KNOWN = Languages({"en": ("en", "fr"), "fr": ("en", "fr")})
ENGLISH = "The weather was very good yesterday. "


class Pool:
    """Counts what is handed to it."""

    calls = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        self.calls += 1
        return work()


async def test_only_long_texts_and_the_first_ones_are_handed_to_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()
    monkeypatch.setattr(languages, "POOL", pool)
    detection = LanguageDetection()
    first = await detection.detect([ENGLISH], KNOWN)  # loads the model
    assert pool.calls == 1
    assert await detection.detect([ENGLISH], KNOWN) == first
    assert await detection.other_languages([ENGLISH], [True], "fr", KNOWN) == ["en"]
    assert pool.calls == 1
    long = ENGLISH * (SHORT // len(ENGLISH) + 1)
    assert (await detection.detect([long], KNOWN))[0][0].language == "en"
    assert pool.calls == 2
