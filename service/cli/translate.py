"""`translucent translate`: one model over a file with one segment per line, streaming, in the order of the lines.

Windows of lines are sorted by length, so that sentences of similar length run together. Two windows are in progress at
a time, so that the batch stays full. The engine is that of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from service.bundle.alignment import pharaoh
from service.bundle.confidence import SIGNALS
from service.cli.lines import (
    STANDARD,
    check_paths_differ,
    count_lines,
    is_terminal,
    line_writer,
    quiet_when_output_closes,
    read_lines,
)
from service.cli.open_models import BulkOptions, OpenedModels, open_models
from service.cli.options import say
from service.cli.word_links import NO_WORDS, WordLinks, of_sentences, of_translation
from service.engine import (
    EmptyInput,
    InvalidInput,
    InvalidOption,
    SentenceQuality,
    Translation,
    formality_note,
    normalised_score,
)

WINDOW_LINES = 4096  # sorted by length together
CHUNK_LINES = 64  # translated by one call
WINDOWS_IN_PROGRESS = 2
SHOWN_LINES = 20  # numbers of lines in a note
THE_INPUT, THE_TARGETS = "the input", "the target file"  # in errors


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line of the input, with its given translation if there is one."""

    number: int
    source: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class OutputLine:
    """The output for one line of the input."""

    text: str
    source: str = ""
    alternatives: tuple[str, ...] = ()
    score: float = 0.0
    words: WordLinks = NO_WORDS
    qualities: tuple[SentenceQuality, ...] = ()
    quality: float | None = None


def _as_json(line: OutputLine) -> str:
    """Return a translation as JSON, with the names of Python's `to_dict`."""
    shown = {name: getattr(line, name) for name in ("source", "text", "alternatives", "quality")}
    return json.dumps(shown, ensure_ascii=False)


def _as_text(line: OutputLine) -> str:
    """Return a translation, and each alternative in a line of its own, after a tab."""
    return "\n\t".join((line.text, *line.alternatives))


def _signals(line: OutputLine) -> str:
    """Return the sentences of a line as JSON: the length of each source, which is its weight, and its signals."""
    rows = [
        {"characters": len(quality.source_text), "signals": dict(zip(SIGNALS, quality.signals, strict=True))}
        for quality in line.qualities
    ]
    return json.dumps(rows)


def run(options: BulkOptions) -> None:
    """Translate line by line, or score and align if there is a target file.

    Raise InvalidInput (options, files, a pair without a model, or a line that cannot be used, with its number),
    BundleError or DeviceUnavailable.
    """
    check_options(options)
    opened = open_models(options)
    with quiet_when_output_closes():
        asyncio.run(_run(options, opened))


def low_quality_note(low: Sequence[int], options: BulkOptions) -> str:
    """Return a line about the sentences below the minimal quality, from their number in each line."""
    lines = [number for number, count in enumerate(low, start=1) if count]
    shown = ", ".join(map(str, lines[:SHOWN_LINES])) + (", …" if len(lines) > SHOWN_LINES else "")
    kept = " and were not translated" if options.below_min_quality == "keep_source" else ""
    where = f" (lines {shown})" if lines else ""
    return f"{sum(low)} sentences are below a quality of {options.min_quality:g}{kept}{where}.\n"


def check_options(options: BulkOptions) -> None:
    """Raise InvalidOption or InvalidInput for options that contradict each other."""
    if options.target_file and not (options.alignments or options.words or options.scores):
        raise InvalidOption("--target-file scores given translations; set --scores or --alignments for the results.")
    if options.target_file and (options.output or options.alternatives or options.as_json):
        raise InvalidOption("--target-file translates nothing, so --output, --alternatives and --json have no use.")
    if options.texts and options.input:
        raise InvalidOption("Give texts or --input, not both.")
    if options.target_file and (options.quality or options.signals or options.min_quality is not None):
        raise InvalidOption(
            "The quality is that of the model's own translations, so it needs a call without --target-file."
        )
    source = None if options.texts else options.input or STANDARD
    check_paths_differ((source, options.target_file), [path for path, _, _ in _outputs(options)])


async def _run(options: BulkOptions, opened: OpenedModels) -> None:
    with contextlib.ExitStack() as files:
        columns = (
            [iter(options.texts)] if options.texts else [files.enter_context(read_lines(options.input, THE_INPUT))]
        )
        if options.target_file:
            columns.append(files.enter_context(read_lines(options.target_file, THE_TARGETS)))
        outputs = [
            (files.enter_context(line_writer(path, name)), shown) for path, name, shown in _outputs(options) if path
        ]
        low: list[int] = []  # the sentences below the minimal quality in each line so far
        pairs: list[tuple[str, str]] = []  # the sentences and their translations, if a formality is wanted

        def write(lines: Sequence[OutputLine]) -> None:
            low.extend(sum(quality.low for quality in line.qualities) for line in lines)
            if options.formality != "default":
                pairs.extend((quality.source_text, quality.target_text) for line in lines for quality in line.qualities)
            for write_lines, shown in outputs:
                write_lines([shown(line) for line in lines])

        typed = not options.texts and is_terminal(options.input)
        try:
            await opened.start()
            with _progress(options) as bar:
                await _stream(columns, typed, write, _Work(opened, options.split_sentences, bar))
        finally:
            await opened.stop()
        info = opened.legs[-1].info
        if note := formality_note(options.formality, pairs, (info.source_language, info.target_language)):
            say(note)
        if options.min_quality is not None:
            sys.stderr.write(low_quality_note(low, options))


def _outputs(options: BulkOptions) -> Iterator[tuple[Path | None, str, Callable[[OutputLine], str]]]:
    """Yield each file of results, None if it is not wanted, the name of its option, and what it says of a line."""
    yield (
        options.output or (None if options.target_file else STANDARD),
        "--output",
        _as_json if options.as_json else _as_text,
    )
    yield options.alignments, "--alignments", lambda line: pharaoh(line.words.links)
    yield options.words, "--words", lambda line: str(line.words)
    yield options.scores, "--scores", lambda line: f"{line.score:.6f}"
    yield options.quality, "--quality", lambda line: "" if line.quality is None else f"{line.quality:.4f}"
    yield options.signals, "--signals", _signals


async def _stream(
    columns: Sequence[Iterator[str]], typed: bool, write: Callable[[Sequence[OutputLine]], None], work: _Work
) -> None:
    """Keep a few windows in progress, and write each when it and all earlier ones are done."""
    in_progress: deque[asyncio.Task[list[OutputLine]]] = deque()
    try:
        async for window in _windows(columns, typed):
            in_progress.append(asyncio.create_task(work.window(window)))
            if len(in_progress) >= WINDOWS_IN_PROGRESS or typed:
                write(await in_progress.popleft())
        while in_progress:
            write(await in_progress.popleft())
    finally:
        for task in in_progress:
            task.cancel()
        await asyncio.gather(*in_progress, return_exceptions=True)


async def _windows(columns: Sequence[Iterator[str]], typed: bool) -> AsyncIterator[list[InputLine]]:
    """Yield windows of lines, numbered from 1; raise InvalidInput if one file ends before the other."""
    number = 1
    while True:
        if typed:  # in a thread, waiting for somebody to type could not be interrupted
            window = [list(islice(column, 1)) for column in columns]
        else:
            window = await asyncio.to_thread(lambda: [list(islice(column, WINDOW_LINES)) for column in columns])
        sizes = [len(texts) for texts in window]
        if len(set(sizes)) > 1:
            ends = " and ".join(
                f"{name} {'ends after line' if size < max(sizes) else 'goes beyond line'} {number - 1 + min(sizes)}"
                for name, size in zip((THE_INPUT, THE_TARGETS), sizes, strict=True)
            )
            raise InvalidInput(f"There must be one target line for each line of the input, but {ends}.")
        if not sizes[0]:
            return
        yield [InputLine(number + place, *texts) for place, texts in enumerate(zip(*window, strict=True))]
        number += sizes[0]


def _progress(options: BulkOptions) -> tqdm[NoReturn]:
    """Return a progress bar, which is shown on a terminal unless the translations are printed there."""
    elsewhere = options.target_file or options.output not in (None, STANDARD) or not sys.stdout.isatty()
    shown = sys.stderr.isatty() and elsewhere and not options.texts
    total = count_lines(options.input) if shown else None
    return tqdm(total=total, unit=" lines", smoothing=0.05, disable=not shown)


@dataclass(frozen=True, slots=True)
class _Work:
    """Turns segments into lines of output."""

    opened: OpenedModels
    split: bool
    bar: tqdm[NoReturn]

    async def window(self, segments: Sequence[InputLine]) -> list[OutputLine]:
        """Return the results of a window in the order of its lines; long lines are translated first."""
        by_length = sorted(segments, key=lambda segment: -len(segment.source))
        chunks = [by_length[first : first + CHUNK_LINES] for first in range(0, len(by_length), CHUNK_LINES)]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._chunk(chunk)) for chunk in chunks]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        done = {
            segment.number: line
            for chunk, task in zip(chunks, tasks, strict=True)
            for segment, line in zip(chunk, task.result(), strict=True)
        }
        return [done[segment.number] for segment in segments]

    async def _chunk(self, segments: Sequence[InputLine]) -> list[OutputLine]:
        if segments[0].target is None:
            sources = [segment.source for segment in segments]
            translations = await self.opened.translate(sources, split=self.split)
            lines = list(map(self._line, sources, translations))
        else:
            lines = list(await asyncio.gather(*(self._scored(segment) for segment in segments)))
        self.bar.update(len(lines))
        return lines

    async def _scored(self, segment: InputLine) -> OutputLine:
        """Return the score of a given translation; if one side is empty, there is nothing to score."""
        assert segment.target is not None
        try:
            [only] = self.opened.legs
            [result] = await only.score_batch([(segment.source, segment.target)], self.opened.length_penalty)
        except EmptyInput:
            return OutputLine("")
        except InvalidInput as error:
            raise type(error)(f"Line {segment.number}: {error.message}") from None
        return OutputLine("", score=result.score, words=of_sentences([result]))

    def _line(self, source: str, translation: Translation) -> OutputLine:
        """Join the sentences of a line: one score over all tokens, of both legs if there are two."""
        pivot = translation.pivot
        sentences = [*(pivot.sentences if pivot else ()), *translation.sentences]
        logprobs = [value for sentence in sentences for value in sentence.token_logprobs]
        score = normalised_score(logprobs, self.opened.length_penalty) if logprobs else 0.0
        return OutputLine(
            translation.text,
            source,
            translation.alternatives,
            score,
            of_translation(translation),
            translation.qualities,
            translation.quality,
        )
