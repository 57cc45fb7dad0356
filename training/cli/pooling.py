"""The command ``pooling``, which learns the widths of attention without a model."""

import typer

from training.pooling import KERNELS, KernelPooling, learn_width, make_examples, pooling_error


def pooling() -> None:
    """Learn the width of every kernel by leave-one-out, and print it with its error."""
    examples = make_examples()
    for kernel in KERNELS:
        width = learn_width(examples, kernel)
        error = pooling_error(KernelPooling(examples, kernel, width), left_out=True).item()
        typer.echo(f"{kernel}: width {width:.4f}, leave-one-out error {error:.4f}")
