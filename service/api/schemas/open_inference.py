"""The answers of the Open Inference Protocol; service.api.schemas.inference_request has its request."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.api.schemas.common import Schema


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
    """An input or output tensor of a model; -1 is any size."""

    name: str
    datatype: Literal["BYTES", "FP32"]
    shape: list[int]


class ModelMetadata(Schema):
    """Inputs and outputs of a model."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]
    properties: dict[str, str]


class ConfiguredTensor(Schema):
    """A tensor in a configuration."""

    name: str
    data_type: Literal["TYPE_STRING", "TYPE_FP32"]
    dims: list[int]
    optional: bool = Field(False, description="Whether a request may omit it")


class TransactionPolicy(Schema):
    """The relation of requests and answers."""

    decoupled: bool = Field(description="Always false: each request has one answer")


class ModelConfiguration(Schema):
    """A model in the format of Triton's configuration."""

    name: str
    platform: str
    backend: str
    max_batch_size: int = Field(description="Always 0: the first axis of every tensor counts the texts")
    input: list[ConfiguredTensor]
    output: list[ConfiguredTensor]
    model_transaction_policy: TransactionPolicy


class ModelReady(Schema):
    """Readiness of a model."""

    name: str
    ready: bool


class OutputTensor(Schema):
    """A tensor of the answer, flat, in row-major order."""

    name: str
    shape: list[int]
    datatype: Literal["BYTES", "FP32"]
    data: list[Any] | None = Field(None, description="Absent if the tensor follows the JSON as bytes")
    parameters: dict[str, Any] | None = Field(
        None, description="`binary_data_size`: the number of its bytes after the JSON"
    )


class InferenceResponse(Schema):
    """The answer."""

    model_name: str
    model_version: str
    id: str | None = None
    outputs: list[OutputTensor]
