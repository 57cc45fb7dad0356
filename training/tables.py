"""Markdown tables, as commands print them and as cards and docs have them."""

from collections.abc import Iterable, Sequence


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], *, aligned: bool = False) -> str:
    """Return a Markdown table, without a newline at its end; `aligned`: with columns of even width, for a terminal."""
    body = list(rows)
    widths = [max(map(len, column)) if aligned else 0 for column in zip(head, *body, strict=True)]
    rule = ["-" * (width or 3) for width in widths]
    return "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in [head, rule, *body]
    )
