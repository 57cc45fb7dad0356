"""Validation by pydantic, with the error messages of this API.

A wrong field is a 400 that names the field and the accepted values, which come from the declaration of the field. Some
of LibreTranslate's messages are in MESSAGES, because clients match on them.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from service.api.errors import ApiError, invalid
from service.api.schemas.common import Accepts, alternatives
from service.engine import limits_of

Model = TypeVar("Model", bound=BaseModel)

# The message and code by pydantic's error type. Every other type is "{name} must be {accepted}".
MESSAGES: Mapping[str, tuple[str, str]] = {
    "missing": ("missing {name} parameter", "missing_parameter"),
    "string_too_short": ("{name} is empty; send a text", "missing_parameter"),
    "not_a_number": ("{name} parameter is not a number", "invalid_parameter"),
}
OTHERWISE = ("{name} must be {accepted}", "invalid_parameter")


def parse(model: type[Model], fields: Mapping[str, Any]) -> Model:
    """Return the fields as a model; raise ApiError (400) for a wrong field: the first one, required ones first."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    raise refusal(model, min(errors, key=lambda problem: not is_required(model, problem["loc"])))


def is_required(model: type[BaseModel], location: tuple[int | str, ...]) -> bool:
    """Return whether an error is of a required field of the model."""
    return bool(location) and model.model_fields[str(location[0])].is_required()


def refusal(model: type[BaseModel], error: ErrorDetails) -> ApiError:
    """Return the client's error for one of pydantic's."""
    if error["type"] == "refused":
        return invalid(**error["ctx"])
    name, field = field_at(model, error["loc"])
    message, code = MESSAGES.get(error["type"], OTHERWISE)
    return invalid(message.format(name=name, accepted=accepted(field)), code, name)


def field_at(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[str, FieldInfo]:
    """Return the innermost declared field at the location of an error, with its name."""
    name = str(location[0])
    field = model.model_fields[name]
    for part in location[1:]:
        nested = nested_model(field.annotation)
        if nested is not None and part in nested.model_fields:
            name = str(part)
            field = nested.model_fields[name]
    return name, field


def nested_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model that an annotation names, also within a list or a union with None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(nested_model, get_args(annotation))), None)


def accepted(field: FieldInfo) -> str:
    """Return the accepted values of a field in words, from its declaration."""
    for marker in field.metadata:
        if isinstance(marker, Accepts):
            return marker.words
    kinds = alternatives(field.annotation)
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if words:
        return f"one of {', '.join(map(str, words))}"
    if bool in kinds:
        return "true or false"
    if int in kinds or float in kinds:
        return f"a {'whole ' if int in kinds else ''}number {range_in_words(field)}"
    return "a string" if str in kinds else "an object"


def range_in_words(field: FieldInfo) -> str:
    """Return in words the least and the largest value of a number."""
    lowest, highest = limits_of(field.metadata)
    return f"of at least {lowest or 0}" if highest is None else f"from {lowest:g} to {highest:g}"
