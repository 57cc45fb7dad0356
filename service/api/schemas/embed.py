"""The shapes of /embed, and of /attention with kind=sentence."""

from typing import Annotated, Literal

from pydantic import Field, SkipValidation

from service.api.schemas.common import Fields, Flag, Lowered, Number, Schema, Text, Texts


class EmbedRequest(Fields):
    """Texts to embed; the names of the fields are those of Text Embeddings Inference."""

    inputs: Texts = Field(description="A sentence, or (JSON only) a list of sentences")
    normalize: Flag = Field(True, description="Vectors have length 1; false is refused")
    truncate: Flag = Field(
        False, description="Ignore the end of a text that is too long for the model, instead of refusing it"
    )
    details: Flag = Field(
        False, description="Return an object with the model, and the probabilities of languages and domains"
    )
    api_key: SkipValidation[str | None] = Field(None, description="An API key, if the operator requires one")


class EmbedForm(EmbedRequest):
    """The same fields in a form or a query string, where `inputs` is one text."""

    inputs: Text = Field(description="A sentence")


Vector = list[float]


class EmbedDetails(Schema):
    """The answer with `details=true`; lists are in the order of `inputs`."""

    model: str
    digest: str = Field(description="SHA-256 of the model's manifest")
    embeddings: list[Vector]
    languages: list[dict[str, float]] = Field(description="Probability of each language that the model knows")
    domains: list[dict[str, float]] = Field(description="Probability of each domain that the model knows")
    tokens: list[int] = Field(description="Tokens of each text, including the end token")


class SentenceAttentionRequest(Fields):
    """The fields of /attention that matter with kind=sentence."""

    text: Text
    kind: Annotated[Literal["sentence"], Lowered]
    specials: Annotated[Literal["keep", "drop", "renormalise"], Lowered] = "keep"
    format: Annotated[Literal["json", "svg", "png", "html", "csv", "npz", "vega"], Lowered] = "json"
    view: Annotated[Literal["heatmap", "lines"], Lowered] = "heatmap"
    theme: Annotated[Literal["light", "dark"], Lowered] = "light"
    language: Annotated[Literal["en", "de", "fr"], Lowered] = "en"
    scale: Number = Field(1.0, ge=0.25, le=4)
    digest: str | None = None
