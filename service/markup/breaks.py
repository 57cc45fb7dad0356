"""Line breaks of HTML within a sentence: `I have never seen<br>a dog like that`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from service.bundle.line_breaks import continued
from service.markup.elements import BLOCK, OPAQUE
from service.markup.tokens import HtmlToken

BREAK = "br"
ENDS = BLOCK | OPAQUE
MOST_TOKENS = 10_000  # of a paragraph that are looked at together


def softened(tokens: Iterable[HtmlToken]) -> Iterator[HtmlToken]:
    """Yield tokens; those of a line break within a sentence are of kind "break"."""
    run: list[HtmlToken] = []
    for token in tokens:
        run.append(token)
        if (token.name in ENDS and token.name != BREAK) or len(run) >= MOST_TOKENS:
            yield from _softened(run)
            run = []
    yield from _softened(run)


def _softened(run: Sequence[HtmlToken]) -> Iterable[HtmlToken]:
    """Return the tokens of one paragraph with its line breaks."""
    breaks = [number for number, token in enumerate(run) if token.name == BREAK and token.kind != "close"]
    if not breaks:
        return run
    edges = [-1, *breaks, len(run)]
    lines = [
        "".join(token.text for token in run[first + 1 : last] if token.kind == "text")
        for first, last in pairwise(edges)
    ]
    soft = {
        number
        for number, goes_on in zip(breaks, continued([" ".join(line.split()) for line in lines]), strict=True)
        if goes_on
    }
    return (replace(token, kind="break") if number in soft else token for number, token in enumerate(run))
