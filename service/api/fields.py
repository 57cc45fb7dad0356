"""One field at a time: from whatever a client sent to a checked value.

Absent, null and "" all mean the default, because forms send every field they have. What is wrong is a 400 that says
what is accepted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from service.api.errors import ApiError, invalid


def _given(fields: Mapping[str, Any], name: str) -> Any:
    value = fields.get(name)
    return None if value == "" else value


def wrong(name: str, what: str) -> ApiError:
    """Return the refusal of one field's value."""
    return invalid(f"{name} {what}", param=name)


def missing(name: str) -> ApiError:
    """Return the refusal of a request without a required field, in LibreTranslate's words."""
    return invalid(f"missing {name} parameter", "missing_parameter", name)


def required_text(fields: Mapping[str, Any], name: str) -> str:
    """Return a string that must be there and not be empty."""
    value = _given(fields, name)
    if value is None:
        raise missing(name)
    if not isinstance(value, str):
        raise wrong(name, "must be a string")
    return value


def own_text(fields: Mapping[str, Any], name: str) -> str:
    """Return a required string of a route of our own, which tells an empty one from one that is not there."""
    if fields.get(name) == "":
        raise invalid(f"{name} is empty; send a text", "missing_parameter", name)
    return required_text(fields, name)


def optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    """Return a string, or None."""
    value = _given(fields, name)
    if value is not None and not isinstance(value, str):
        raise wrong(name, "must be a string")
    return value


# What int() and float() take, and no more: no other scripts' digits, no "1_000", no "nan". Python refuses to read
# several thousand digits, and so does this.
WHOLE = re.compile(r"[+-]?[0-9]{1,400}")
DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?")


def as_whole(value: Any) -> int | None:
    """Return the whole number that a JSON value or a string of a form stands for; None for anything else.

    4.0 is the number 4, as in JSON; true is no number.
    """
    if isinstance(value, str):
        value = value.strip()
        return int(value) if WHOLE.fullmatch(value) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_number(value: Any) -> float | None:
    """Return the finite number that a JSON value or a string of a form stands for; None for anything else."""
    if isinstance(value, str):
        value = value.strip()
        if not DECIMAL.fullmatch(value):
            return None
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        result = float(value)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def sizes_of(shape: Any) -> list[int] | None:
    """Return the sizes of a tensor's axes; None for anything that is no shape."""
    if not isinstance(shape, list) or any(isinstance(size, str) for size in shape):
        return None
    sizes = [size for size in map(as_whole, shape) if size is not None and 0 <= size <= 2**31]
    return sizes if len(sizes) == len(shape) else None


def whole_number(fields: Mapping[str, Any], name: str, lowest: int, highest: int | None) -> int | None:
    """Return a whole number within bounds, also as a string of digits, or None."""
    given = _given(fields, name)
    if given is None:
        return None
    bounds = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    value = as_whole(given)
    if value is None or value < lowest or (highest is not None and value > highest):
        raise wrong(name, f"must be a whole number {bounds}")
    return value


def count(fields: Mapping[str, Any], name: str) -> int:
    """Return a number of things as LibreTranslate reads it: rounded down, and none where it is negative or absent."""
    given = _given(fields, name)
    if given is None:
        return 0
    value = as_whole(given)
    if value is None and isinstance(given, float) and math.isfinite(given):
        value = math.floor(given)
    if value is None:
        raise wrong(name, "parameter is not a number")
    return max(value, 0)


def number(fields: Mapping[str, Any], name: str, lowest: float, highest: float) -> float | None:
    """Return a number within bounds, also as a string, or None."""
    given = _given(fields, name)
    if given is None:
        return None
    value = as_number(given)
    if value is None or not lowest <= value <= highest:
        raise wrong(name, f"must be a number from {lowest:g} to {highest:g}")
    return value


TRUTHS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def flag(fields: Mapping[str, Any], name: str) -> bool:
    """True or false, also as a word; false when absent."""
    value = _given(fields, name)
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    known = TRUTHS.get(str(value).lower()) if isinstance(value, str | int) else None
    if known is None:
        raise wrong(name, "must be true or false")
    return known


def choice(fields: Mapping[str, Any], name: str, accepted: tuple[str, ...]) -> str:
    """Return one of a few words, the first of them when absent."""
    value = _given(fields, name)
    if value is None:
        return accepted[0]
    if not isinstance(value, str) or value.lower() not in accepted:
        raise wrong(name, f"must be one of {', '.join(accepted)}")
    return value.lower()
