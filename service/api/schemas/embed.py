"""The shapes of /embed."""

from pydantic import Field

from service.api.schemas.common import ApiKey, Fields, Flag, Schema, Texts


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
    api_key: ApiKey = None


Vector = list[float]


class EmbedDetails(Schema):
    """The answer with `details=true`; lists are in the order of `inputs`."""

    model: str
    digest: str = Field(description="SHA-256 of the model's manifest")
    embeddings: list[Vector]
    languages: list[dict[str, float]] = Field(description="Probability of each language that the model knows")
    domains: list[dict[str, float]] = Field(description="Probability of each domain that the model knows")
    tokens: list[int] = Field(description="Tokens of each text, including the end token")
