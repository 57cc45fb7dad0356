"""Declares a setting: its default, its meaning, and the accepted values in words."""

from __future__ import annotations

from typing import Any

from pydantic import Field

PREFIX = "TRANSLUCENT_"


def setting(default: Any, description: str, accepted: str, **constraints: Any) -> Any:
    """Return a field whose documentation and error message name the accepted values."""
    return Field(default, description=description, json_schema_extra={"accepted": accepted}, **constraints)


def optional(default: Any, description: str, accepted: str, *, shown: str = "none", secret: bool = False) -> Any:
    """Return a field whose default is shown as `shown`; the value of a secret appears in no message."""
    extra: dict[str, Any] = {"accepted": accepted, "default": shown, "secret": secret}
    return Field(default, description=description, json_schema_extra=extra, validate_default=True, repr=not secret)


def variable(field: str) -> str:
    """Return the environment variable of a field."""
    return PREFIX + field.upper()
