"""The program `translucent`: the same command line in a checkout and in an installed wheel."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from service.cli.main import cli as cli
from service.cli.main import main as main
from service.extras import installation
from translucent_mt import model_commands as model_commands


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
