"""The shapes of the Open Inference Protocol, as OpenAPI shows them; service.api.tensors reads requests."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.api.schemas import Schema


class ServerLive(Schema):
    """Liveness."""

    live: bool


class ServerReady(Schema):
    """Readiness."""

    ready: bool


class ServerMetadata(Schema):
    """The server."""

    name: str
    version: str
    extensions: list[str]


class ModelNames(Schema):
    """The loaded models."""

    models: list[str]


class TensorMetadata(Schema):
    """A tensor that a model takes or gives; -1 is any size."""

    name: str
    datatype: Literal["BYTES", "FP32"]
    shape: list[int]


class ModelMetadata(Schema):
    """What a model takes and gives."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]
    properties: dict[str, str]


class ModelReady(Schema):
    """Readiness of a model."""

    name: str
    ready: bool


class InputTensor(Schema):
    """`text`, or `target_text` for forced decoding."""

    name: Literal["text", "target_text"]
    shape: list[int] = Field(max_length=2, examples=[[1]])
    datatype: Literal["BYTES"]
    data: list[str] | list[list[str]] = Field(description="As many strings as the shape says, flat or nested")


class OutputWanted(Schema):
    """An output by its name."""

    name: Literal["translation", "score", "attention"]


class InferenceRequest(Schema):
    """Texts to translate, or pairs to score."""

    id: str | None = None
    parameters: dict[str, str | float | bool] | None = Field(
        None, description="Decoding options: `beam_size`, `length_penalty`, `max_length`"
    )
    inputs: list[InputTensor] = Field(min_length=1, max_length=2)
    outputs: list[OutputWanted] | None = Field(None, description="Default: `translation` and `score`")


class OutputTensor(Schema):
    """A tensor of the answer, flat, in row-major order."""

    name: str
    shape: list[int]
    datatype: Literal["BYTES", "FP32"]
    data: list[Any]


class InferenceResponse(Schema):
    """The answer."""

    model_name: str
    model_version: str
    id: str | None = None
    outputs: list[OutputTensor]
