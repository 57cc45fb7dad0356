"""The shapes of /translate/stream: its request, and the events of its answer."""

from typing import Any, ClassVar

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from service.api.schemas.common import (
    ErrorBody,
    Fields,
    FormalityField,
    Glossary,
    Model,
    OptionalWholeNumber,
    PivotSchema,
    Schema,
    SideSchema,
    Text,
    TokenSchema,
    Values,
    WarningSchema,
    WholeNumber,
)
from service.engine import MAX_BEAM_SIZE


class StreamRequest(Fields):
    """A text to be translated token by token, greedily."""

    kept_if_empty: ClassVar[frozenset[str]] = frozenset({"q"})

    q: str = Field(description="The text")
    source: Text = Field(description="Code of the language of the text")
    target: Text = Field(description="Code of the target language")
    model: Model = None
    # Only read to report that a stream is greedy.
    beam_size: SkipJsonSchema[WholeNumber] = Field(1, ge=1, le=MAX_BEAM_SIZE)
    formality: SkipJsonSchema[FormalityField] = "default"
    max_length: OptionalWholeNumber = Field(
        None, ge=1, description="Most tokens of a sentence, including the end token"
    )
    values: Values = None
    glossary: Glossary = None


class SentenceEvent(Schema):
    """A sentence begins."""

    sentence: int = Field(ge=0, description="Its number")
    gap: str = Field(description="The text between the previous sentence and this one")
    source: SideSchema


class TokenEvent(Schema):
    """A token was chosen."""

    sentence: int = Field(ge=0, description="Number of the token's sentence")
    text: str = Field(description="Text that the token adds to the translation; empty until a character is complete")
    token: TokenSchema
    logprob: float = Field(description="As the search saw it: over its shortlist, if the model has one")
    attention: list[float] = Field(description="Its row of the alignment head, one weight for each source token")


class DoneEvent(Schema):
    """The translation is complete."""

    translatedText: str
    model: str = Field(description="The model that wrote the translation: with a pivot language, that of the last leg")
    digest: str
    qualities: list[float | None] = Field(
        description="Quality of each sentence, 0 to 1, as in `details` of `/translate`; null if the model gives none"
    )
    pivot: str | None = Field(None, description="The language through which the text was translated in two legs")
    warnings: list[WarningSchema] | None = Field(None, description="Only if there are any: `default_model_failed`")


EVENTS: dict[str, type[BaseModel]] = {
    "pivot": PivotSchema,  # the first leg is complete: what follows is the translation of this text
    "sentence": SentenceEvent,
    "token": TokenEvent,
    "done": DoneEvent,
    "error": ErrorBody,
}


def event_schema(reference: str) -> dict[str, Any]:
    """Return the schema of one event; `reference` has a place for the name of a model.

    It belongs under `itemSchema`, which OpenAPI 3.2 has for streams and FastAPI writes already.
    """
    return {
        "oneOf": [
            {
                "type": "object",
                "required": ["event", "data"],
                "properties": {
                    "event": {"const": name},
                    "data": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "contentSchema": {"$ref": reference.format(model=model.__name__)},
                    },
                },
            }
            for name, model in EVENTS.items()
        ]
    }
