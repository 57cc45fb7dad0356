"""Language detection for `source=auto` of /translate and for /detect."""

from __future__ import annotations

from collections.abc import Sequence

from service.detection import Detector, Guess, Identifier, has_evidence
from service.engine import BoundedPool, Languages

POOL = BoundedPool("language detection", 2, 2048)


class LanguageDetection:
    """Detects the served languages, in threads; keeps its detector for as long as these languages are served."""

    def __init__(self) -> None:
        self._codes: frozenset[str] = frozenset()
        self._detector: Detector | None = None
        self._identifier = Identifier()

    async def detect(self, texts: Sequence[str], known: Languages) -> list[list[Guess]]:
        """Return the guesses for each text, the most likely first; the first call loads the model."""
        detector = self._detector_of(known)
        return await POOL.run(lambda: [detector.detect(text) for text in texts])

    async def other_languages(
        self, texts: Sequence[str], doubted: Sequence[bool], source: str | None, known: Languages
    ) -> list[str | None]:
        """Return the language of each doubted text that is surely not in `source`, else None.

        Without a source, return the language of each doubted text if it has enough words to tell.
        """
        chosen = [doubt and has_evidence(text) for text, doubt in zip(texts, doubted, strict=True)]
        if not any(chosen):  # single words and names; the model is not loaded for them
            return [None] * len(texts)
        detector = self._detector_of(known)
        return await POOL.run(
            lambda: [
                detector.other_than(text, source) if check else None for text, check in zip(texts, chosen, strict=True)
            ]
        )

    def _detector_of(self, known: Languages) -> Detector:
        codes = frozenset(known.targets)
        if self._detector is None or codes != self._codes:
            self._codes, self._detector = codes, Detector(known.primary, self._identifier)
        return self._detector
