"""The shapes of /translate."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from service.api.schemas.common import (
    ApiKey,
    Count,
    Decoding,
    DetectionSchema,
    Glossary,
    Lowered,
    PivotSchema,
    Points,
    Schema,
    SideSchema,
    Text,
    TextsOrEmpty,
    WarningSchema,
)
from service.engine import MAX_BEAM_SIZE, Effort, TextFields

FORMATS = ("text", "html")


class TranslateRequest(Decoding, TextFields):
    """A translation job; unknown fields are ignored."""

    kept_if_empty: ClassVar[frozenset[str]] = frozenset({"q"})

    q: TextsOrEmpty = Field(
        description="The text, or a list of texts (in a form, q several times); an empty text has an empty translation"
    )
    source: Text = Field(description="Language of the text, such as `en`, or `auto`")
    target: Text = Field(description="Target language, such as `fr` or `pt-BR`")
    # LibreTranslate checks the format after the languages: service.api.checks refuses other words.
    format: Annotated[str, Lowered] = Field(
        "text", description="`html`: tags are kept, and follow their words", json_schema_extra={"enum": [*FORMATS]}
    )
    alternatives: Count = Field(
        0, ge=0, le=MAX_BEAM_SIZE - 1, description="Number of further translations; there may be fewer"
    )
    glossary: Glossary = None
    target_prefix: str | None = Field(
        None,
        description="How the translation begins, up to the end of a word, if `q` is one sentence; the `alternatives` "
        "then have other words at this place. It may be empty, for the first word",
    )
    effort: Effort | None = Field(
        None, description="`best`: eight hypotheses are searched, by the ensemble of the pair if it has one and no "
        "`model` is named, and the one is taken that is best in both directions; at four to seven times the processor "
        "time. Default: the setting `TRANSLUCENT_EFFORT`, `usual`"
    )  # fmt: skip
    details: bool = Field(False, description="Also return tokens, scores and word alignment")
    api_key: ApiKey = None


class WordedSideSchema(SideSchema):
    """One side of a translated sentence."""

    words: list[str] = Field(description="The words of the text, by the rule of docs/attention.md")


class CoverageSchema(Schema):
    """Shares of words, without punctuation."""

    source: float = Field(ge=0, le=1)
    target: float = Field(ge=0, le=1)


class SentenceSchema(Schema):
    """One translated sentence."""

    source: WordedSideSchema
    target: WordedSideSchema
    score: float = Field(description="Log-probability after the length penalty")
    token_logprobs: list[float] = Field(description="Natural log-probability of each target token")
    alignment: Points = Field(description="Pairs of positions in `source.tokens` and `target.tokens`")
    word_alignment: Points = Field(description="The same, in `source.words` and `target.words`")
    finish_reason: Literal["eos", "length"] = Field(description="`length`: ended at the length limit")
    coverage: CoverageSchema = Field(description="Shares of the words that `word_alignment` links to the other side")
    values: Literal["search", "retry", "copied"] | None = Field(
        None,
        description="How the values of the sentence were kept: in the search, in a wider second search, or copied "
        "between the parts of the sentence, which were translated apart. Absent if it has none",
    )
    quality: float | None = Field(
        description="Probability, 0 to 1, that a reader would call the sentence usable; null if the model gives none",
        ge=0,
        le=1,
    )
    kept_source: bool = Field(
        False, description="Below `min_quality` and not translated: `target` is the source, without log-probabilities"
    )
    lost: list[str] | None = Field(
        None,
        description="Numbers, values, months, days and names of the source that the translation lacks, which lowers "
        "`quality`; absent if it lacks none",
    )
    added: list[str] | None = Field(
        None, description="Numbers of the translation that the source lacks, which lowers `quality`; absent if none"
    )


class FirstLegSchema(PivotSchema):
    """The first leg of a translation through a pivot language."""

    sentences: list[SentenceSchema]


class DetailsSchema(Schema):
    """The details of one text, sentence by sentence."""

    sentences: list[SentenceSchema] = Field(
        description="With `pivot`, those of the second leg: their source is the text of `pivot`"
    )
    pivot: FirstLegSchema | None = Field(None, description="The first leg, if the text was translated in two")


class LowQualitySchema(Schema):
    """A sentence below `min_quality`."""

    source: str = Field(description="The sentence")
    target: str = Field(description="What `translatedText` has for it")
    start: int | None = Field(description="First code point of `target` in `translatedText`; null for HTML")
    quality: float = Field(ge=0, le=1)
    kept_source: bool = Field(description="Whether it was left in its own language")


class TranslateResponse(Schema):
    """The answer to one text; for a list of texts every field is a list of these values."""

    translatedText: str | list[str]
    detectedLanguage: DetectionSchema | list[DetectionSchema] | None = Field(
        None, description="Only for `source=auto`; confidence 0 if no language was recognised"
    )
    pivot: str | list[str | None] | None = Field(
        None, description="The language through which the text was translated in two legs; absent if no text was"
    )
    alternatives: list[str] | list[list[str]] | None = Field(None, description="Only if requested")
    details: DetailsSchema | list[DetailsSchema] | None = Field(None, description="Only if requested")
    low_quality: list[LowQualitySchema] | list[list[LowQualitySchema]] | None = Field(
        None, description="Only with `min_quality`: the sentences below it"
    )
    warnings: list[WarningSchema] | list[list[WarningSchema]] | None = Field(
        None, description="Only if there are any, for one of the texts"
    )
