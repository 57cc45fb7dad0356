"""The shapes of requests and answers, as OpenAPI shows them.

Requests are read by service.api.body and service.api.fields, since they come in four encodings and with texts of errors
that clients match on; a test holds those and these together.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from service.engine.types import MAX_BEAM_SIZE


class Schema(BaseModel):
    """Base of all: fields named model_… are ours, not pydantic's."""

    model_config = ConfigDict(protected_namespaces=())


class Decoding(Schema):
    """How to search for a translation."""

    model: str | None = Field(
        None, description="A bundle's name, or an architecture: `transformer` (default) or `bahdanau`"
    )
    beam_size: int = Field(4, ge=1, le=MAX_BEAM_SIZE, description="Hypotheses kept in parallel; 1 is greedy search")
    length_penalty: float = Field(
        1.0, ge=0, le=5, description="0 compares sums of log-probabilities, 1 their means; more favours longer output"
    )
    max_length: int | None = Field(
        None, ge=1, description="Most tokens of a translated sentence, the end token counted"
    )


class TranslateRequest(Decoding):
    """A translation job; unknown fields are ignored."""

    q: str | list[str] = Field(description="The text, or (JSON only) a list of texts")
    source: str = Field(description="Code of the language of the text, such as `en`")
    target: str = Field(description="Code of the language wanted, such as `fr`")
    format: Literal["text", "html"] = Field("text", description="`html`: tags are kept, and follow their words")
    alternatives: int = Field(0, ge=0, description="Further translations wanted; there may be fewer")
    details: bool = Field(False, description="Also return tokens, scores and word alignment")
    api_key: str | None = Field(None, description="An API key, where the operator asks for one")


class TranslateForm(TranslateRequest):
    """The same fields in a form or a query string, where `q` is one text."""

    q: str = Field(description="The text")


class StreamRequest(Schema):
    """A text to be translated token by token, greedily."""

    q: str = Field(description="The text")
    source: str = Field(description="Code of the language of the text")
    target: str = Field(description="Code of the language wanted")
    model: str | None = Field(None, description="A bundle's name, or an architecture")
    max_length: int | None = Field(None, ge=1, description="Most tokens of a sentence, the end token counted")


class TokenSchema(Schema):
    """A token and where it lies in its text."""

    id: int = Field(description="Number in the vocabulary")
    text: str = Field(description="Exactly the text between `start` and `end`; empty for special tokens")
    piece: str = Field(description="The vocabulary's own spelling")
    start: int = Field(description="First code point")
    end: int = Field(description="Code point after the last")
    special: str | None = Field(None, description='`"</s>"` for the end token; absent for others')


class SideSchema(Schema):
    """One side of a sentence pair."""

    text: str
    tokens: list[TokenSchema]


class SentenceSchema(Schema):
    """One translated sentence."""

    source: SideSchema
    target: SideSchema
    score: float = Field(description="Log-probability after the length penalty")
    token_logprobs: list[float] = Field(description="Natural log-probability of each target token")
    alignment: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = Field(
        description="Pairs of positions in `source.tokens` and `target.tokens`"
    )
    word_alignment: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = Field(
        description="The same between the words that white space separates in the two texts"
    )
    finish_reason: Literal["eos", "length"] = Field(description="`length`: cut at the longest output allowed")


class DetailsSchema(Schema):
    """How one text was translated, sentence by sentence."""

    sentences: list[SentenceSchema]


class DetectRequest(Schema):
    """A text whose language is to be recognised."""

    q: str = Field(description="The text")
    api_key: str | None = Field(None, description="An API key, where the operator asks for one")


class DetectionSchema(Schema):
    """A language and how sure it is."""

    confidence: float = Field(ge=0, le=100)
    language: str


class DetectionList(RootModel[list[DetectionSchema]]):
    """Languages, the most likely first."""


class TranslateResponse(Schema):
    """The answer to one text; for a list of texts every field is a list of what it is here."""

    translatedText: str | list[str]
    detectedLanguage: DetectionSchema | list[DetectionSchema] | None = Field(
        None, description="Only for `source=auto`; confidence 0 where nothing was recognised"
    )
    alternatives: list[str] | list[list[str]] | None = Field(None, description="Only when asked for")
    details: DetailsSchema | list[DetailsSchema] | None = Field(None, description="Only when asked for")


class AttentionRequest(Decoding):
    """Whose attention to show, and how."""

    text: str = Field(description="One sentence; it is not split")
    source: str = Field(description="Code of the language of the text")
    target: str = Field(description="Code of the language of the translation")
    target_text: str | None = Field(None, description="Your own translation, to be scored as it is (forced decoding)")
    kind: Literal["cross", "encoder", "decoder"] = Field("cross", description="Which attention")
    layer: str | int = Field(
        "align", description="`align` (the one measured best), `mean`, `all`, or a number from 0. "
        "`mean` is the default for `encoder` and `decoder`"
    )  # fmt: skip
    head: str | int = Field("align", description="As for `layer`")
    tokens: Literal["subword", "word"] = Field("subword", description="What a row and a column stand for")
    specials: Literal["keep", "drop", "renormalise"] = Field("keep", description="What becomes of the end token")
    format: Literal["json", "svg", "png", "html", "csv", "npz", "vega", "bertviz", "pharaoh"] = Field(
        "json", description="Of the answer; counts before the Accept header. `vega` is the picture's Vega-Lite "
        "specification, `bertviz` what BertViz takes, `pharaoh` the alignment"
    )  # fmt: skip
    view: Literal["heatmap", "lines", "compare", "contrast"] = Field(
        "heatmap", description="`heatmap`: one map, or small multiples with `all`; `lines` between tokens; `compare`: "
        "two models on the same texts and their difference; `contrast`: two translations by one model"
    )  # fmt: skip
    other_model: str | None = Field(None, description="For `compare`; default: the pair's other architecture")
    other_text: str | None = Field(
        None, description="For `contrast`: set against `target_text`, instead of the model's own translation"
    )
    theme: Literal["light", "dark"] = Field("light", description="Of pictures")
    scale: float = Field(1.0, ge=0.25, le=4, description="Pixels of a PNG for each pixel of the SVG")
    digest: str | None = Field(
        None, description="Digest of the model (of both, with a comma, for `compare`), or its beginning: the address "
        "is then answered by this model only, may be cached for ever, and is answered 409 by any other"
    )  # fmt: skip


class AttentionResponse(Schema):
    """Attention weights with their axes named."""

    model: str
    digest: str = Field(description="SHA-256 of the model's manifest")
    kind: str
    layer: str | int
    head: str | int
    source: SideSchema
    target: SideSchema
    axes: list[str] = Field(description='Names of the axes of `weights`; `"layer"`, `"head"` in front for `all`')
    weights: list[Any] = Field(description="Nested as `axes` says; each row is of the step that produces its token")
    columns: list[TokenSchema] | None = Field(
        None, description="Only for `kind=decoder`: the tokens that were read, which begin with `<s>`"
    )
    score: float
    token_logprobs: list[float]
    token_ranks: list[int] = Field(description="1: the model's own first choice at that step")
    alignment: list[Annotated[list[int], Field(min_length=2, max_length=2)]]


class ModelSchema(Schema):
    """A loaded model."""

    name: str
    version: str
    architecture: str
    source: str
    target: str
    default: bool = Field(description="Whether the pair is translated by it when no model is named")
    digest: str
    precision: str
    device: str
    device_wanted: str
    provider: str
    limits: dict[str, int]
    attention: dict[str, Any]
    card: dict[str, Any]


class ModelList(Schema):
    """All loaded models."""

    models: list[ModelSchema]


class Language(Schema):
    """A language and what it can be translated into."""

    code: str
    name: str
    targets: list[str]


class LanguageList(RootModel[list[Language]]):
    """All languages."""


class Health(Schema):
    """How the service is."""

    status: str


class ErrorBody(Schema):
    """What every error looks like."""

    error: str = Field(description="What went wrong, and what to do")
    code: str = Field(description="A word that stays the same")
    request_id: str = Field(description="Also in the header X-Request-ID and in our logs")


class LanguageChoice(Schema):
    """A language as a page shows it."""

    code: str
    name: str


class FrontendLanguages(Schema):
    """The languages that a page begins with."""

    source: LanguageChoice
    target: LanguageChoice


class FrontendSettings(Schema):
    """What a page of this dialect needs to know."""

    charLimit: int
    frontendTimeout: int
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: FrontendLanguages
