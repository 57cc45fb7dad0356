"""The quality of a translated sentence, and what becomes of a sentence whose quality is too low."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.bundle.alignment import white_space_words
from service.bundle.confidence import Confidence, signals_of
from service.engine.types import SentenceDetail, SentenceQuality


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """The computation of a sentence's quality, and the answer for sentences below `min_quality`."""

    confidence: Confidence | None = None  # None: the model gives no quality
    min_quality: float | None = None
    keep_source: bool = False

    def judge(self, source: str, translation: str, source_tokens: int, logprobs: Sequence[float]) -> SentenceQuality:
        """Return the quality of a sentence's translation, whose place in the whole translation is not known yet."""
        signals = signals_of(source, translation, source_tokens, logprobs)
        quality = None if self.confidence is None else self.confidence.quality(signals)
        low = quality is not None and self.min_quality is not None and quality < self.min_quality
        kept = low and self.keep_source
        return SentenceQuality(source, source if kept else translation, None, quality, signals, low, kept)


def with_quality(detail: SentenceDetail, found: SentenceQuality) -> SentenceDetail:
    """Return the details of a sentence with its quality; a sentence that keeps its source is aligned with itself."""
    if not found.kept_source:
        return replace(detail, quality=found.quality)
    shift = detail.target_start - detail.source_start
    tokens = tuple(replace(token, start=token.start + shift, end=token.end + shift) for token in detail.source_tokens)
    plain = [place for place, token in enumerate(tokens) if token.special is None]
    words = range(len(white_space_words(detail.source_text)))
    return replace(
        detail,
        target_text=detail.source_text,
        target_tokens=tokens,
        token_logprobs=(),
        alignment=tuple((place, place) for place in plain),
        word_alignment=tuple((place, place) for place in words),
        quality=found.quality,
        kept_source=True,
        values=None,
    )
