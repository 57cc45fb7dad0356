"""What is measured and outlined here looks as the drawing library alone would have drawn it."""

from __future__ import annotations

import io
import re
from html import unescape
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageChops

from service.figures import ruler
from service.figures.child import Studio
from service.figures.content import contrast, one
from service.figures.fonts import Fonts, Rest
from service.figures.lettering import Lettering
from service.figures.specification import specification
from service.figures.theme import FONT, FONT_RIGHT_TO_LEFT
from tests.figures.maps import make_map

MIXED = (
    "Fuchs",
    "Łódź",
    "лиса",
    "αλεπού",
    "我喜欢",
    "ثعلب",
    "שועל",
    "👋",
    "a&b",
    '<"x">',
    "e\u0301té",
    "n’",
    "the",
    "the",
)
SHORT = ("I", "lost", "my", "dog", ".")
SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


@pytest.fixture(scope="module")
def studios(tmp_path_factory: pytest.TempPathFactory) -> tuple[Studio, Studio]:
    """One that measures with our font, and one that leaves everything to the library."""
    quick = Studio(str(tmp_path_factory.mktemp("ruler")))
    assert quick._fonts, "no font of FONT is installed: on Debian apt-get install fonts-liberation"
    return quick, Studio(None)


@pytest.mark.parametrize(
    ("words", "view"), [(MIXED, "heatmap"), (SHORT, "heatmap"), (SHORT, "lines"), (SHORT, "contrast"), (SHORT, "grid")]
)
def test_a_picture_is_the_one_that_the_library_alone_draws(
    studios: tuple[Studio, Studio], words: tuple[str, ...], view: str
) -> None:
    found = make_map(words, words[::-1], shape=(2, 2) if view == "grid" else ())
    figure = contrast(found, found) if view == "contrast" else one(found, "lines" if view == "lines" else "heatmap")
    job = {"spec": specification(figure), "scale": 1.0}
    ours, theirs = (studio.svg(job).decode("utf-8") for studio in studios)
    sizes = [[float(side) for side in SIZE.findall(svg)[0]] for svg in (ours, theirs)]
    text = re.compile(r"<text[^>]*>(.*?)</text>")
    assert [unescape(found) for found in text.findall(ours)] == [unescape(found) for found in text.findall(theirs)]
    assert ruler.FAMILY not in ours
    assert not re.search(ruler.LETTERS, ours)
    if words == MIXED:  # the library draws boxes in the heading, and takes them for its letters' width
        return
    assert np.allclose(sizes[0], sizes[1], atol=3, rtol=0)
    pictures = [Image.open(io.BytesIO(studio.png(job))).convert("L") for studio in studios]
    common = tuple(map(min, *(picture.size for picture in pictures)))
    difference = ImageChops.difference(*(picture.crop((0, 0, *common)) for picture in pictures))
    assert np.asarray(difference).mean() < 6  # 5.6 where it begins a pixel further left


def test_words_of_one_font_are_outlined_and_others_left_to_the_library() -> None:
    fonts = Fonts()
    for text in ("lost", "Łódź", "e\u0301té", "ثعلب", "我喜欢", "→ là-bas", "a ثعلب שועל b"):
        parts = fonts.line(text, FONT_RIGHT_TO_LEFT).parts
        assert parts is not None
        assert not any(isinstance(part, Rest) for part in parts), text
    for text in ("👋", "👩\u200d👧", "❤\ufe0f", "a 👋 b"):
        parts = fonts.line(text, FONT_RIGHT_TO_LEFT).parts
        assert parts is not None
        assert [part.text.strip() for part in parts if isinstance(part, Rest)] == [text.strip("ab ")]
    assert fonts.line("قال 12", FONT_RIGHT_TO_LEFT).parts is None
    assert fonts.line("lost  dog", FONT).width == fonts.line("lost dog", FONT).width
    assert fonts.line("lost", FONT, True).width > fonts.line("lost", FONT).width
    assert fonts.line("AV", FONT).width < fonts.line("A", FONT).width + fonts.line("V", FONT).width  # kerning


def test_stand_ins_are_as_wide_as_their_texts_and_differ() -> None:
    lettering = Lettering(Fonts())
    texts = [f"{number:.2f}" for number in np.arange(0, 1, 0.01)]
    found = [lettering.stand_in(text) for text in texts]
    assert len(set(found)) == len(texts)
    for text, stand_in in zip(texts, found, strict=True):
        wide = sum(ord(letter) - ruler.FIRST for letter in stand_in) / ruler.UNITS
        assert wide == pytest.approx(Fonts().line(text, FONT).width, abs=0.03) if text == texts[0] else wide > 0
        assert lettering.restored(f"<text>{stand_in}</text>") == f"<text>{text}</text>"


def test_letters_of_the_ruler_have_no_end() -> None:
    found = list(islice((ruler.letters(3, variant) for variant in range(100)), 100))
    assert len(set(found)) == 100
    assert "\ue000" not in "".join(found)


def test_a_machine_without_fonts_leaves_texts_to_the_library(tmp_path: Path) -> None:
    assert not Fonts([tmp_path])
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    assert not Fonts([tmp_path])
