"""The fields of GET /models."""

from pydantic import Field

from service.api.schemas.common import Fields


class ModelsRequest(Fields):
    """How much the list says."""

    brief: bool = Field(
        False, description="Leave `recipe`, `legs` and `data` out of the cards: how a model was trained"
    )
