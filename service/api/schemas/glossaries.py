"""The shape of /glossaries."""

from __future__ import annotations

from pydantic import Field, RootModel

from service.api.schemas.common import Schema


class GlossarySchema(Schema):
    """One glossary for one language pair."""

    name: str = Field(description="What the field `glossary` of a request names")
    source: str
    target: str
    terms: int = Field(description="Number of terms")


class GlossaryList(RootModel[list[GlossarySchema]]):
    """All glossaries."""
