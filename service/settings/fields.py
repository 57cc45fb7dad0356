"""The settings: their defaults, meanings and accepted values. `docs/settings.md` shows this class as a table."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from service.engine import DEFAULT_ROWS, MOST_SENTENCES
from service.settings.limits import PREFIX, LimitSettings, setting

DEFAULT_PIVOT = "en"  # on one side of nearly every model


def default_models_folder() -> Path:
    """Return models/ of the checkout; for an installed package, models/ of the working folder."""
    shipped = Path(__file__).resolve().parents[2] / "models"
    return shipped if shipped.is_dir() else Path("models")


class Settings(LimitSettings):
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
    port: int = setting(8000, "Port to listen on; 0 chooses any free port", ge=0, le=65535)
    models_dir: Path = Field(
        default_factory=default_models_folder,
        description="Folder with one subfolder for each model bundle; every bundle in it is served",
        json_schema_extra={"accepted": "a folder", "default": "`models/` of the checkout"},
    )
    memory_limit_mb: int | None = setting(
        None,
        "Resident memory of the server (all its processes) in MiB that open models may take: manifests are read at the "
        "start, each model is opened at its first request, and the least recently used idle one is closed before the "
        "memory is exceeded. Without it all models are loaded at the start and stay",
        shown="none",
        ge=64,
    )
    default_models: str = setting(
        "",
        "Bundles that translate their language pair when a request names no model, separated by commas; the "
        "first bundle of a pair wins. A pair without an entry uses the bundle with the best score in its model card",
        "names of bundles in the folder of models",
        shown="none",
    )
    models_index: str = setting(
        "https://firefox.settings.services.mozilla.com/v1/buckets/main/collections/translations-models-v2/records,"
        "https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json,"
        "https://raw.githubusercontent.com/argosopentech/argospm-index/main/index.json",
        "Lists of the models that `translucent models get` can download, separated by commas: Mozilla's records and "
        "`models.json`, and Argos' index. A folder holds lists and files by the paths that the lists name: a mirror "
        "without a network. The service itself fetches nothing",
        "addresses and folders",
        shown="the lists of Mozilla and Argos",
    )
    gallery: bool = setting(
        False,
        "Also serve the small models for teaching in the subfolder `gallery` of the folder of models, one for each "
        "kind of attention. They translate only if a request names them",
    )
    pivot: str = setting(
        DEFAULT_PIVOT,
        "Language through which a pair without a model is translated, in two legs, if there are models "
        "into it and out of it. A model that translates the pair itself always wins. `off`: no pair is translated so",
        "a language tag, or off",
        pattern=r"^([A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*)?$",
        max_length=64,
    )
    device: Literal["auto", "cpu", "cuda"] = setting(
        "auto",
        "Where models run: `auto` uses the GPU if there is one and it works, `cuda` refuses to start without a GPU",
    )
    precision: Literal["auto", "int8", "fp16", "fp32"] = setting(
        "auto", "Which graphs of a bundle run: `auto` uses the fastest precision that the bundle has for the device"
    )
    intra_threads: int = setting(1, "Threads that ONNX Runtime uses inside one run of a model", ge=1, le=256)
    engine_processes: Literal["auto"] | Annotated[int, Field(ge=0, le=64)] = setting(
        "auto",
        "Processes that run the models, in addition to the process that answers HTTP. Each of them loads every model, "
        "and they share the work. `auto` is one for every four cores, at least one, at most eight, or one for each "
        "GPU; `/models` and the log say how many run. With 0 the models run in the HTTP process",
        "auto or a whole number from 0 to 64",
    )
    cache_mb: int = setting(
        64,  # about 30,000 sentences
        "Memory for finished sentences, in MiB, in the process that answers HTTP: a sentence that comes again is "
        "answered at once, and equal sentences of a request are translated once. The answers are the same bytes. 0 "
        "switches both off",
        ge=0,
        le=65536,
    )
    max_rows: Literal["auto"] | Annotated[int, Field(ge=8, le=4096)] = setting(
        "auto",
        "Rows (hypotheses of sentences) that one model decodes together, in each engine process; a sentence with the "
        f"largest beam always fits. `auto` is {MOST_SENTENCES} sentences in each decode thread on a CPU, where more in "
        f"one step are slower, and {DEFAULT_ROWS} rows on a GPU",
        "auto or a whole number from 8 to 4096",
    )
    effort: Literal["usual", "best"] = setting(
        "usual",
        "How a translation is chosen if a request does not say: `best` searches eight hypotheses and takes the one "
        "that is best in both directions, where a model translates back, at four to seven times the processor time",
    )
    glossaries_dir: Path | None = setting(
        None,
        "Folder of glossaries: NAME.en-fr.tsv or .csv (source term, target term), NAME.tsv or .csv with a first row of "
        "language tags, or NAME.tbx. It is read again when the models are reloaded; see docs/glossaries.md",
        "a folder",
        shown="none",
    )
    drain_delay_seconds: float = setting(
        1.0,
        "Time after SIGTERM in which new requests are still accepted while `/health/ready` already answers 503; it "
        "lets a load balancer notice",
        ge=0,
        le=600,
    )
    drain_timeout_seconds: float = setting(
        30.0, "Time for running requests to finish after the drain delay; after it they are cut off", ge=0, le=3600
    )
    tracing: bool = setting(
        False,
        "Send traces of requests by OTLP over HTTP to the address in the standard variables `OTEL_*`; needs the extra "
        "`tracing`",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "Lowest level of log lines that are written"
    )

    @property
    def pivot_language(self) -> str | None:
        """Return the tag of the pivot language, or None."""
        return None if self.pivot in ("", "off") else self.pivot

    @property
    def default_bundles(self) -> tuple[str, ...]:
        """Return the names in `default_models`."""
        return tuple(name.strip() for name in self.default_models.split(",") if name.strip())

    @property
    def chosen_precision(self) -> Literal["int8", "fp16", "fp32"] | None:
        """Return the precision of the graphs; None: the fastest that a bundle has for its device."""
        return None if self.precision == "auto" else self.precision
