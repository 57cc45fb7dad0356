"""The command ``gpu``: the graphs with which a bundle runs on a GPU."""

from pathlib import Path
from typing import Annotated

import typer

from service.bundle.load import is_bundle
from training.export.running import add_running, is_ensemble


def gpu(
    folders: Annotated[list[Path], typer.Argument(help="Bundles, or folders of bundles, e.g. models models/gallery.")],
) -> None:
    """Add to bundles the graphs of a batch that stays on a GPU; an export has them. Weights and other graphs stay."""
    bundles = [path for folder in folders for path in ([folder] if is_bundle(folder) else sorted(folder.iterdir()))]
    for bundle in sorted(filter(is_bundle, bundles), key=is_ensemble):  # after its members, whose digests it names
        added = add_running(bundle)
        typer.echo(f"{bundle}: {'has its graphs for a GPU' if added else 'has no fp16 graphs, so none for a GPU'}")
