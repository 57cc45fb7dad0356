"""The shapes of the model repository extension."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, RootModel

from service.api.schemas.common import Fields, Flag, Schema, refused

Availability = Literal["READY", "LOADING", "UNLOADING", "UNAVAILABLE"]


def no_parameters(value: object) -> None:
    """Return None; raise pydantic's error if parameters are given."""
    if isinstance(value, dict) and value:
        raise refused(
            "a model is loaded as it is in the folder; a configuration or files in the request are not accepted",
            "parameters",
        )


class IndexRequest(Fields):
    """The models of the repository to list."""

    ready: Flag = Field(False, description="Only models that accept requests now")


class LoadRequest(Fields):
    """A request to load a model; the body may be left out."""

    parameters: Annotated[Annotated[dict[str, Any], Field(max_length=0)] | None, BeforeValidator(no_parameters)] = (
        Field(None, description="A model is loaded as it is in the folder; a configuration or files are not accepted")
    )


class IndexEntry(Schema):
    """A model of the folder."""

    name: str
    version: str = Field(description="Empty if it is not loaded")
    state: Availability
    reason: str = Field(description="Why it is not ready; empty if it is ready")


class Index(RootModel[list[IndexEntry]]):
    """Every model of the folder: served, refused, or not loaded."""


class LoadedModel(Schema):
    """The outcome for a bundle."""

    name: str
    outcome: Literal["added", "replaced", "unchanged"]
    digest: str = Field(description="Digest of the bundle that new requests use from now on")


class UnloadedModel(Schema):
    """A model that is no longer served."""

    name: str
    outcome: Literal["unloaded"]
