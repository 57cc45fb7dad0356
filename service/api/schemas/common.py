"""The common parts of the shapes of requests and answers: base classes, types of fields, tokens.

A field accepts the values of forms and of LibreTranslate's clients: "4" and 4.0 for the whole number 4, "on" for true,
words in any case. Absent, null and "" all mean the default, because forms send every field they have.
"""

import math
import re
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError, from_json

from service.engine import SearchFields
from service.glossaries.checks import Entries, check_size


@dataclass(frozen=True, slots=True)
class Accepts:
    """The accepted values of a field in words, for an error message that the type alone cannot give."""

    words: str


def refused(message: str, param: str, code: str = "invalid_parameter") -> PydanticCustomError:
    """Return an error for a validator to raise, with its own message and code."""
    return PydanticCustomError("refused", "{message}", {"message": message, "param": param, "code": code})


def json_of(text: str) -> Any:
    """Return the value of a client's JSON; raise ValueError, whose text says what is wrong and where.

    json.loads would raise RecursionError for 1,000 brackets.
    """
    return from_json(text, allow_inf_nan=False)


# A part of what int() accepts: no other scripts' digits, no "1_000". Python refuses to read several thousand digits,
# and so does this.
WHOLE = re.compile(r"[+-]?[0-9]{1,400}")


def as_whole(value: object) -> int | None:
    """Return the whole number that a JSON value or a string of a form stands for; None for anything else.

    4.0 is the number 4, as in JSON; true is no number.
    """
    if isinstance(value, str):
        value = value.strip()
        return int(value) if WHOLE.fullmatch(value) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(value: object) -> int:
    """Return a count as LibreTranslate reads it: rounded down, and 0 if it is negative."""
    number = as_whole(value)
    if number is None and isinstance(value, float) and math.isfinite(value):
        number = math.floor(value)
    if number is None:
        raise PydanticCustomError("not_a_number", "not a number")
    return max(number, 0)


def lowered(value: object) -> object:
    """Return a word in lower case, and anything else as it is."""
    return value.lower() if isinstance(value, str) else value


def trimmed(value: object) -> object:
    """Return a list with commas, without white space and empty parts; None for an empty list."""
    if isinstance(value, list) and all(isinstance(part, int) for part in value):
        return ",".join(map(str, value)) or None
    if not isinstance(value, str):
        return value
    return ",".join(part.strip() for part in value.split(",") if part.strip()) or None


def empty_is_missing(value: object) -> object:
    """Return a value unless it is an empty list; raise pydantic's error for a missing field."""
    if value == []:
        raise PydanticKnownError("missing")
    return value


Text = Annotated[str, Field(min_length=1)]
_List = Annotated[list[str], Field(min_length=1, fail_fast=True)]
_texts = (BeforeValidator(empty_is_missing), Accepts("a string or a list of strings"))
Texts = Annotated[Text | _List, *_texts]
TextsOrEmpty = Annotated[str | _List, *_texts]
Count = Annotated[int, BeforeValidator(count)]
Lowered, Trimmed = BeforeValidator(lowered), BeforeValidator(trimmed)


class Schema(BaseModel):
    """Base of all: fields named model_… are ours, not pydantic's."""

    model_config = ConfigDict(protected_namespaces=())


class Fields(Schema):
    """Base of requests: null and "" are left out, so that the defaults hold, and words may have capitals."""

    model_config = ConfigDict(protected_namespaces=(), allow_inf_nan=False)
    kept_if_empty: ClassVar[frozenset[str]] = frozenset()  # fields in which "" is a value, or has its own message
    _words: ClassVar[frozenset[str]] = frozenset()  # fields with a choice of words
    _numbers: ClassVar[frozenset[str]] = frozenset()  # in which true is no number

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Note which fields are words and which are numbers."""
        kinds = {name: alternatives(field.annotation) for name, field in cls.model_fields.items()}
        cls._words = frozenset(name for name, kind in kinds.items() if any(get_origin(one) is Literal for one in kind))
        cls._numbers = frozenset(name for name, kind in kinds.items() if {int, float}.intersection(kind))

    @model_validator(mode="before")
    @classmethod
    def as_sent(cls, fields: Any) -> Any:
        """Return the fields that are not empty, as pydantic is to read them."""
        if not isinstance(fields, dict):
            return fields
        kept = {}
        for name, value in fields.items():
            if isinstance(value, str):
                if value or name in cls.kept_if_empty:
                    kept[name] = value.lower() if name in cls._words else value
            elif value is not None:
                kept[name] = str(value) if isinstance(value, bool) and name in cls._numbers else value
        return kept


def alternatives(annotation: Any) -> list[Any]:
    """Return the types that a value may have: those of a union without None and without their metadata."""
    if get_origin(annotation) is Annotated:
        return alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [one for part in get_args(annotation) for one in alternatives(part)]
    return [] if annotation is NoneType else [annotation]


def glossary_entries(value: object) -> object:
    """Return entries, also from an object or from JSON in a form, each with a list of targets; others as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        value = json_of(value)
    if isinstance(value, dict | list):
        check_size(value)
    pairs = [list(pair) for pair in value.items()] if isinstance(value, dict) else value
    if not isinstance(pairs, list):
        return value
    return [
        (pair[0], [pair[1]]) if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str) else pair
        for pair in pairs
    ]


_TARGET = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_PAIR = {"type": "array", "prefixItems": [{"type": "string"}, _TARGET], "minItems": 2, "maxItems": 2}
_GLOSSARY = [{"type": "string"}, {"type": "object", "additionalProperties": _TARGET}, {"type": "array", "items": _PAIR}]
Glossary = Annotated[
    str | Annotated[Entries, Field(fail_fast=True)] | None,
    BeforeValidator(glossary_entries),
    WithJsonSchema({"anyOf": [*_GLOSSARY, {"type": "null"}]}),
    Accepts(
        "the name of a glossary, an object of source and target terms such as "
        '{"contract": "Vertrag"}, or a list of pairs; a target may be a list of accepted forms'
    ),
    Field(
        description="How terms are translated: the name of a glossary of `GET /glossaries`, an object "
        '`{"source term": "target term"}`, or a list of pairs. A list in place of a target term gives further accepted '
        "forms; the model chooses. In a form, JSON"
    ),
]


Model = Annotated[
    str | None,
    Field(description="A bundle's name, or an architecture: `transformer` or `bahdanau`; default: the best"),
]
ApiKey = Annotated[SkipValidation[str | None], Field(description="An API key, if the operator requires one")]


class SearchRequest(Fields, SearchFields):
    """How to search for a translation."""


class Decoding(SearchRequest):
    """Which model to use, and how to search for a translation."""

    model: Model = None


class FigureRequest(Fields):
    """The look of a figure."""

    theme: Literal["light", "dark"] = Field("light", description="Of pictures")
    scale: float = Field(1.0, ge=0.25, le=4, description="Pixels of a PNG for each pixel of the SVG")


class ErrorBody(Schema):
    """The body of every error."""

    error: str = Field(description="What went wrong, and what to do")
    code: str = Field(description="A stable word for programs")
    request_id: str = Field(description="Also in the header X-Request-ID and in the server's log")
    param: str | None = Field(None, description="The field that is wrong, if it is one field")
