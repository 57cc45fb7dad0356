"""Every setting of the service: environment variables that begin with TRANSLUCENT_, checked before anything starts.

A name that is not a setting, and a value that is not accepted, are errors that say what would be accepted; nothing is
read when a module is imported. `docs/settings.md` is this class as a table (`translucent settings`).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsConfigDict

from service.engine.scheduling.scheduler import ROWS
from service.engine.types import MAX_BEAM_SIZE
from service.settings.connections import ConnectionSettings
from service.settings.fields import PREFIX, setting, variable

__all__ = [
    "PREFIX",
    "Settings",
    "SettingsError",
    "accepted",
    "forget_secrets",
    "load_settings",
    "settings_table",
    "variable",
]


class SettingsError(Exception):
    """The configuration cannot be used; the message has one line for each thing to correct."""


def default_models_folder() -> Path:
    """The models/ beside this package in a checkout, or the one in the working folder for an installed package."""
    shipped = Path(__file__).resolve().parents[2] / "models"
    return shipped if shipped.is_dir() else Path("models")


class Settings(ConnectionSettings):
    """What an operator may change, with the defaults of a small machine."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, protected_namespaces=(), hide_input_in_errors=True
    )

    host: str = setting(
        "127.0.0.1",
        "Address to listen on; `0.0.0.0` or `::` for every interface, as a container needs",
        "a host name or an IP address",
        min_length=1,
    )
    port: int = setting(
        8000, "Port to listen on; 0 takes any free one", "a whole number from 0 to 65535", ge=0, le=65535
    )
    models_dir: Path = Field(
        default_factory=default_models_folder,
        description="Folder that holds one folder for each model bundle; every bundle in it is served",
        json_schema_extra={"accepted": "a folder", "default": "`models/` of the checkout"},
    )
    default_models: str = Field(
        "",
        description="Bundles that translate their pair when a request names no model, with commas between them, the "
        "first of a pair before the others; pairs without one have the bundle with the best score in its model card",
        json_schema_extra={"accepted": "names of bundles in the folder of models", "default": "none"},
    )
    device: Literal["auto", "cpu", "cuda"] = setting(
        "auto",
        "Where models run: `auto` takes the GPU when there is one and it works, `cuda` refuses to start without one",
        "auto, cpu or cuda",
    )
    precision: Literal["auto", "int8", "fp16", "fp32"] = setting(
        "auto",
        "Which graphs of a bundle run: `auto` takes the fastest it has for the device",
        "auto, int8, fp16 or fp32",
    )
    threads: int = setting(1, "ONNX Runtime threads of each model", "a whole number from 1 to 256", ge=1, le=256)
    decoders: int = setting(
        0,
        "Threads that decode for each model, each with its share of the rows; 0: one on a GPU or where there are fewer "
        "than four cores, else two",
        "a whole number from 0 to 64",
        ge=0,
        le=64,
    )
    engine_processes: int = setting(
        1,
        "Processes that run the models, beside the one that answers HTTP; each holds every model and they share the "
        "work; 0: the models run in the process that answers HTTP",
        "a whole number from 0 to 64",
        ge=0,
        le=64,
    )
    max_rows: int = setting(
        ROWS,
        "Rows (beams of sentences) that one model decodes together, in each engine process; at least one sentence of "
        "the largest beam",
        "a whole number from 8 to 4096, and at least 8 for each of TRANSLUCENT_DECODERS",
        ge=8,
        le=4096,
    )
    max_queued_sentences: int = setting(
        8192,
        "Sentences that may wait for each model, in each engine process, before new requests are answered 503",
        "a whole number of at least 1",
        ge=1,
    )
    max_queued_tokens: int = setting(
        524_288,
        "Source tokens that may wait for each model, in each engine process, before new requests are answered 503",
        "a whole number of at least 256",
        ge=256,
    )
    body_limit: int = setting(
        1_048_576,
        "Largest body of a request, in bytes; more is answered 413",
        "a whole number of at least 1024",
        ge=1024,
    )
    character_limit: int = setting(
        100_000, "Most characters in a text; each text of a list may have as many", "a whole number of at least 1", ge=1
    )
    batch_limit: int = setting(128, "Most texts in a list", "a whole number of at least 1", ge=1)
    weight_limit: int = setting(
        250_000,
        "Most attention weights in one answer of `/attention`, as data or picture; more is answered 400 (as CSV, a "
        "thousand weights are 50 kB)",
        "a whole number of at least 1",
        ge=1,
    )
    request_timeout_seconds: float = setting(
        120.0,
        "Time a request may take from the end of its headers, whatever it consists of: body, queue, translation, "
        "drawing; then it is answered 504",
        "a number above 0, up to 3600",
        gt=0,
        le=3600,
        allow_inf_nan=False,
    )
    load_timeout_seconds: float = setting(
        300.0,
        "Time a bundle may take to load, and again to warm up; then it is refused, and the others go on",
        "a number above 0, up to 3600",
        gt=0,
        le=3600,
        allow_inf_nan=False,
    )
    drain_delay_seconds: float = setting(
        1.0,
        "How long new requests are still accepted after SIGTERM, while `/health/ready` already answers 503; "
        "give a load balancer the time to notice",
        "a number from 0 to 600",
        ge=0,
        le=600,
        allow_inf_nan=False,
    )
    drain_seconds: float = setting(
        30.0,
        "How long running requests may take to finish after that; then they are cut off",
        "a number from 0 to 3600",
        ge=0,
        le=3600,
        allow_inf_nan=False,
    )
    tracing: bool = setting(
        False,
        "Send traces of requests by OTLP over HTTP, to where the standard variables `OTEL_*` say; "
        "needs the extra `tracing`",
        "true or false",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "Least severe log lines to write", "debug, info, warning or error"
    )
    log_format: Literal["auto", "json", "console"] = setting(
        "auto",
        "How log lines look: `auto` is readable text on a terminal and JSON everywhere else",
        "auto, json or console",
    )

    @field_validator("max_rows")
    @classmethod
    def _rows_for_decoders(cls, value: int, info: ValidationInfo) -> int:
        least = MAX_BEAM_SIZE * info.data.get("decoders", 0)
        if value < least:
            raise ValueError(f"{info.data['decoders']} decoders need {least} rows")
        return value

    @property
    def default_bundles(self) -> tuple[str, ...]:
        """Return the names in `default_models`."""
        return tuple(name.strip() for name in self.default_models.split(",") if name.strip())


def accepted(field: FieldInfo) -> str:
    """Return what a field takes, in words."""
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    return str(extra["accepted"])


def load_settings(**overrides: Any) -> Settings:
    """Read the environment; overrides (from the command line) win, and those that are None are left out.

    Raises SettingsError with every problem at once, unknown variables included.
    """
    known = {variable(name): name for name in _in_order()}
    ours = [name for name in sorted(os.environ) if name.upper().startswith(PREFIX)]
    problems = [_unknown(name, known) for name in ours if name.upper() not in known]
    settings = None
    try:
        settings = Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        problems += [_refused(str(item["loc"][0]), item["input"], item.get("ctx", {})) for item in error.errors()]
    if problems or settings is None:
        raise SettingsError("\n".join(problems))
    return settings


def forget_secrets() -> None:
    """Take secrets that have been read out of the environment, which other processes of the server would inherit."""
    for name, info in Settings.model_fields.items():
        if _is_secret(info):
            os.environ.pop(variable(name), None)


def _unknown(name: str, known: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.8)
    hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(known)}."
    return f"{name} is not a setting; {hint}"


def _refused(field: str, value: object, context: Mapping[str, Any]) -> str:
    info = Settings.model_fields[field]
    shown = str(value) if len(str(value)) <= 80 else f"{str(value)[:80]}…"
    given = variable(field) if _is_secret(info) else f"{variable(field)}={shown!r}"
    reason = f" ({context['error']})" if "error" in context else ""
    return f"{given} is not accepted{reason}: it must be {accepted(info)} (default: {_default(info)})."


def _is_secret(info: FieldInfo) -> bool:
    extra = info.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("secret"))


def _default(info: FieldInfo) -> str:
    extra = info.json_schema_extra
    if isinstance(extra, dict) and "default" in extra:
        return str(extra["default"])
    return str(info.default)


def settings_rows() -> list[tuple[str, str, str, str]]:
    """Return all settings: variable, default (code stands between backquotes), accepted, meaning."""
    rows = []
    for name in _in_order():
        info = Settings.model_fields[name]
        default = _default(info) if info.default_factory else f"`{_default(info)}`"
        rows.append((variable(name), default, accepted(info), str(info.description)))
    return rows


def settings_table() -> str:
    """Return all settings as a Markdown table: variable, default, accepted, meaning."""
    lines = ["| variable | default | accepted | meaning |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {' | '.join(rest)} |" for name, *rest in settings_rows()]
    return "\n".join(lines) + "\n"


def _in_order() -> list[str]:
    """Return all fields; pydantic begins with what a class inherits, readers begin with host and port."""
    return sorted(Settings.model_fields, key=lambda name: name not in Settings.__annotations__)
