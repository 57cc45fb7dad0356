"""The shapes of /attention."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from service.api.schemas.common import (
    Accepts,
    Decoding,
    FigureRequest,
    Points,
    Schema,
    SideSchema,
    Text,
    TokenSchema,
    Trimmed,
    as_whole,
)

Format = Literal["json", "svg", "png", "html", "csv", "npz", "vega", "bertviz", "pharaoh"]
CELL = r"^[0-9]{1,4},[0-9]{1,4}$"
MOST_MODELS = 12
SEVERAL_MAPS = ("compare", "contrast", "models")  # views
DIGESTS = rf"^sha256:[0-9a-f]{{12,64}}(,sha256:[0-9a-f]{{12,64}}){{0,{MOST_MODELS - 1}}}$"
MODELS = rf"^[^,]{{1,64}}(,[^,]{{1,64}}){{0,{MOST_MODELS - 1}}}$"
IDS = r"^[0-9]{1,7}(,[0-9]{1,7}){0,4095}$"


def selector(value: object) -> object:
    """Return a layer or a head as a word in lower case or as a number."""
    number = as_whole(value)
    return number if number is not None else value.lower() if isinstance(value, str) else value


Choice = Annotated[
    Literal["align", "mean", "all"] | Annotated[int, Field(strict=True, ge=0, le=9_999)],
    BeforeValidator(selector),
    Accepts("align, mean, all or a whole number from 0"),
]
Digests = Annotated[
    str | None,
    Field(pattern=DIGESTS),
    Trimmed,
    Accepts("sha256: and at least 12 of its digits, for each model"),
]
Models = Annotated[
    str | None,
    Field(pattern=MODELS),
    Trimmed,
    Accepts(f"names of models with commas between them, at most {MOST_MODELS}"),
]
Ids = Annotated[str | None, Field(pattern=IDS), Trimmed, Accepts("ids of tokens with commas between them")]
Kind = Literal["cross", "encoder", "decoder", "occlusion"]


class AttentionRequest(FigureRequest, Decoding):
    """The attention to show, and its form."""

    kept_if_empty: ClassVar[frozenset[str]] = frozenset({"text"})

    text: Text = Field(description="One sentence, or several: the model sees none from another")
    source: Text = Field(description="Code of the language of the text")
    target: Text = Field(description="Code of the language of the translation")
    target_text: str | None = Field(
        None,
        description="Your own translation of `text` as one sentence, which is scored (forced decoding) in its "
        "canonical segmentation: the subwords that the tokenizer makes of it. A search may have chosen others; "
        "`target_ids` forces those",
    )
    target_ids: Ids = Field(
        None, description="The ids of the target's tokens, as the details of /translate have them. Exactly this path "
        "is scored, so the score is that of the search; `target_text`, if it is sent too, must be what they write"
    )  # fmt: skip
    source_ids: Ids = Field(
        None, description="With `target_ids`: the ids of the source's tokens in the same answer. If the model would "
        "read this text otherwise, the answer is 400"
    )  # fmt: skip
    leg: int | None = Field(
        None, ge=1, le=2, description="Only for a pair that is translated through a pivot language, and required "
        "there: 1 is the translation into the pivot language, 2 the translation of that text into the target language"
    )  # fmt: skip
    kind: Kind = Field(
        "cross", description="Which attention; `occlusion` is no attention but what each target token loses in "
        "log-probability if a part of the source is removed"
    )  # fmt: skip
    stage: Literal["weights", "scores"] = Field(
        "weights", description="`scores`: also the numbers before the softmax, which pictures then show. For one head "
        "or `all`, of subwords"
    )  # fmt: skip
    cell: Annotated[str, Field(pattern=CELL)] | None = Field(
        None, description="Only with `stage=scores` and one head, in JSON: row and column with a comma between them, "
        "from 0. `cell` of the answer has the query, the key and their product by dimension"
    )  # fmt: skip
    layer: Choice = Field(
        "align", description="`align` (the one with the best measured alignment), `mean`, `all`, or a number from 0. "
        "`mean` is the default for `encoder` and `decoder`"
    )  # fmt: skip
    head: Choice = Field("align", description="As for `layer`")
    tokens: Literal["subword", "word"] = Field("subword", description="What a row and a column mean")
    specials: Literal["keep", "drop", "renormalise"] = Field("keep", description="How the end token is shown")
    format: Format = Field(
        "json", description="Format of the answer. `vega` is the picture's "
        "Vega-Lite specification, `bertviz` is the input of BertViz, `pharaoh` the alignment"
    )  # fmt: skip
    view: Literal["heatmap", "lines", "compare", "contrast", "models", "steps"] = Field(
        "heatmap", description="`heatmap`: one map, or small multiples with `all`; `lines` between tokens; `compare`: "
        "two models on the same texts and their difference; `contrast`: two translations by one model; `models`: any "
        "models on the same texts; `steps`: in JSON, the beam search that found the translation, step by step"
    )  # fmt: skip
    models: Models = Field(
        None, description="For `models`, and required there: the names, with commas between them. The translation is "
        "`target_text`, or that of the first one"
    )  # fmt: skip
    other_model: str | None = Field(
        None, description="For `compare`; default: the other architecture of the pair, or of an ensemble its members"
    )  # fmt: skip
    member: str | None = Field(
        None, description="Of an ensemble: the member whose weights are wanted, for the translation of all of them. "
        "Default: the first"
    )  # fmt: skip
    other_text: str | None = Field(
        None, description="For `contrast`: compared with `target_text`, instead of the model's own translation"
    )
    language: Literal["en", "de", "fr"] = Field("en", description="Of the words of pictures")
    digest: Digests = Field(
        None, description="Digest of the model (of all, with commas, for `compare` and `models`), or its beginning: "
        "the address is then answered by this model only, may be cached for ever, and is answered 409 by any other"
    )  # fmt: skip

    @property
    def digests(self) -> tuple[str, ...]:
        """Return the digests of the wanted models."""
        return tuple(self.digest.split(",")) if self.digest else ()


class ExplainedCell(Schema):
    """One weight with every number that it is made of."""

    row: int
    column: int
    masked: bool
    score: float | None = Field(description="`scale` times `sum`; null where the position is masked")
    weight: float | None
    sum: float | None = Field(None, description="The sum of `terms`")
    query: list[float] | None = None
    key: list[float] | None = None
    terms: list[float] | None = Field(
        None, description="By dimension: query times key, or with `additive` energy times tanh(query + key); absent "
        "for a score without dimensions"
    )  # fmt: skip
    energy: list[float] | None = Field(None, description="v of the additive score vᵀ tanh(query + key)")


class NextToken(Schema):
    """A token that may follow, as the search saw it before its rules (repetition, least length, values)."""

    id: int
    piece: str = Field(description="Spelling in the vocabulary")
    logprob: float


class ConsideredHypothesis(Schema):
    """A hypothesis that the search considered: another one and one more token."""

    parent: int | None = Field(description="Index of the hypothesis that it continues; null for the first, empty one")
    step: int | None = Field(description="The step that considered it, from 0; a row of `weights`")
    id: int
    piece: str = Field(description="Spelling of its last token in the vocabulary")
    logprob: float = Field(description="Of its last token, as the search saw it")
    total: float = Field(description="The sum of its log-probabilities")
    outcome: Literal["live", "finished", "pruned"] = Field(
        description="`live`: it stayed in the beam; `finished`: a complete translation; `pruned`: it left the beam"
    )
    score: float | None = Field(None, description="Of a finished one: `total` / tokens ** length_penalty")
    next: list[NextToken] | None = Field(None, description="The five likeliest next tokens of a live one")


class SearchSchema(Schema):
    """A whole beam search."""

    beam_size: int
    length_penalty: float
    shortlist: bool = Field(
        description="Whether the probabilities are over the words of a shortlist instead of the whole vocabulary, so "
        "that they are a little larger than those of `token_logprobs`"
    )
    hypotheses: list[ConsideredHypothesis]
    best: list[int] = Field(description="The way to the translation: indices of hypotheses, the empty one first")


class AttentionResponse(Schema):
    """Attention weights with their axes named."""

    model: str = Field(description="The model whose weights these are")
    ensemble: str | None = Field(
        None, description="The ensemble that the model is a member of; translation, scores and digest are those of it"
    )  # fmt: skip
    digest: str = Field(description="SHA-256 of the model's manifest")
    kind: Literal["cross", "encoder", "decoder", "occlusion"]
    layer: str | int
    head: str | int
    step: Literal["produce", "consume"] | None = Field(
        description="The step of the decoder that a row belongs to: `produce`, the one that writes the row's token, or "
        "`consume`, the next one, which reads it (`layer=head=align` of a model that aligns there); null for "
        "`kind=encoder`"
    )  # fmt: skip
    source: SideSchema
    target: SideSchema
    axes: list[str] = Field(description='Names of the axes of `weights`; for `all`, `"layer"` and `"head"` come first')
    weights: list[Any] = Field(
        description="Nested in the order of `axes`; `step` says which step a row belongs to. With `consume` the "
        "row of the last token is null in every column: no step reads that token"
    )
    columns: list[TokenSchema] | None = Field(
        None, description="Only for `kind=decoder`: the tokens that were read, which begin with `<s>`; and for "
        "`kind=occlusion`: the parts of the source that were removed"
    )  # fmt: skip
    path: Literal["search", "canonical", "ids"] = Field(
        "search",
        description="Where the tokens of the target come from: the `search`, the `canonical` segmentation of a given "
        "text (also of a text in which nothing is translated), or the given `ids`",
    )
    score: float
    quality: float | None = Field(
        None,
        description="Probability that a reader would call the model's own translation usable; null for a given one, "
        "and if the model gives none",
    )
    token_logprobs: list[float]
    token_ranks: list[int] = Field(description="1: the model's own first choice at that step")
    alignment: Points
    stage: Literal["scores"] | None = None
    scores: list[Any] | None = Field(
        None, description="With `stage=scores`, nested like `weights`, which are their softmax in each row; null where "
        "a position is masked"
    )  # fmt: skip
    score_function: Literal["dot", "scaled_dot", "additive", "other"] | None = None
    normalisation: Literal["softmax", "local", "hard"] | None = Field(
        None, description="What makes weights of scores: a softmax, one in a window, or the choice of the largest"
    )
    scale: float | None = Field(None, description="A score of a product is `scale` times the sum of its terms")
    cell: ExplainedCell | None = None
    search: SearchSchema | None = Field(None, description="With `view=steps`")


class AttentionMaps(Schema):
    """Several maps of the same text: two, or for `view=models` any number of models."""

    view: Literal["compare", "contrast", "models"]
    maps: list[AttentionResponse] = Field(min_length=1, max_length=MOST_MODELS)
    difference: list[Any] | None = Field(
        None, description="For `compare`: the weights of the first map minus those of the second"
    )


class BertvizAttention(Schema):
    """For `format=bertviz`: every layer and head, under BertViz's names."""

    model_config = ConfigDict(protected_namespaces=(), extra="forbid")

    model: str
    digest: str
    encoder_tokens: list[str] | None = None
    decoder_tokens: list[str] | None = None
    decoder_tokens_are: Literal["output", "input"] | None = Field(
        None, description="Whether a row has the token that its step writes (cross-attention) or reads (decoder)"
    )
    cross_attention: list[Any] | None = None
    encoder_attention: list[Any] | None = None
    decoder_attention: list[Any] | None = None
