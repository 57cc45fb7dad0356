"""The events of POST /translate/stream, as OpenAPI shows them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from service.api.schemas.translate import ErrorBody, Schema, SideSchema, TokenSchema


class SentenceEvent(Schema):
    """A sentence begins."""

    sentence: int = Field(ge=0, description="Its number")
    gap: str = Field(description="What stands in the translation before it")
    source: SideSchema


class TokenEvent(Schema):
    """A token was chosen."""

    sentence: int = Field(ge=0, description="Number of its sentence")
    text: str = Field(description="What the translation grows by; empty until a character is complete")
    token: TokenSchema
    logprob: float
    attention: list[float] = Field(description="Its row of the aligning head, one weight for each source token")


class DoneEvent(Schema):
    """The translation is complete."""

    translatedText: str
    model: str
    digest: str


EVENTS: dict[str, type[BaseModel]] = {
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
