"""What a caller gave, checked before a model or a server sees it; errors are one sentence with the nearest name."""

import difflib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from service.engine import InvalidOption, InvalidText

Call = TypeVar("Call", bound=Callable[..., Any])


def with_options(call: Call) -> Call:
    """Return a function whose signature names its `**options`, as `help` and completion show them."""
    parameters = dict(inspect.signature(call).parameters)
    [kind] = get_args(parameters.pop("options").annotation)
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=..., annotation=annotation)
        for name, annotation in get_type_hints(kind).items()
    ]
    found = inspect.signature(call).replace(parameters=[*parameters.values(), *options])
    setattr(call, "__signature__", found)  # noqa: B010
    return call


def check_options(given: Mapping[str, Any], kind: type) -> None:
    """Raise InvalidOption if an option is none of a TypedDict's, or has none of the words that it may have."""
    hints = get_type_hints(kind)
    for name, value in given.items():
        if name not in hints:
            raise InvalidOption(f"There is no option {name!r}{_instead(name, list(hints))}")
        choices = [choice for choice in get_args(hints[name]) if get_origin(choice) is Literal] or [hints[name]]
        words = [word for choice in choices if get_origin(choice) is Literal for word in get_args(choice)]
        if isinstance(value, str) and words and str not in get_args(hints[name]):
            check_choice(name, value, words)


def check_choice(name: str, value: object, words: Sequence[str]) -> None:
    """Raise InvalidOption if a value is none of the words."""
    if value not in words:
        raise InvalidOption(f"{name} cannot be {value!r}{_instead(str(value), words)}")


def listed(texts: object) -> list[str | None]:
    """Return texts as a list, which may come from any iterable; a missing one is None or NaN. Raise InvalidText."""
    if not isinstance(texts, Iterable):
        raise InvalidText(f"Give a text or a list of texts, not {texts!r}.")
    found = list(texts)
    for number, text in enumerate(found):
        if not (isinstance(text, str) or is_missing(text)):
            raise InvalidText(f"Each text must be a str, not {type(text).__name__} (number {number}).")
    return [None if is_missing(text) else text for text in found]


def is_missing(value: object) -> bool:
    """Return whether a value is None or NaN, as a column has it where there is no text; also pandas' NA."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"


def _instead(given: str, words: Sequence[str]) -> str:
    close = difflib.get_close_matches(given, words, n=1)
    return f"; did you mean {close[0]}?" if close else f"; it must be one of {', '.join(words)}."
