"""The course of long runs: what was trained when, and development BLEU over the target tokens seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from training.experiments.curves import token_curves
from training.experiments.history import Point, read_history, read_times
from training.recipe import Recipe
from training.runs.folder import RunFolder
from training.runs.stages import Stage, load_stages
from training.tables import markdown

LONGEST_INTERVAL = 1800
"""Seconds between two lines of the log; a longer interval is a pause, which does not count as training."""

HEADINGS = ("run", "updates", "trained on", "million target tokens", "hours", "precision", "code", "changed keys")


class ProgressError(ValueError):
    """A folder has no run to show."""


@dataclass(frozen=True, slots=True)
class Course:
    """One run: its name, its stages as rows of a table, and development BLEU by update."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    bleu: tuple[Point, ...]
    tokens: int  # of an update


def course_of(folder: RunFolder) -> Course:
    """Return the course of a run; tokens are its updates times the recipe's budget of tokens for an update."""
    if not folder.log.exists():
        raise ProgressError(f"{folder.path}: there is no log of a training run (train.log); run `train` first")
    recipe = folder.load_recipe()
    tokens = tokens_of_update(recipe)
    times = read_times(folder.log)
    last = max(times, default=0)
    rows = tuple(
        (recipe.name, *_row(stage, min(stage["to_update"] or last, last), tokens, times))
        for stage in _joined(load_stages(folder.stages))
    )
    return Course(recipe.name, rows, tuple(read_history(folder.log).get("dev_bleu", [])), tokens)


def tokens_of_update(recipe: Recipe) -> int:
    """Return the most target tokens of one update of one process."""
    return recipe.optimisation.batch_tokens * recipe.optimisation.accumulate


def progress_table(courses: Sequence[Course]) -> str:
    """Return the stages of all runs as a Markdown table."""
    return markdown(HEADINGS, (row for course in courses for row in course.rows)) + "\n"


def progress_figure(courses: Sequence[Course]) -> str:
    """Return development BLEU over millions of target tokens as SVG, one line for each run."""
    return token_curves({course.name: (course.tokens, course.bleu) for course in courses})


def _joined(stages: Sequence[Stage]) -> list[Stage]:
    """Return the stages; those that only resumed the one before, with the same code and recipe, are part of it."""
    joined: list[Stage] = []
    for stage in stages:
        same = joined and all(stage[key] == joined[-1][key] for key in ("precision", "git_revision"))
        if same and not stage["changed"]:
            joined[-1] = {**joined[-1], "to_update": stage["to_update"]}
        else:
            joined.append(stage)
    return joined


def _row(stage: Stage, last: int, tokens: int, times: Mapping[int, datetime]) -> Iterator[str]:
    first = stage["from_update"]
    own = [time for update, time in sorted(times.items()) if first < update <= last]
    days = sorted({time.date() for time in own})
    yield f"{first:,}–{last:,}"
    yield " to ".join(map(str, [days[0], days[-1]] if len(days) > 1 else days))
    yield f"{(last - first) * tokens / 1e6:.1f}"
    yield _hours(own)
    yield stage["precision"]
    yield stage["git_revision"][:7]
    yield ", ".join(f"`{key}`" for key in stage["changed"]) or "–"


def _hours(times: Sequence[datetime]) -> str:
    """Return the hours of a stage; its first interval, which the log does not have, counts like the mean."""
    seconds = [(end - begin).total_seconds() for begin, end in pairwise(times)]
    trained = [each for each in seconds if each <= LONGEST_INTERVAL]
    return f"{sum(trained) / len(trained) * len(times) / 3600:.1f}" if trained else "–"
