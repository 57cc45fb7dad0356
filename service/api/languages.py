"""English names of languages, and language detection for `source=auto` of /translate and for /detect."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from service.detection import Detector, Guess, Identifier, has_evidence
from service.engine import BoundedPool, Languages

Result = TypeVar("Result")

# Languages with a code of two letters (ISO 639-1), and those of three letters that imported models have.
_NAMES = Path(__file__).with_name("language_names.txt").read_text("utf-8")
ENGLISH_NAMES = {
    code: name for code, _, name in (entry.partition(" ") for line in _NAMES.splitlines() for entry in line.split("|"))
}
# What LibreTranslate calls them.
ENGLISH_NAMES |= {"pt-BR": "Portuguese (Brazil)", "zh-Hans": "Chinese", "zh-Hant": "Chinese (traditional)"}
_SCRIPTS = {"Arab": "Arabic", "Cyrl": "Cyrillic", "Deva": "Devanagari", "Latn": "Latin", "Tfng": "Tifinagh"}


def language_name(tag: str) -> str:
    """Return the English name of a language, with its script or region if it has any, or its tag."""
    if tag in ENGLISH_NAMES:
        return ENGLISH_NAMES[tag]
    base, _, rest = tag.partition("-")
    return f"{ENGLISH_NAMES[base]} ({_SCRIPTS.get(rest, rest)})" if base in ENGLISH_NAMES else tag


POOL = BoundedPool("language detection", 2, 2048)
SHORT = 400  # characters of all texts together, which take 0.1 to 0.4 ms: handing them to a thread takes as long again


class LanguageDetection:
    """Detects the served languages, in threads; keeps its detector for as long as these languages are served."""

    def __init__(self) -> None:
        self._codes: frozenset[str] = frozenset()
        self._detector: Detector | None = None
        self._identifier = Identifier()

    async def detect(self, texts: Sequence[str], languages: Languages) -> list[list[Guess]]:
        """Return the guesses for each text, the most likely first; the first call loads the model."""
        detector = self._detector_of(languages)
        return await self._run(texts, lambda: [detector.detect(text) for text in texts])

    async def other_languages(
        self, texts: Sequence[str], doubted: Sequence[bool], source: str | None, languages: Languages
    ) -> list[str | None]:
        """Return the language of each doubted text that is surely not in `source`, else None.

        Without a source, return the language of each doubted text if it has enough words to tell.
        """
        chosen = [doubt and has_evidence(text) for text, doubt in zip(texts, doubted, strict=True)]
        if not any(chosen):  # single words and names; the model is not loaded for them
            return [None] * len(texts)
        detector = self._detector_of(languages)
        return await self._run(
            texts,
            lambda: [
                detector.other_than(text, source) if check else None for text, check in zip(texts, chosen, strict=True)
            ],
        )

    async def _run(self, texts: Sequence[str], work: Callable[[], Result]) -> Result:
        """Do work on texts: at once if they are short, otherwise in a thread, which also loads the model."""
        if self._identifier.loaded and sum(map(len, texts)) <= SHORT:
            return work()
        return await POOL.run(work)

    def _detector_of(self, languages: Languages) -> Detector:
        codes = frozenset(languages.targets)
        if self._detector is None or codes != self._codes:
            self._codes, self._detector = codes, Detector(languages.primary, self._identifier)
        return self._detector
