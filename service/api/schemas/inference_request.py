"""The request of the Open Inference Protocol: named tensors of texts, and the requested outputs."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from service.api.schemas.common import (
    GLOSSARY,
    REPETITION_GUARD,
    VALUES,
    Accepts,
    Fields,
    Flag,
    Glossary,
    OptionalFlag,
    OptionalNumber,
    OptionalWholeNumber,
    Schema,
    Values,
    as_whole,
    refused,
)
from service.engine import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY

Item = TypeVar("Item")
NotEmpty = Annotated[list[Item], Field(min_length=1)]
LARGEST_SIZE = 2**31
OutputName = Literal["translation", "score", "quality", "attention"]
OUTPUTS = get_args(OutputName)
OUTPUTS_MESSAGE = f"outputs are {', '.join(OUTPUTS)}, each at most once"
TENSOR_MESSAGES = {
    "name": "inputs are one tensor called text and, for forced decoding, one called target_text",
    "datatype": "the datatype of {name} must be BYTES",
    "shape": "the shape of {name} must be a list of whole numbers",
    "data": "the data of {name} must be strings, in one list or nested as the shape says",
}


def sizes(shape: object) -> list[int]:
    """Return the sizes of a tensor's axes; raise ValueError for anything else."""
    if not isinstance(shape, list) or any(isinstance(size, str) for size in shape):
        raise ValueError("no shape")
    found = [size for size in map(as_whole, shape) if size is not None and 0 <= size <= LARGEST_SIZE]
    if len(found) != len(shape):
        raise ValueError("no shape")
    return found


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


def known_output(name: object) -> object:
    """Return the name of an output; raise pydantic's error for any other."""
    if name not in OUTPUTS:
        raise refused(OUTPUTS_MESSAGE, "outputs")
    return name


def parameters_of(owner: str, value: object) -> object:
    """Return parameters, or None for an empty value; raise pydantic's error for anything but an object."""
    if value and not isinstance(value, dict):
        raise refused(f"the parameters of {owner} must be an object", "parameters")
    return value or None


Shape = Annotated[list[Annotated[int, Field(ge=1, le=LARGEST_SIZE)]], Field(max_length=2)]
Strings = NotEmpty[str] | NotEmpty[NotEmpty[str]]


class ReportsMissingFields(Schema):
    """Base of objects whose missing fields get the message of a wrong one."""

    @model_validator(mode="before")
    @classmethod
    def with_missing_fields(cls, fields: Any) -> Any:
        """Return the fields, with null for each that is required and missing."""
        if not isinstance(fields, dict):
            return fields
        return {**{name: None for name, field in cls.model_fields.items() if field.is_required()}, **fields}


class InputTensor(ReportsMissingFields):
    """`text`, or `target_text` for forced decoding."""

    name: Literal["text", "target_text"]
    shape: Annotated[list[int], PlainValidator(sizes, json_schema_input_type=Shape)] = Field(examples=[[1]])
    datatype: Literal["BYTES"]
    data: Annotated[list[str], PlainValidator(strings, json_schema_input_type=Strings)] = Field(
        description="As many strings as in the shape, flat or nested"
    )

    @field_validator("*", mode="wrap")
    @classmethod
    def with_tensor_name(cls, value: Any, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """Return a checked value; an error names the tensor."""
        try:
            return check(value)
        except ValueError:
            name = info.data.get("name", "inputs")  # without a known name, the name is the wrong field
            raise refused(TENSOR_MESSAGES[str(info.field_name)].format(name=name), name) from None

    @model_validator(mode="after")
    def check_size(self) -> Self:
        """Return the tensor; raise pydantic's error if its shape does not fit its data."""
        if len(self.shape) > 2 or math.prod(self.shape) != len(self.data):
            raise refused(f"the shape of {self.name} does not fit its {len(self.data)} elements", self.name)
        if not self.data:
            raise refused(f"{self.name} has no elements", self.name)
        return self


class OutputParameters(Fields):
    """The options of an output."""

    binary_data: Flag = Field(False, description="As bytes after the JSON of the answer")


class RequestedOutput(ReportsMissingFields):
    """An output by its name."""

    name: Annotated[OutputName, BeforeValidator(known_output)]
    parameters: OutputParameters | None = None

    @field_validator("parameters", mode="before")
    @classmethod
    def check_parameters(cls, value: object, info: ValidationInfo) -> object:
        """Return the parameters; raise pydantic's error for anything but an object."""
        return parameters_of(str(info.data.get("name")), value)

    def is_binary(self, default: bool) -> bool:
        """Return whether it is requested as bytes; `default` is the request's option for all outputs."""
        given = self.parameters is not None and "binary_data" in self.parameters.model_fields_set
        return self.parameters.binary_data if given and self.parameters is not None else default


class InferenceParameters(Fields):
    """Which pair of the model to use, and how to search for a translation."""

    model_config = ConfigDict(protected_namespaces=(), extra="allow")
    __pydantic_extra__: dict[str, str | float | bool]

    beam_size: OptionalWholeNumber = Field(None, ge=1, le=MAX_BEAM_SIZE)
    length_penalty: OptionalNumber = Field(None, ge=0, le=MAX_LENGTH_PENALTY)
    max_length: OptionalWholeNumber = Field(None, ge=1)
    repetition_guard: OptionalFlag = Field(None, description=REPETITION_GUARD)
    values: Values = Field(None, description=VALUES)
    min_quality: OptionalNumber = Field(None, ge=0, le=1, description="Of the sentences; see `below_min_quality`")
    below_min_quality: Literal["mark", "keep_source"] = Field(
        "mark", description="`keep_source` leaves the sentences below `min_quality` in their own language"
    )
    glossary: Glossary = Field(None, description=GLOSSARY)
    source: str | None = Field(None, description="For a model with several sources; default: its first one")
    target: str | None = Field(None, description="For a model with several targets, which requires it")
    binary_data_output: Flag = Field(False, description="All outputs as bytes after the JSON of the answer")

    @model_validator(mode="before")
    @classmethod
    def known_parameters(cls, parameters: Any) -> Any:
        """Return the parameters that this service supports."""
        if not isinstance(parameters, dict):
            return parameters
        return {name: value for name, value in parameters.items() if name in cls.model_fields}


class InferenceRequest(ReportsMissingFields):
    """Texts to translate, or pairs to score."""

    id: str | None = None
    parameters: InferenceParameters | None = Field(None, description="Decoding options; others are ignored")
    inputs: Annotated[list[InputTensor], Accepts("a list of objects")] = Field(
        description="One tensor `text` and, for forced decoding, one `target_text` of as many elements",
        json_schema_extra={
            "minItems": 1,
            "maxItems": 2,
            "contains": {"type": "object", "properties": {"name": {"const": "text"}}, "required": ["name"]},
            "maxContains": 1,
        },
    )
    outputs: Annotated[
        Annotated[list[RequestedOutput], Field(json_schema_extra={"uniqueItems": True})] | None,
        Accepts("a list of objects"),
    ] = Field(
        None,
        description="Default: `translation` and `score`; on request `quality`, and `attention` for one text at a time",
    )

    @field_validator("parameters", mode="before")
    @classmethod
    def check_parameters(cls, value: object) -> object:
        """Return the parameters; raise pydantic's error for anything but an object."""
        return parameters_of("the request", value)

    @field_validator("inputs")
    @classmethod
    def check_names(cls, inputs: list[InputTensor]) -> list[InputTensor]:
        """Return the tensors; raise pydantic's error if one is repeated or `text` is missing."""
        names = [tensor.name for tensor in inputs]
        if len(set(names)) != len(names):
            raise refused(TENSOR_MESSAGES["name"], "inputs")
        if "text" not in names:
            raise refused("the input text is missing", "text", "missing_parameter")
        return inputs

    @field_validator("outputs")
    @classmethod
    def check_outputs(cls, outputs: list[RequestedOutput] | None) -> list[RequestedOutput] | None:
        """Return the outputs; raise pydantic's error if one is repeated."""
        names = [output.name for output in outputs or ()]
        if len(set(names)) != len(names):
            raise refused(OUTPUTS_MESSAGE, "outputs")
        return outputs

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Return the request; raise pydantic's error if its parts do not fit each other."""
        texts, targets = self.texts, self.target_texts
        if targets is not None and len(targets) != len(texts):
            raise refused("target_text must have as many elements as text", "target_text")
        if any(output.name == "attention" for output in self.outputs or ()) and len(texts) != 1:
            raise refused("attention is available for one text at a time", "outputs")
        if any(output.name == "quality" for output in self.outputs or ()):
            if targets is not None:
                raise refused("quality is that of the model's own translations; leave target_text out", "outputs")
            if any(output.name == "attention" for output in self.outputs or ()):
                raise refused("quality and attention need a request each", "outputs")
        return self

    @property
    def texts(self) -> list[str]:
        """Return the texts to translate."""
        return next(tensor.data for tensor in self.inputs if tensor.name == "text")

    @property
    def target_texts(self) -> list[str] | None:
        """Return the given translations, if there are any."""
        return next((tensor.data for tensor in self.inputs if tensor.name == "target_text"), None)
