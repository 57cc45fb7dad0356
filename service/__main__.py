"""The command line: `translucent serve`, `models`, `translate`, `settings`, `keys`; `python -m service` is the same.

Exit codes: 0 done, 1 it failed, 2 the command or the configuration is wrong, 130 interrupted.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from service import __version__
from service.access.keys import KeyFileError
from service.cli import models as catalogue
from service.cli import translate as bulk
from service.cli.find_model import Wanted
from service.cli.keys import keys
from service.engine import EngineError, InvalidOption, UnsupportedPair
from service.logs import configure_logging
from service.settings import (
    Settings,
    SettingsError,
    load_settings,
    renamed_in_use,
    settings_rows,
    settings_table,
)
from service.tracing import TracingError

FAILED, WRONG, INTERRUPTED = 1, 2, 130

cli = typer.Typer(
    name="translucent",
    help="Translation models that show their attention: serve them, list them, translate files.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # it would take "[env: …]" for markup
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelsDir = Annotated[
    Path | None, typer.Option("--models-dir", help="Folder of the model bundles. [env: TRANSLUCENT_MODELS_DIR]")
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"] | None, typer.Option(help="Where models run. [env: TRANSLUCENT_DEVICE]")
]
IntraThreads = Annotated[
    int | None,
    typer.Option(help="Threads that ONNX Runtime uses inside one run of a model. [env: TRANSLUCENT_INTRA_THREADS]"),
]
Threads = Annotated[int | None, typer.Option(hidden=True, help="The old name of --intra-threads.")]


cli.add_typer(keys, name="keys")


def fail(message: str, code: int) -> NoReturn:
    """Say on standard error what is wrong, and exit."""
    for line in message.splitlines():
        typer.echo(f"translucent: {line}", err=True)
    raise typer.Exit(code)


def read_settings(**overrides: object) -> Settings:
    """Return the settings; exit with a message if they cannot be used."""
    try:
        return load_settings(**overrides)
    except SettingsError as error:
        fail(str(error), WRONG)


def warn_of_old_names() -> None:
    """Write one line to standard error for each variable that is set under its old name."""
    for line in renamed_in_use():
        typer.echo(f"translucent: {line}", err=True)


def either_name(intra_threads: int | None, threads: int | None) -> int | None:
    """Return the value of --intra-threads, also when it was given under its old name, --threads."""
    if threads is None:
        return intra_threads
    if intra_threads not in (None, threads):
        fail("--threads and --intra-threads are one option and differ; --threads is the old name, leave it out.", WRONG)
    typer.echo(
        "translucent: --threads is now --intra-threads. The next version will not accept the old name.", err=True
    )
    return threads


def show_version(value: bool) -> None:
    """Print the version and exit."""
    if value:
        typer.echo(f"translucent {__version__}")
        raise typer.Exit


@cli.callback()
def translucent(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Translation models that show their attention: serve them, list them, translate files."""


@cli.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [env: TRANSLUCENT_HOST]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [env: TRANSLUCENT_PORT]")] = None,
    models_dir: ModelsDir = None,
    device: Device = None,
    intra_threads: IntraThreads = None,
    threads: Threads = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option(help="Lowest level of log lines that are written. [env: TRANSLUCENT_LOG_LEVEL]"),
    ] = None,
) -> None:
    """Serve all models of a folder over HTTP until SIGTERM or Ctrl-C.

    Every setting is an environment variable that begins with TRANSLUCENT_; `translucent settings` lists them all.
    The options here win over the environment.
    """
    settings = read_settings(
        host=host,
        port=port,
        models_dir=models_dir,
        device=device,
        intra_threads=either_name(intra_threads, threads),
        log_level=log_level,
    )
    # Only serving needs the HTTP libraries; the other commands start faster without them.
    from service.server.main import serve_models

    try:
        code = serve_models(settings)
    except EngineError as error:
        fail(error.message, FAILED)
    except TracingError as error:
        fail(str(error), WRONG)
    except KeyFileError as error:
        fail(f"TRANSLUCENT_API_KEYS_FILE: {error}", WRONG)
    raise typer.Exit(code)


@cli.command()
def models(
    models_dir: ModelsDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifests as a JSON list.")] = False,
) -> None:
    """List the models of a folder, after checking every file of theirs."""
    folder = read_settings(models_dir=models_dir).models_dir
    try:
        found, refused = catalogue.read_bundles(folder)
    except EngineError as error:
        fail(error.message, FAILED)
    if found or as_json:
        typer.echo(catalogue.as_json(found) if as_json else catalogue.as_table(found))
    if refused:
        fail("\n".join(error.message for error in refused), FAILED)


@cli.command()
def translate(
    texts: Annotated[list[str] | None, typer.Argument(help="Texts to translate, instead of --input.")] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="Language of the text. [default: the only possible one]")
    ] = None,
    target: Annotated[str | None, typer.Option("--to", help="Language to translate into.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="A bundle's folder, a model's name in the folder of models, or with --to an architecture. "
            "[default: the best measured model of the languages]"
        ),
    ] = None,
    input: Annotated[
        Path | None,
        typer.Option("--input", "-i", help="File with one segment per line; - is standard input, the default."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the translations; - is standard output, the default."),
    ] = None,
    beam_size: Annotated[int | None, typer.Option(min=1, max=8, help="Beam size. [default: the model's own]")] = None,
    split_sentences: Annotated[
        bool,
        typer.Option(
            "--split-sentences/--no-split-sentences",
            help="Translate each sentence of a line by itself, or each line as one sentence. Lines of --target-file "
            "are always taken as they are.",
        ),
    ] = True,
    target_file: Annotated[
        Path | None,
        typer.Option(
            help="File of given translations, line by line, which are scored and aligned; nothing is translated."
        ),
    ] = None,
    alignments: Annotated[
        Path | None,
        typer.Option(
            help="File for the word alignment: source-target pairs i-j from 0, words separated by white space."
        ),
    ] = None,
    scores: Annotated[Path | None, typer.Option(help="File for the log-probability of each line.")] = None,
    models_dir: ModelsDir = None,
    device: Device = None,
    intra_threads: IntraThreads = None,
    threads: Threads = None,
) -> None:
    """Translate texts or a file line by line, or score and align translations that you have.

    There is one line out for each line in, and empty lines stay empty. A file named - is standard input or output.
    """
    own = read_settings(models_dir=models_dir, device=device, intra_threads=either_name(intra_threads, threads))
    warn_of_old_names()
    configure_logging("warning", "console", sys.stderr)
    options = bulk.BulkOptions(
        wanted=Wanted(model, source, target, own.default_bundles),
        models_dir=own.models_dir,
        texts=tuple(texts or ()),
        input=input,
        output=output,
        beam_size=beam_size,
        split_sentences=split_sentences,
        target_file=target_file,
        alignments=alignments,
        scores=scores,
        device=own.device,
        intra_threads=own.intra_threads,
        max_rows=own.max_rows,
        inter_threads=own.inter_threads,
    )
    try:
        bulk.run(options)
    except (InvalidOption, UnsupportedPair) as error:
        fail(error.message, WRONG)
    except EngineError as error:
        fail(error.message, FAILED)
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)


@cli.command()
def settings(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a Markdown table, which is also the default for files and pipes.")
    ] = False,
) -> None:
    """Print every setting: its variable, its default, what it accepts and what it means."""
    if markdown or not sys.stdout.isatty():
        typer.echo(settings_table(), nl=False)
    else:
        typer.echo(catalogue.as_text(settings_rows(), shutil.get_terminal_size().columns))


def main() -> None:
    """The console script."""
    cli(prog_name="translucent")


if __name__ == "__main__":
    main()
