"""Runs engines alternately over the same sentences and computes medians."""

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypedDict

from benchmarks.engine.engines import Ids, Setting
from benchmarks.engine.isolated import EngineRun, IsolatedEngine


class Row(TypedDict):
    """One line of `engine.json`."""

    model: str
    corpus: str
    engine: str
    precision: str
    beam: int
    batch: int
    workers: int
    tokens_per_second: float
    milliseconds: float
    """For all sentences."""
    processor_milliseconds: float
    bleu: float
    sentences: int
    tokens: int
    megabytes: float
    agreement: float
    """Share of sentences with exactly the same tokens as from our engine."""
    ratio: float | None
    """Our tokens per second divided by this engine's: the median over the rounds, in which the engines alternate."""
    processor_ratio: float | None
    """The same ratio by processor time, which depends less on other load of the machine."""


class Text(NamedTuple):
    """The text that is translated, and the function that scores the translation."""

    model: str
    corpus: str
    sources: Sequence[Ids]
    score: Callable[[Sequence[Ids]], float]


def compare(engines: dict[tuple[str, str], IsolatedEngine], text: Text, setting: Setting, rounds: int) -> list[Row]:
    """Run every (engine, precision) alternately; the first one is ours."""
    turns: dict[tuple[str, str], list[EngineRun]] = {name: [] for name in engines}
    for number in range(rounds):
        order = list(engines) if number % 2 == 0 else list(reversed(engines))
        for name in order:
            turns[name].append(engines[name].run(setting, text.sources))
    ours = turns[next(iter(engines))]
    return [_row(name, taken, ours, text, setting) for name, taken in turns.items()]


def _row(name: tuple[str, str], taken: list[EngineRun], ours: list[EngineRun], text: Text, setting: Setting) -> Row:
    found, mine = taken[0].found, ours[0].found
    tokens, own = sum(map(len, found)), sum(map(len, mine))
    seconds = statistics.median(turn.seconds for turn in taken)
    ratios = [(own / a.seconds) / (tokens / b.seconds) for a, b in zip(ours, taken, strict=True)]
    used = [(own / a.processor_seconds) / (tokens / b.processor_seconds) for a, b in zip(ours, taken, strict=True)]
    engine, precision = name
    first = taken is ours
    return Row(
        model=text.model,
        corpus=text.corpus,
        engine=engine,
        precision=precision,
        beam=setting.beam,
        batch=setting.batch,
        workers=setting.workers,
        tokens_per_second=round(tokens / seconds, 1),
        milliseconds=round(1000 * seconds, 1),
        processor_milliseconds=round(1000 * statistics.median(turn.processor_seconds for turn in taken), 1),
        bleu=round(text.score(found), 2),
        sentences=len(found),
        tokens=tokens,
        megabytes=round(max(turn.megabytes for turn in taken)),
        agreement=round(sum(a == b for a, b in zip(found, mine, strict=True)) / len(found), 3),
        ratio=None if first else round(statistics.median(ratios), 3),
        processor_ratio=None if first else round(statistics.median(used), 3),
    )
