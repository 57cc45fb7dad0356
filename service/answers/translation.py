"""The answer of /translate."""

from collections.abc import Container, Sequence
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field

from service.answers.answer import Answer, Points, Real, SideSchema, finite
from service.engine import PivotText, SentenceDetail, SentenceQuality, Translation, ValuePath

WarningCode = Literal["source_language", "unknown_language", "default_model_failed", "formality"]


class WordedSideSchema(SideSchema):
    """One side of a translated sentence."""

    words: tuple[str, ...] = Field(description="The words of the text, by the rule of docs/attention.md")


class CoverageSchema(Answer):
    """Shares of words, without punctuation."""

    source: float = Field(ge=0, le=1)
    target: float = Field(ge=0, le=1)

    @classmethod
    def of(cls, sentence: SentenceDetail) -> Self:
        """Return the shares of the words that are linked to a word of the other side."""
        sources, targets = map(set, zip(*sentence.word_alignment, strict=True)) if sentence.word_alignment else ((), ())
        return cls(source=_covered(sentence.source_words, sources), target=_covered(sentence.target_words, targets))


class SentenceSchema(Answer):
    """One translated sentence; token positions are in the caller's own text and in the whole translation."""

    source: WordedSideSchema
    target: WordedSideSchema
    score: Real = Field(description="Log-probability after the length penalty")
    token_logprobs: tuple[Real, ...] = Field(description="Natural log-probability of each target token")
    alignment: Points = Field(description="Pairs of positions in `source.tokens` and `target.tokens`")
    word_alignment: Points = Field(description="The same, in `source.words` and `target.words`")
    finish_reason: Literal["eos", "length"] = Field(description="`length`: ended at the length limit")
    coverage: CoverageSchema = Field(description="Shares of the words that `word_alignment` links to the other side")
    quality: Annotated[float, BeforeValidator(finite), Field(ge=0, le=1)] | None = Field(
        description="Probability, 0 to 1, that a reader would call the sentence usable; null if the model gives none"
    )
    kept_source: bool = Field(
        False, description="Below `min_quality` and not translated: `target` is the source, without log-probabilities"
    )
    lost: tuple[str, ...] = Field(
        (),
        description="Numbers, values, months, days and names of the source that the translation lacks, which lowers "
        "`quality`; absent if it lacks none",
    )
    added: tuple[str, ...] = Field(
        (), description="Numbers of the translation that the source lacks, which lowers `quality`; absent if none"
    )
    values: ValuePath | None = Field(
        None,
        description="How the values of the sentence were kept: in the search, in a wider second search, or copied "
        "between the parts of the sentence, which were translated apart. Absent if it has none",
    )

    @classmethod
    def of(cls, sentence: SentenceDetail) -> Self:
        """Return a sentence that the engine has translated."""
        return cls(
            source=WordedSideSchema.of(sentence.source_text, sentence.source_tokens, words=sentence.source_words),
            target=WordedSideSchema.of(sentence.target_text, sentence.target_tokens, words=sentence.target_words),
            coverage=CoverageSchema.of(sentence),
            **cls.shared(SentenceDetail, sentence),
        )

    def value(self) -> SentenceDetail:
        """Return the sentence as the engine has it; its places are those of its tokens."""
        return SentenceDetail(
            source_text=self.source.text,
            target_text=self.target.text,
            source_start=self.source.start,
            target_start=self.target.start,
            source_tokens=self.source.values,
            target_tokens=self.target.values,
            source_words=self.source.words,
            target_words=self.target.words,
            **self.shared(SentenceDetail, self),
        )


class FirstLegSchema(Answer):
    """The first leg of a translation through a pivot language."""

    language: str
    text: str = Field(description="The translation of the text into the pivot language")
    model: str
    digest: str
    sentences: tuple[SentenceSchema, ...]

    def value(self) -> PivotText:
        """Return the first leg as the engine has it."""
        sentences = tuple(sentence.value() for sentence in self.sentences)
        return PivotText(self.language, self.text, self.model, self.digest, sentences)


class DetailsSchema(Answer):
    """The details of one text, sentence by sentence."""

    sentences: tuple[SentenceSchema, ...] = Field(
        description="With `pivot`, those of the second leg: their source is the text of `pivot`"
    )
    pivot: FirstLegSchema | None = Field(None, description="The first leg, if the text was translated in two")

    @classmethod
    def of(cls, translation: Translation) -> Self:
        """Return the sentences of a text, and those of its first leg."""
        pivot = translation.pivot
        first = None
        if pivot is not None:
            sentences = tuple(map(SentenceSchema.of, pivot.sentences))
            first = FirstLegSchema(**FirstLegSchema.shared(PivotText, pivot) | {"sentences": sentences})
        return cls(sentences=tuple(map(SentenceSchema.of, translation.sentences)), pivot=first)

    @property
    def values(self) -> tuple[SentenceDetail, ...]:
        """Return the sentences as the engine has them."""
        return tuple(sentence.value() for sentence in self.sentences)


class LowQualitySchema(Answer):
    """A sentence below `min_quality`."""

    source: str = Field(description="The sentence")
    target: str = Field(description="What `translatedText` has for it")
    start: int | None = Field(description="First code point of `target` in `translatedText`; null for HTML")
    quality: Annotated[Real, Field(ge=0, le=1)]
    kept_source: bool = Field(description="Whether it was left in its own language")

    @classmethod
    def all_of(cls, translation: Translation) -> list[Self]:
        """Return the sentences of a text that are below the minimal quality."""
        return [
            cls(source=quality.source_text, target=quality.target_text, **cls.shared(SentenceQuality, quality))
            for quality in translation.qualities
            if quality.low and quality.quality is not None
        ]


class DetectionSchema(Answer):
    """A language and its confidence."""

    confidence: float = Field(ge=0, le=100)
    language: str


class WarningSchema(Answer):
    """Something that a reader of the translation should know."""

    code: WarningCode = Field(
        description="`source_language`: the text seems to be in another language than `source`; `unknown_language`: "
        "for `source=auto`, in none that is served; `default_model_failed`: another model has translated instead; "
        "`formality`: not all sentences have the forms that were asked for"
    )
    message: str = Field(description="A sentence for people")
    language: str | None = Field(description="The language that the text seems to be in; null for other warnings")
    model: str | None = Field(description="The model that has translated instead; null for other warnings")


class TranslateResponse(Answer):
    """The answer to one text; for a list of texts every field is a list of these values."""

    translatedText: str | list[str]
    pivot: str | list[str | None] | None = Field(
        None, description="The language through which the text was translated in two legs; absent if no text was"
    )
    detectedLanguage: DetectionSchema | list[DetectionSchema] | None = Field(
        None, description="Only for `source=auto`; confidence 0 if no language was recognised"
    )
    alternatives: list[str] | list[list[str]] | None = Field(None, description="Only if requested")
    details: DetailsSchema | list[DetailsSchema] | None = Field(None, description="Only if requested")
    low_quality: list[LowQualitySchema] | list[list[LowQualitySchema]] | None = Field(
        None, description="Only with `min_quality`: the sentences below it"
    )
    warnings: list[WarningSchema] | list[list[WarningSchema]] | None = Field(
        None, description="Only if there are any, for one of the texts"
    )


def _covered(words: Sequence[str], linked: Container[int]) -> float:
    """Return the share of words, without punctuation, that are linked to a word of the other side."""
    counted = [number in linked for number, word in enumerate(words) if any(map(str.isalnum, word))]
    return finite(sum(counted) / len(counted)) if counted else 1.0
