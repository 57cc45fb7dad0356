"""The command ``captions``: pictures of shapes, described by soft and by hard attention."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from training.captions.graph import CaptionModel, export, measure
from training.captions.network import Kind, train
from training.captions.shapes import scenes
from training.files import write_json

TESTED = 500
"""Pictures of each test."""
SEED = 1_000_000_007
"""Of the tests: no update of training has it."""


def captions(
    output: Annotated[Path, typer.Option(help="Folder of the graphs and their figures.")] = Path("runs/captions"),
    kinds: Annotated[list[str] | None, typer.Option("--kind", help="soft or hard; by default both.")] = None,
    updates: Annotated[int, typer.Option(min=1, help="Of each network, with 48 new pictures.")] = 2000,
) -> None:
    """Train captioners with soft and with hard attention, export them, and measure the exported graphs."""
    if unknown := set(kinds or ()) - set(get_args(Kind)):
        raise ValueError(f"--kind {min(unknown)} is not known: soft or hard")
    output.mkdir(parents=True, exist_ok=True)
    figures = {}
    for kind in get_args(Kind):
        if kinds and kind not in kinds:
            continue
        path = output / f"{kind}.onnx"
        export(train(kind, updates), path)
        model = CaptionModel(path)
        for name, held_out in (("pairs of training", False), ("other pairs", True)):
            found = measure(model, scenes(SEED, TESTED, held_out))
            figures[f"{kind}, {name}"] = found._asdict()
            typer.echo(
                f"{kind}, {name}: {found.right:.1%} of the captions right; the largest weight of a colour or "
                f"form is on its shape in {found.on_shape:.1%} (a random cell: {found.chance:.1%})"
            )
    write_json(output / "captions.json", {"updates": updates, "pictures": TESTED, "figures": figures})
