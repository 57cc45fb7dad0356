"""The settings of the service: environment variables that begin with TRANSLUCENT_, checked before anything starts.

An unknown name or a value that is not accepted is an error, which says what would be accepted. No variable is read when
a module is imported. `docs/settings.md` shows this class as a table (`translucent settings`).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsConfigDict

from service.engine import DEFAULT_ROWS, MAX_BEAM_SIZE
from service.settings.documents import DocumentSettings
from service.settings.fields import PREFIX, optional, setting, variable
from service.settings.renamed import RENAMED, conflicts, old_names, renaming_warnings, values_by_field

__all__ = [
    "PREFIX",
    "Settings",
    "SettingsError",
    "accepted",
    "forget_secrets",
    "load_settings",
    "renamed_in_use",
    "settings_table",
    "variable",
]


DEFAULT_CACHE_MB = 64  # about 30,000 sentences


class SettingsError(Exception):
    """The configuration cannot be used; the message has one line for each thing to correct."""


def default_models_folder() -> Path:
    """Return models/ of the checkout; for an installed package, models/ of the working folder."""
    shipped = Path(__file__).resolve().parents[2] / "models"
    return shipped if shipped.is_dir() else Path("models")


class Settings(DocumentSettings):
    """All settings; the defaults suit a small machine."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, protected_namespaces=(), hide_input_in_errors=True
    )

    host: str = setting(
        "127.0.0.1",
        "Address to listen on; `0.0.0.0` or `::` listens on every interface, which a container needs",
        "a host name or an IP address",
        min_length=1,
    )
    port: int = setting(
        8000, "Port to listen on; 0 chooses any free port", "a whole number from 0 to 65535", ge=0, le=65535
    )
    models_dir: Path = Field(
        default_factory=default_models_folder,
        description="Folder with one subfolder for each model bundle; every bundle in it is served",
        json_schema_extra={"accepted": "a folder", "default": "`models/` of the checkout"},
    )
    load: Literal["eager", "lazy"] = setting(
        "eager",
        "When models are loaded: `eager` loads all of them at the start. `lazy` reads their manifests, opens each "
        "model at its first request, and closes models that are not in use when memory runs short; see "
        "TRANSLUCENT_MEMORY_LIMIT_MB",
        "eager or lazy",
    )
    memory_limit_mb: int | None = Field(
        None,
        description="Resident memory of the server (all its processes) in MiB above which no further model is opened "
        "until the least recently used idle one is closed. Without it, open models stay open",
        json_schema_extra={
            "accepted": "a whole number of at least 64, together with TRANSLUCENT_LOAD=lazy",
            "default": "none",
        },
        ge=64,
    )
    default_models: str = Field(
        "",
        description="Bundles that translate their language pair when a request names no model, separated by commas; "
        "the "
        "first bundle of a pair wins. A pair without an entry uses the bundle with the best score in its model card",
        json_schema_extra={"accepted": "names of bundles in the folder of models", "default": "none"},
    )
    gallery: bool = setting(
        False,
        "Also serve the small models for teaching in the subfolder `gallery` of the folder of models, one for each "
        "kind of attention. They translate only if a request names them",
        "true or false",
    )
    pivot: str = Field(
        "",
        description="Language through which a pair without a model is translated, in two legs, if there are models "
        "into it and out of it. A model that translates the pair itself always wins",
        json_schema_extra={"accepted": "a language tag, such as en", "default": "none"},
        pattern=r"^([A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*)?$",
        max_length=64,
    )
    language_warnings: bool = setting(
        True,
        "Whether an answer has `warnings` if a text seems to be in another language than the request says. It takes "
        "less than a millisecond for each text",
        "true or false",
    )
    device: Literal["auto", "cpu", "cuda"] = setting(
        "auto",
        "Where models run: `auto` uses the GPU if there is one and it works, `cuda` refuses to start without a GPU",
        "auto, cpu or cuda",
    )
    precision: Literal["auto", "int8", "fp16", "fp32"] = setting(
        "auto",
        "Which graphs of a bundle run: `auto` uses the fastest precision that the bundle has for the device",
        "auto, int8, fp16 or fp32",
    )
    intra_threads: int = setting(
        1,
        "Threads that ONNX Runtime uses inside one run of a model",
        "a whole number from 1 to 256",
        ge=1,
        le=256,
    )
    inter_threads: int = setting(
        0,
        "Decode threads of each model; they run batches in parallel and divide the rows among them. 0 chooses: one on "
        "a GPU or with one core, otherwise two. With fewer than four cores the second one gets only what is more than "
        "48 rows",
        "a whole number from 0 to 64",
        ge=0,
        le=64,
    )
    engine_processes: Literal["auto"] | Annotated[int, Field(ge=0, le=64)] = setting(
        "auto",
        "Processes that run the models, in addition to the process that answers HTTP. Each of them loads every model, "
        "and they share the work. `auto` is one for every four cores, at least one, at most eight, and one on a GPU; "
        "`/models` and the log say how many run. With 0 the models run in the HTTP process",
        "auto or a whole number from 0 to 64",
    )
    cache_mb: int = setting(
        DEFAULT_CACHE_MB,
        "Memory for finished sentences, in MiB, in the process that answers HTTP: a sentence that comes again is "
        "answered at once, and equal sentences in flight are translated once. The answers are the same bytes. 0 "
        "switches both off",
        "a whole number from 0 to 65536",
        ge=0,
        le=65536,
    )
    max_rows: Literal["auto"] | Annotated[int, Field(ge=8, le=4096)] = setting(
        "auto",
        "Rows (hypotheses of sentences) that one model decodes together, in each engine process; a sentence with the "
        "largest beam always fits. `auto` is 96 on a CPU with two or three cores, otherwise "
        f"{DEFAULT_ROWS}; always {DEFAULT_ROWS} in `translucent translate`",
        "auto or a whole number from 8 to 4096, and at least 8 for each of TRANSLUCENT_INTER_THREADS",
    )
    max_queued_sentences: int = setting(
        8192,
        "Sentences that may wait for each model, in each engine process; when they would be more, new requests get 503",
        "a whole number of at least 1",
        ge=1,
    )
    max_queued_tokens: int = setting(
        524_288,
        "Source tokens that may wait for each model, in each engine process; when they would be more, new requests get "
        "503",
        "a whole number of at least 256",
        ge=256,
    )
    values: Literal["localize", "keep", "off"] = setting(
        "localize",
        "What becomes of values (numbers, dates, amounts, addresses, placeholders) if a request does not say: "
        "`localize` keeps each exactly once, written as the target language writes it; `keep` keeps it as it is; `off` "
        "translates it like any text",
        "localize, keep or off",
    )
    glossaries_dir: Path | None = optional(
        None,
        "Folder of glossaries: NAME.en-fr.tsv or .csv (source term, target term), NAME.tsv or .csv with a first row of "
        "language tags, or NAME.tbx. It is read again when the models are reloaded; see docs/glossaries.md",
        "a folder",
        shown="none",
    )
    glossary_term_limit: int = setting(
        5000, "Most terms of one glossary, in a request or a file", "a whole number of at least 1", ge=1
    )
    glossary_character_limit: int = setting(
        200, "Most characters of one term of a glossary", "a whole number from 1 to 1000", ge=1, le=1000
    )
    body_limit: int = setting(
        1_048_576,
        "Largest request body, in bytes; a larger body gets 413",
        "a whole number of at least 1024",
        ge=1024,
    )
    character_limit: int = setting(
        100_000,
        "Most characters in one text; the limit applies to each text of a list",
        "a whole number of at least 1",
        ge=1,
    )
    batch_limit: int = setting(128, "Most texts in one list", "a whole number of at least 1", ge=1)
    embeddings: bool = setting(
        True,
        "Whether `/embed` and `/attention?kind=sentence` are answered, if the folder of models has a "
        "sentence-embedding model in `sentence/`",
        "true or false",
    )
    attention_weight_limit: int = setting(
        250_000,
        "Most attention weights in one answer of `/attention`, as data or as a picture; a request for more gets 400 "
        "(a thousand weights are 50 kB of CSV)",
        "a whole number of at least 1",
        ge=1,
    )
    request_timeout_seconds: float = setting(
        120.0,
        "Time for a whole request from the end of its headers: body, queue, translation and drawing; after it the "
        "answer is 504",
        "a number above 0, up to 3600",
        gt=0,
        le=3600,
        allow_inf_nan=False,
    )
    load_timeout_seconds: float = setting(
        300.0,
        "Time for a bundle to load, and the same time again to warm up; after it the bundle is refused and the other "
        "bundles are served",
        "a number above 0, up to 3600",
        gt=0,
        le=3600,
        allow_inf_nan=False,
    )
    drain_delay_seconds: float = setting(
        1.0,
        "Time after SIGTERM in which new requests are still accepted while `/health/ready` already answers 503; it "
        "lets "
        "a load balancer notice",
        "a number from 0 to 600",
        ge=0,
        le=600,
        allow_inf_nan=False,
    )
    drain_timeout_seconds: float = setting(
        30.0,
        "Time for running requests to finish after the drain delay; after it they are cut off",
        "a number from 0 to 3600",
        ge=0,
        le=3600,
        allow_inf_nan=False,
    )
    tracing: bool = setting(
        False,
        "Send traces of requests by OTLP over HTTP to the address in the standard variables `OTEL_*`; needs the extra "
        "`tracing`",
        "true or false",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "Lowest level of log lines that are written", "debug, info, warning or error"
    )
    log_format: Literal["auto", "json", "console"] = setting(
        "auto",
        "Format of log lines: `auto` writes readable text to a terminal and JSON everywhere else",
        "auto, json or console",
    )

    @field_validator("max_rows")
    @classmethod
    def _rows_for_inter_threads(cls, value: int | str, info: ValidationInfo) -> int | str:
        least = MAX_BEAM_SIZE * info.data.get("inter_threads", 0)
        if isinstance(value, int) and value < least:
            raise ValueError(f"{info.data['inter_threads']} decode threads need {least} rows")
        return value

    @field_validator("memory_limit_mb")
    @classmethod
    def _limit_of_open_models(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("load") == "eager":
            raise ValueError("with TRANSLUCENT_LOAD=eager every model stays open")
        return value

    @property
    def default_bundles(self) -> tuple[str, ...]:
        """Return the names in `default_models`."""
        return tuple(name.strip() for name in self.default_models.split(",") if name.strip())

    @property
    def chosen_precision(self) -> Literal["int8", "fp16", "fp32"] | None:
        """Return the precision of the graphs; None: the fastest that a bundle has for its device."""
        return None if self.precision == "auto" else self.precision


def accepted(field: FieldInfo) -> str:
    """Return the accepted values of a field, in words."""
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    return str(extra["accepted"])


def load_settings(**overrides: Any) -> Settings:
    """Return the settings of the environment. Overrides (options of the command line) win, unless they are None.

    Raise SettingsError with every problem at once, unknown variables included.
    """
    known = {variable(name): name for name in _in_order()}
    ours = [name for name in sorted(os.environ) if name.upper().startswith(PREFIX)]
    problems = [_unknown(name, known) for name in ours if name.upper() not in known and name.upper() not in RENAMED]
    problems += conflicts(os.environ)
    given = {name: value for name, value in overrides.items() if value is not None}
    settings = None
    try:
        settings = Settings(**{**values_by_field(os.environ), **given})
    except ValidationError as error:
        problems += [_refused(str(item["loc"][0]), item["input"], item.get("ctx", {})) for item in error.errors()]
    if problems or settings is None:
        raise SettingsError("\n".join(problems))
    return settings


def renamed_in_use() -> list[str]:
    """Return one line for each variable that is set under its old name."""
    return renaming_warnings(os.environ)


def forget_secrets() -> None:
    """Remove secrets from the environment once they are read, so that child processes do not inherit them."""
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
    given = variable(field) if _is_secret(info) else f"{_name_in_use(field)}={shown!r}"
    reason = f" ({context['error']})" if "error" in context else ""
    return f"{given} is not accepted{reason}: it must be {accepted(info)} (default: {_default(info)})."


def _name_in_use(field: str) -> str:
    """Return the variable a value came from: the old name where only that one is set."""
    name = variable(field)
    olds = (old for old in old_names(os.environ) if RENAMED[old] == name and name not in os.environ)
    return next(olds, name)


def _is_secret(info: FieldInfo) -> bool:
    extra = info.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("secret"))


def _default(info: FieldInfo) -> str:
    extra = info.json_schema_extra
    if isinstance(extra, dict) and "default" in extra:
        return str(extra["default"])
    return str(info.default)


def settings_rows() -> list[tuple[str, str, str, str]]:
    """Return all settings: variable, default (code is between backquotes), accepted, meaning."""
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
    """Return all fields, host and port first, as readers expect; pydantic begins with the inherited ones."""
    return sorted(Settings.model_fields, key=lambda name: name not in Settings.__annotations__)
