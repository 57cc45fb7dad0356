"""The command ``pooling``, which makes the graph of attention without a model."""

from pathlib import Path
from typing import Annotated

import typer

from training.pooling import KERNELS, KernelPooling, export_pooling, learn_width, make_examples, pooling_error


def pooling(
    output: Annotated[Path, typer.Option(help="The graph; GET /pooling runs service/pooling/pooling.onnx.")] = Path(
        "runs/pooling.onnx"
    ),
) -> None:
    """Learn the width of every kernel by leave-one-out, and export attention pooling as a graph of a few kB."""
    examples = make_examples()
    widths = {kernel: learn_width(examples, kernel) for kernel in KERNELS}
    for kernel, width in widths.items():
        error = pooling_error(KernelPooling(examples, kernel, width), left_out=True).item()
        typer.echo(f"{kernel}: width {width:.4f}, leave-one-out error {error:.4f}")
    content = export_pooling(examples, widths).SerializeToString(deterministic=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(content)
    typer.echo(f"{output}: {len(content)} bytes")
