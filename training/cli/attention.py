"""The commands that look at attention: gradients of a translation, and pooling as a graph."""

from pathlib import Path
from typing import Annotated

import typer

from service.bundle.vocabulary import EOS, SPECIAL_TOKENS
from training.cli.options import Output, RunPath, show
from training.evaluation.attribution import gradient_times_input
from training.pooling import KERNELS, KernelPooling, export_pooling, learn_width, make_examples, pooling_error
from training.trainer.checkpoints import load_trained


def attribution(
    run: RunPath,
    source: Annotated[str, typer.Option(help="A sentence.")],
    target: Annotated[str, typer.Option(help="Its translation.")],
    output: Output = None,
) -> None:
    """Show gradient × input: how much each source token adds to the log-probability of each target token."""
    trained = load_trained(run)
    sides = [trained.tokenizer.encode(text) for text in (source, target)]
    scores = gradient_times_input(trained.network, *([*side.ids, EOS] for side in sides)).tolist()
    columns, rows = ([*side.tokens, SPECIAL_TOKENS[EOS]] for side in sides)
    lines = ["\t".join(["", *columns])]
    for row, values in zip(rows, scores, strict=True):
        lines.append("\t".join([row, *(f"{value:.3f}" for value in values)]))
    show({"source": columns, "target": rows, "gradient_times_input": scores}, "\n".join(lines), output)


def pooling(
    output: Annotated[Path, typer.Option(help="The graph that GET /pooling runs.")] = Path(
        "service/pooling/pooling.onnx"
    ),
) -> None:
    """Learn the width of every kernel by leave-one-out, and export attention pooling as a graph of a few kB."""
    examples = make_examples()
    widths = {kernel: learn_width(examples, kernel) for kernel in KERNELS}
    for kernel, width in widths.items():
        error = pooling_error(KernelPooling(examples, kernel, width), left_out=True).item()
        typer.echo(f"{kernel}: width {width:.4f}, leave-one-out error {error:.4f}")
    content = export_pooling(examples, widths).SerializeToString(deterministic=True)
    output.write_bytes(content)
    typer.echo(f"{output}: {len(content)} bytes")
