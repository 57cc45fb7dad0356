"""A made-up world: pictures of two coloured shapes, and the one caption that is true of each."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from service.bundle.vocabulary import SPECIAL_TOKENS

SIZE, GRID = 64, 8
"""Pixels of a side, and cells of a side of the grid that attention looks at."""
CELL = SIZE // GRID
COLOURS = {"red": (220, 40, 40), "green": (40, 160, 60), "blue": (50, 80, 220), "yellow": (235, 200, 40)}
FORMS = ("square", "circle", "triangle")
WORDS = (*SPECIAL_TOKENS, "a", *COLOURS, *FORMS, "left", "of", "above")
KINDS = tuple((colour, form) for colour in COLOURS for form in FORMS)

Mask = npt.NDArray[np.bool_]


class Scene(NamedTuple):
    """A picture and what it shows."""

    pixels: npt.NDArray[np.uint8]
    """[SIZE, SIZE, 3]."""
    caption: list[str]
    """Names the left or upper shape first, so that one caption is right."""
    masks: tuple[Mask, Mask]
    """The pixels of the shapes [SIZE, SIZE], in the caption's order."""

    @property
    def named(self) -> Iterator[tuple[int, Mask]]:
        """Yield each place of the caption that has a colour or a form, with the shape that it names."""
        seen = -1
        for place, word in enumerate(self.caption):
            seen += word == "a"
            if word in COLOURS or word in FORMS:
                yield place, self.masks[seen]


def held_out(first: int, second: int) -> bool:
    """Return whether training never shows these two of KINDS together; a fifth of all pairs."""
    return (first + second) % 5 == 0


def scenes(seed: int, count: int, held_out_pairs: bool = False) -> list[Scene]:
    """Return pictures of pairs that training shows, or of those that it never shows; the same for the same seed."""
    random = np.random.default_rng((seed, int(held_out_pairs)))
    return [_scene(random, held_out_pairs) for _ in range(count)]


def _scene(random: np.random.Generator, positive: bool) -> Scene:
    while True:
        first, second = random.choice(len(KINDS), 2, replace=False).tolist()
        if held_out(first, second) == positive:
            break
    near = int(random.integers(10, SIZE - 36))  # of the first shape's centre, along the axis of the relation
    along = near, int(random.integers(near + 24, SIZE - 10))
    middle = random.integers(15, SIZE - 15)
    across = (middle + random.integers(-5, 6, 2)).tolist()
    left = bool(random.integers(2))
    masks = [
        _mask(KINDS[kind][1], (b, a) if left else (a, b), int(random.integers(6, 10)))
        for kind, a, b in zip((first, second), along, across, strict=True)
    ]
    pixels = np.full((SIZE, SIZE, 3), 235.0) + random.normal(0, 8, (SIZE, SIZE, 3))
    for kind, mask in zip((first, second), masks, strict=True):
        shade = np.array(COLOURS[KINDS[kind][0]]) + random.normal(0, 15, 3)
        pixels[mask] = shade + random.normal(0, 8, (mask.sum(), 3))
    relation = ["left", "of"] if left else ["above"]
    caption = ["a", *KINDS[first], *relation, "a", *KINDS[second]]
    return Scene(pixels.clip(0, 255).astype(np.uint8), caption, (masks[0], masks[1]))


def _mask(form: str, centre: tuple[int, int], half: int) -> Mask:
    """Return the pixels of a form around (row, column)."""
    down, right = np.mgrid[:SIZE, :SIZE] - np.array(centre)[:, None, None]
    if form == "circle":
        inside = down**2 + right**2 <= half**2
    elif form == "square":
        inside = np.maximum(abs(down), abs(right)) < half
    else:
        inside = (abs(down) <= half) & (2 * abs(right) <= down + half)
    return np.asarray(inside, np.bool_)
