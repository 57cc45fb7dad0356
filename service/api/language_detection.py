"""Language detection for `source=auto` of /translate and for /detect."""

from __future__ import annotations

from collections.abc import Sequence

from service.detection import Detector, Guess
from service.engine import BoundedPool, Languages

POOL = BoundedPool("language detection", 2, 2048)


class LanguageDetection:
    """Detects the served languages, in threads; keeps its detector for as long as these languages are served."""

    def __init__(self) -> None:
        self._codes: frozenset[str] = frozenset()
        self._detector: Detector | None = None

    async def detect(self, texts: Sequence[str], known: Languages) -> list[list[Guess]]:
        """Return the guesses for each text, the most likely first; the first call loads the model."""
        detector = self._detector_of(known)
        return await POOL.run(lambda: [detector.detect(text) for text in texts])

    def _detector_of(self, known: Languages) -> Detector:
        codes = frozenset(known.targets)
        if self._detector is None or codes != self._codes:
            self._codes, self._detector = codes, Detector(known.primary)
        return self._detector
