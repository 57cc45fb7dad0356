"""The shapes of /detect."""

from pydantic import Field, RootModel, SkipValidation

from service.api.schemas.common import DetectionSchema, Fields, Texts


class DetectRequest(Fields):
    """A text whose language is to be recognised, or several in one language."""

    q: Texts = Field(description="The text, or (JSON only) a list of texts")
    api_key: SkipValidation[str | None] = Field(None, description="An API key, if the operator requires one")


class DetectionList(RootModel[list[DetectionSchema]]):
    """Languages, the most likely first."""
