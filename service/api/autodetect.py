"""Which language a text is in, for `source=auto` of /translate and for /detect."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI

from service.api.thread_pools import DETECTION
from service.detection import Detector, Guess
from service.engine import Languages


def detector_of(app: FastAPI) -> Detector:
    """Return the detector among the languages that are served now."""
    languages = Languages.of(app.state.service.registry.models())
    codes = frozenset(languages.targets)
    known: tuple[frozenset[str], Detector] | None = getattr(app.state, "detector", None)
    if known is None or known[0] != codes:
        known = (codes, Detector(languages.primary))
        app.state.detector = known
    return known[1]


async def detect_all(app: FastAPI, texts: Sequence[str]) -> list[list[Guess]]:
    """Return the guesses for each text, worked out in a thread: the first call loads the model."""
    detector = detector_of(app)
    return await DETECTION.run(lambda: [detector.detect(text) for text in texts])
