"""One field at a time: from whatever a client sent to a checked value.

Absent, null and "" all mean the default, because forms send every field they have. What is wrong is a 400 that says
what is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.api.errors import invalid


def _given(fields: Mapping[str, Any], name: str) -> Any:
    value = fields.get(name)
    return None if value == "" else value


def required_text(fields: Mapping[str, Any], name: str) -> str:
    """A string that must be there and not be empty."""
    value = _given(fields, name)
    if value is None:
        raise invalid(f"missing {name} parameter", "missing_parameter")
    if not isinstance(value, str):
        raise invalid(f"{name} must be a string")
    return value


def optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    """A string, or None."""
    value = _given(fields, name)
    if value is not None and not isinstance(value, str):
        raise invalid(f"{name} must be a string")
    return value


MOST_DIGITS = 400  # of a number that came as text: Python refuses to read several thousand


def whole(value: Any) -> Any:
    """The number 4 for 4.0, which is the same number in JSON; every other value as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def whole_number(fields: Mapping[str, Any], name: str, lowest: int, highest: int | None) -> int | None:
    """A whole number within bounds, also as a string of digits, or None."""
    value = _given(fields, name)
    if value is None:
        return None
    bounds = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    if isinstance(value, str) and len(value) <= MOST_DIGITS and value.strip().lstrip("+-").isdecimal():
        value = int(value)
    value = whole(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest or (highest and value > highest):
        raise invalid(f"{name} must be a whole number {bounds}")
    return value


def number(fields: Mapping[str, Any], name: str, lowest: float, highest: float) -> float | None:
    """A number within bounds, also as a string, or None."""
    value = _given(fields, name)
    if value is None:
        return None
    refusal = invalid(f"{name} must be a number from {lowest:g} to {highest:g}")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise refusal
    try:
        result = float(value)
    except (ValueError, OverflowError):
        raise refusal from None
    if not lowest <= result <= highest:
        raise refusal
    return result


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
        raise invalid(f"{name} must be true or false")
    return known


def choice(fields: Mapping[str, Any], name: str, accepted: tuple[str, ...]) -> str:
    """One of a few words, the first of them when absent."""
    value = _given(fields, name)
    if value is None:
        return accepted[0]
    if not isinstance(value, str) or value.lower() not in accepted:
        raise invalid(f"{name} must be one of {', '.join(accepted)}")
    return value.lower()
