"""The settings of the service: environment variables that begin with TRANSLUCENT_, checked before anything starts.

An unknown name or a value that is not accepted is an error, which says what would be accepted. No variable is read when
a module is imported.
"""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from service.settings.fields import Settings
from service.settings.limits import PREFIX, variable

__all__ = [
    "PREFIX",
    "Settings",
    "SettingsError",
    "forget_secrets",
    "load_settings",
    "settings_table",
    "variable",
]

SECRET_FILE_LIMIT = 4096  # bytes


class SettingsError(Exception):
    """The configuration cannot be used; the message has one line for each thing to correct."""


def accepted(info: FieldInfo) -> str:
    """Return the accepted values of a field in words: its own, or those of its type and its limits."""
    if words := _extra(info).get("accepted"):
        return str(words)
    if get_origin(info.annotation) is Literal:
        *first, last = get_args(info.annotation)
        return f"{', '.join(first)} or {last}"
    if info.annotation is bool:
        return "true or false"
    kind = "a number" if info.annotation is float else "a whole number"
    low, high = (
        next((getattr(constraint, name) for constraint in info.metadata if hasattr(constraint, name)), None)
        for name in ("ge", "le")
    )
    if low is None:
        return f"{kind} above 0, up to {high}"
    return f"{kind} of at least {low}" if high is None else f"{kind} from {low} to {high}"


def _extra(info: FieldInfo) -> dict[str, Any]:
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}


def load_settings(**overrides: Any) -> Settings:
    """Return the settings of the environment. Overrides (options of the command line) win, unless they are None.

    Raise SettingsError with every problem at once, unknown variables included.
    """
    names = {variable(name): name for name in _in_order()}
    ours = {name.upper(): value for name, value in os.environ.items() if name.upper().startswith(PREFIX)}
    given, problems = _secrets_in_files(ours)
    files = {f"{variable(name)}_FILE" for name in _secrets()}
    problems += [_unknown(name, names) for name in sorted(ours) if name not in {*names, *files}]
    given |= {name: value for name, value in overrides.items() if value is not None}
    settings = None
    try:
        settings = Settings(**given)
    except ValidationError as error:
        problems += [_refused(str(item["loc"][0]), item["input"], item.get("ctx", {})) for item in error.errors()]
    if problems or settings is None:
        raise SettingsError("\n".join(problems))
    return settings


def _secrets() -> list[str]:
    return [name for name, info in Settings.model_fields.items() if _is_secret(info)]


def _secrets_in_files(environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the secrets in the files that variables with `_FILE` name, by their fields; and what is wrong."""
    secrets: dict[str, Any] = {}
    problems = []
    for name in _secrets():
        variable_of_file = f"{variable(name)}_FILE"
        path = environment.get(variable_of_file)
        if path is None:
            continue
        if variable(name) in environment:
            problems.append(f"{variable(name)} is given twice, also as a file; remove one of the two.")
        secrets[name] = _secret_in(path)
        if not secrets[name]:
            problems.append(f"{variable_of_file}={path!r} is not accepted: it must be a file that holds a secret.")
    return secrets, problems


def _secret_in(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(SECRET_FILE_LIMIT).decode("ascii").strip()
    except (OSError, ValueError):
        return ""


def forget_secrets() -> None:
    """Remove secrets from the environment once they are read, so that child processes do not inherit them."""
    for name in _secrets():
        os.environ.pop(variable(name), None)


def _unknown(name: str, names: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(name.upper(), names, n=1, cutoff=0.8)
    hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(names)}."
    return f"{name} is not a setting; {hint}"


def _refused(field: str, value: object, context: Mapping[str, Any]) -> str:
    info = Settings.model_fields[field]
    shown = str(value) if len(str(value)) <= 80 else f"{str(value)[:80]}…"
    given = variable(field) if _is_secret(info) else f"{variable(field)}={shown!r}"
    reason = f" ({context['error']})" if "error" in context else ""
    return f"{given} is not accepted{reason}: it must be {accepted(info)} (default: {_default(info)})."


def _is_secret(info: FieldInfo) -> bool:
    return bool(_extra(info).get("secret"))


def _default(info: FieldInfo) -> str:
    shown = _extra(info).get("default")
    return str(info.default if shown is None else shown)


def settings_rows() -> list[tuple[str, str, str, str]]:
    """Return all settings: variable, default (code is between backquotes), accepted, meaning."""
    rows = []
    for name in _in_order():
        info = Settings.model_fields[name]
        default = _default(info) if info.default_factory else f"`{_default(info)}`"
        elsewhere = f"; it may be in the file that `{variable(name)}_FILE` names" if _is_secret(info) else ""
        rows.append((variable(name), default, accepted(info), f"{info.description}{elsewhere}"))
    return rows


def settings_table() -> str:
    """Return all settings as a Markdown table: variable, default, accepted, meaning."""
    lines = ["| variable | default | accepted | meaning |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {' | '.join(rest)} |" for name, *rest in settings_rows()]
    return "\n".join(lines) + "\n"


def _in_order() -> list[str]:
    """Return all fields, host and port first, as readers expect; pydantic begins with the inherited ones."""
    return sorted(Settings.model_fields, key=lambda name: name not in Settings.__annotations__)
