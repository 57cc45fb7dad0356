"""The program `translucent`: the same command line in a checkout and in an installed wheel."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from service.cli.main import cli as cli
from service.cli.main import main as main
from service.cli.main import models_commands
from service.cli.options import FAILED, ModelsDir, fail, read_settings
from service.extras import installation


@cli.command()
def mcp(
    url: Annotated[
        str | None, typer.Option(help="A running server, such as http://localhost:8000; else models of this machine.")
    ] = None,
    models_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the model bundles. [env: TRANSLUCENT_MODELS_DIR]",
            envvar="TRANSLUCENT_MODELS_DIR",
            show_envvar=False,
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            help="API key of the server. [env: TRANSLUCENT_API_KEY]", envvar="TRANSLUCENT_API_KEY", show_envvar=False
        ),
    ] = None,
    transport: Annotated[Literal["stdio", "http"], typer.Option(help="stdio, or streamable HTTP at /mcp.")] = "stdio",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port for http, on 127.0.0.1.")] = 8765,
) -> None:
    """Offer translation and alignment to assistants, by the Model Context Protocol."""
    from translucent_mt.mcp_server import Models, server_of

    try:
        server = server_of(Models(url, models_dir, api_key))
    except ImportError:
        typer.echo(f"translucent: mcp needs the protocol's SDK: {installation('mcp')}.", err=True)
        raise typer.Exit(1) from None
    if transport == "http":
        server.run("streamable-http", port=port)
    else:
        server.run("stdio")


@models_commands.command("add")
def add_model(
    model: Annotated[Path, typer.Argument(help="A folder of Firefox or CTranslate2, or a package of Argos.")],
    models_dir: ModelsDir = None,
    name: Annotated[str | None, typer.Option(help="Name of the bundle. [default: such as firefox-en-es]")] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="Language of the source, where the files do not say it.")
    ] = None,
    target: Annotated[str | None, typer.Option("--to", help="Language to translate into, likewise.")] = None,
    spm: Annotated[Path | None, typer.Option(help="CTranslate2: the SentencePiece model of the source.")] = None,
    target_spm: Annotated[Path | None, typer.Option(help="That of the target, where it has its own.")] = None,
    licence: Annotated[str | None, typer.Option(help="The model's licence, where its files do not say it.")] = None,
    from_index: Annotated[
        Path | None, typer.Option(help="Firefox: a downloaded list of its models, which names the files of the pair.")
    ] = None,
    seven_bits: Annotated[
        bool, typer.Option("--seven-bits", help="Firefox: for a server with an x86 processor without VNNI.")
    ] = False,
    text: Annotated[
        Path | None, typer.Option(help="Sentences of the source language, one a line: they make int8 faster.")
    ] = None,
) -> None:
    """Make a bundle of a downloaded model and put it into the folder of models."""
    try:
        from training.imports.add import AddOptions, ImportRefused, add_model
    except ImportError as error:
        fail(f"models add needs the extra import ({error}): {installation('import')}.", FAILED)
    folder = read_settings(models_dir=models_dir).models_dir
    try:
        lines = () if text is None else text.read_text("utf-8").splitlines()
        options = AddOptions(name, source, target, spm, target_spm, licence, from_index, seven_bits, lines)
        made, found = add_model(model, folder, options)
    except (ImportRefused, OSError, UnicodeDecodeError) as error:
        fail(str(error), FAILED)
    pairs = ", ".join(f"{one} → {other.language}" for one in found.source_languages for other in found.targets)
    typer.echo(f"{made}: {pairs}, {found.origin.licence}")
    typer.echo("A running server loads it when it gets SIGHUP: kill -HUP PID")
