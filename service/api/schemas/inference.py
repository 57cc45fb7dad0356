"""The request and the answer of the Open Inference Protocol: named tensors of texts and of numbers."""

import math
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import FailFast, Field, PlainValidator, model_validator
from pydantic.json_schema import SkipJsonSchema

from service.api.schemas.common import (
    Accepts,
    Fields,
    Glossary,
    Schema,
    SearchRequest,
    as_whole,
    refused,
)

Item = TypeVar("Item")
NotEmpty = Annotated[list[Item], Field(min_length=1)]
LARGEST_SIZE = 2**31
MOST_AXES = 2  # a product of thousands of sizes would take seconds
OutputName = Literal["translation", "score", "attention"]
# What a request that names no outputs gets, and what the metadata lists. `attention` has to be named: it exists for one
# text at a time, and that text is then taken for one sentence.
DEFAULT_OUTPUTS: tuple[OutputName, ...] = ("translation", "score")


def sizes(shape: object) -> list[int]:
    """Return the sizes of a tensor's axes; raise ValueError for anything else."""
    if not isinstance(shape, list) or len(shape) > MOST_AXES or any(isinstance(size, str) for size in shape):
        raise ValueError("no shape")
    checked = [size for size in map(as_whole, shape) if size is not None and 0 <= size <= LARGEST_SIZE]
    if len(checked) != len(shape):
        raise ValueError("no shape")
    return checked


def strings(data: object) -> list[str]:
    """Return the strings of a tensor, in one list; raise ValueError for anything else."""
    if isinstance(data, str):
        return [data]
    if not isinstance(data, list):
        raise ValueError("no strings")
    items = [item for part in data for item in part] if data and all(isinstance(part, list) for part in data) else data
    if not all(isinstance(item, str) for item in items):
        raise ValueError("no strings")
    return items


Shape = Annotated[list[Annotated[int, Field(ge=1, le=LARGEST_SIZE)]], Field(max_length=MOST_AXES)]
Strings = NotEmpty[str] | NotEmpty[NotEmpty[str]]


class InputTensor(Schema):
    """`text`, or `target_text` for forced decoding."""

    name: Literal["text", "target_text"]
    shape: Annotated[
        list[int],
        PlainValidator(sizes, json_schema_input_type=Shape),
        Accepts(f"a list of at most {MOST_AXES} whole numbers"),
    ] = Field(examples=[[1]])
    datatype: Literal["BYTES"]
    data: Annotated[
        list[str],
        PlainValidator(strings, json_schema_input_type=Strings),
        Accepts("strings, in one list or nested as the shape says"),
    ] = Field(description="As many strings as in the shape, flat or nested")
    parameters: SkipJsonSchema[dict[str, Any] | None] = None

    @model_validator(mode="after")
    def check_size(self) -> Self:
        """Return the tensor; raise pydantic's error if its shape does not fit its data."""
        if math.prod(self.shape) != len(self.data):
            raise refused(f"the shape of {self.name} does not fit its {len(self.data)} elements", self.name)
        if not self.data:
            raise refused(f"{self.name} has no elements", self.name)
        return self


class OutputParameters(Fields):
    """The options of an output."""

    binary_data: bool | None = Field(None, description="As bytes after the JSON of the answer")


class RequestedOutput(Fields):
    """An output by its name."""

    name: OutputName
    parameters: OutputParameters = Field(default_factory=OutputParameters)


class InferenceParameters(SearchRequest):
    """Which pair of the model to use, and how to search for a translation."""

    glossary: Glossary = None
    source: str | None = Field(None, description="For a model with several sources; default: its first one")
    target: str | None = Field(None, description="For a model with several targets, which requires it")
    binary_data_output: bool = Field(False, description="All outputs as bytes after the JSON of the answer")


class InferenceRequest(Fields):
    """Texts to translate, or pairs to score."""

    id: str | None = None
    parameters: InferenceParameters = Field(
        default_factory=InferenceParameters, description="Decoding options; others are ignored"
    )
    inputs: Annotated[list[InputTensor], FailFast(), Accepts("a list of objects")] = Field(
        description="One tensor `text` and, for forced decoding, one `target_text` of as many elements",
        json_schema_extra={
            "minItems": 1,
            "maxItems": 2,
            "contains": {"type": "object", "properties": {"name": {"const": "text"}}, "required": ["name"]},
            "maxContains": 1,
        },
    )
    outputs: Annotated[list[RequestedOutput], FailFast(), Accepts("a list of objects")] = Field(
        [],
        description="Default: `translation` and `score`; on request `attention` for one text at a time",
        json_schema_extra={"uniqueItems": True},
    )

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Return the request; raise pydantic's error if its parts do not fit each other."""
        inputs, outputs = [tensor.name for tensor in self.inputs], [tensor.name for tensor in self.outputs]
        if len(set(inputs)) != len(inputs):
            raise refused("inputs are one tensor text and, for forced decoding, one target_text", "inputs")
        if "text" not in inputs:
            raise refused("the input text is missing", "text", "missing_parameter")
        if len(set(outputs)) != len(outputs):
            raise refused("outputs are requested once each", "outputs")
        if self.target_texts is not None and len(self.target_texts) != len(self.texts):
            raise refused("target_text must have as many elements as text", "target_text")
        if "attention" in outputs and len(self.texts) != 1:
            raise refused("attention is available for one text at a time", "outputs")
        return self

    @property
    def texts(self) -> list[str]:
        """Return the texts to translate."""
        return next(tensor.data for tensor in self.inputs if tensor.name == "text")

    @property
    def target_texts(self) -> list[str] | None:
        """Return the given translations, if there are any."""
        return next((tensor.data for tensor in self.inputs if tensor.name == "target_text"), None)

    @property
    def wanted(self) -> tuple[OutputName, ...]:
        """Return the names of the outputs."""
        return tuple(output.name for output in self.outputs) or DEFAULT_OUTPUTS

    @property
    def binary(self) -> set[str]:
        """Return the names of the outputs that are wanted as bytes."""
        asked = {output.name: output.parameters.binary_data for output in self.outputs}
        default = self.parameters.binary_data_output
        return {name for name in self.wanted if (default if asked.get(name) is None else asked[name])}


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
