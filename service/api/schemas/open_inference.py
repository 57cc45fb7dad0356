"""The shapes of the Open Inference Protocol, as OpenAPI shows them; service.api.extensions.tensors reads requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field

from service.api.schemas.translate import Schema
from service.engine import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY

Item = TypeVar("Item")
NotEmpty = Annotated[list[Item], Field(min_length=1)]


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


class ConfiguredTensor(Schema):
    """A tensor in a configuration."""

    name: str
    data_type: Literal["TYPE_STRING", "TYPE_FP32"]
    dims: list[int]
    optional: bool = Field(False, description="Whether a request may leave it out")


class TransactionPolicy(Schema):
    """How requests and answers belong together."""

    decoupled: bool = Field(description="Always false: one answer to one request")


class ModelConfiguration(Schema):
    """A model as Triton's configuration describes one."""

    name: str
    platform: str
    backend: str
    max_batch_size: int = Field(description="Always 0: the first axis of every tensor is the texts")
    input: list[ConfiguredTensor]
    output: list[ConfiguredTensor]
    model_transaction_policy: TransactionPolicy


class ModelReady(Schema):
    """Readiness of a model."""

    name: str
    ready: bool


class InputTensor(Schema):
    """`text`, or `target_text` for forced decoding."""

    name: Literal["text", "target_text"]
    shape: list[Annotated[int, Field(ge=1, le=2**31)]] = Field(max_length=2, examples=[[1]])
    datatype: Literal["BYTES"]
    data: NotEmpty[str] | NotEmpty[NotEmpty[str]] = Field(
        description="As many strings as the shape says, flat or nested"
    )


class OutputParameters(Schema):
    """How an output is wanted."""

    binary_data: bool = Field(False, description="As bytes behind the JSON of the answer")


class OutputWanted(Schema):
    """An output by its name."""

    name: Literal["translation", "score", "attention"]
    parameters: OutputParameters | None = None


class InferenceParameters(Schema):
    """How to search for a translation."""

    model_config = ConfigDict(protected_namespaces=(), extra="allow")
    __pydantic_extra__: dict[str, str | float | bool]

    beam_size: int = Field(4, ge=1, le=MAX_BEAM_SIZE)
    length_penalty: float = Field(1.0, ge=0, le=MAX_LENGTH_PENALTY)
    max_length: int | None = Field(None, ge=1)
    binary_data_output: bool = Field(False, description="All outputs as bytes behind the JSON of the answer")


class InferenceRequest(Schema):
    """Texts to translate, or pairs to score."""

    id: str | None = None
    parameters: InferenceParameters | None = Field(None, description="Decoding options; others are ignored")
    inputs: list[InputTensor] = Field(
        min_length=1,
        max_length=2,
        description="One tensor `text` and, for forced decoding, one `target_text` of as many elements",
        json_schema_extra={
            "contains": {"type": "object", "properties": {"name": {"const": "text"}}, "required": ["name"]},
            "maxContains": 1,
        },
    )
    outputs: Annotated[list[OutputWanted], Field(json_schema_extra={"uniqueItems": True})] | None = Field(
        None, description="Default: `translation` and `score`; `attention` for one text at a time"
    )


class OutputTensor(Schema):
    """A tensor of the answer, flat, in row-major order."""

    name: str
    shape: list[int]
    datatype: Literal["BYTES", "FP32"]
    data: list[Any] | None = Field(None, description="Absent where the tensor follows the JSON as bytes")
    parameters: dict[str, Any] | None = Field(None, description="`binary_data_size`: its bytes behind the JSON")


class InferenceResponse(Schema):
    """The answer."""

    model_name: str
    model_version: str
    id: str | None = None
    outputs: list[OutputTensor]
