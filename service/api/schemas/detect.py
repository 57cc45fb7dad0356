"""The shapes of /detect."""

from pydantic import Field, RootModel

from service.api.schemas.common import ApiKey, DetectionSchema, Fields, Texts


class DetectRequest(Fields):
    """A text whose language is to be recognised, or several in one language."""

    q: Texts = Field(description="The text, or (JSON only) a list of texts")
    api_key: ApiKey = None


class DetectionList(RootModel[list[DetectionSchema]]):
    """Languages, the most likely first."""
