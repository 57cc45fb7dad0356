"""Pictures hold every label where a reader expects it: no empty boxes, nothing cut, Arabic from right to left."""

import io
import unicodedata
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest
import vl_convert
from PIL import Image

from service.figures.figure import single_figure
from service.figures.labels import labels
from service.figures.rasteriser import drawable
from service.figures.renderer import FigureRenderer
from service.figures.vega_lite import specification
from tests.figures.maps import make_map

SVG = "{http://www.w3.org/2000/svg}"
MISSING = "\U0010fffd"  # no font has it: an empty box
FONT_PACKAGES = "fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji"


def skip_without_font(letter: str) -> None:
    if vl_convert.svg_to_png(svg_of(letter)) == vl_convert.svg_to_png(svg_of(MISSING)):
        pytest.skip(f"this machine has no font with {letter} (Debian: {FONT_PACKAGES})")


def svg_of(*texts: str) -> str:
    """Return an SVG with a line for each text."""
    lines = "".join(
        f'<text x="4" y="{24 + 30 * at}" font-size="20px" font-family="\'Liberation Sans\'">{text}</text>'
        for at, text in enumerate(texts)
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="{30 * len(texts) + 10}">{lines}</svg>'


def rasterised(svg: str) -> npt.NDArray[np.uint8]:
    """Return the pixels of an SVG as grey values, black on white."""
    picture = Image.open(io.BytesIO(vl_convert.svg_to_png(drawable(svg)))).convert("RGBA")
    return np.asarray(Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("L"))


def ink(line: npt.NDArray[np.uint8]) -> float:
    return float((255 - line.astype(float)).sum())


@pytest.mark.parametrize("foreign", ["世界", "❤\ufe0f", "👋", "🇫🇷", "👍🏽", "👩\u200d👩\u200d👧"], ids=ascii)
@pytest.mark.parametrize("main", ["office", "e\u0301te\u0301", "fluff"])
def test_no_box_stands_for_what_the_main_font_lacks(main: str, foreign: str) -> None:
    """Beside a ligature or a combining mark, which the rasteriser by itself answers with boxes."""
    skip_without_font(foreign[0])
    drawn = rasterised(svg_of(f"{main} {foreign}")).tobytes()
    main = unicodedata.normalize("NFC", main)
    assert drawn not in [rasterised(svg_of(f"{main} {MISSING * boxes}")).tobytes() for boxes in range(5)]


def test_what_one_font_can_draw_is_left_as_it_is() -> None:
    for text in ("office", "e\u0301te\u0301", "❤\ufe0f", "👩\u200d👩\u200d👧", "🇫🇷", "قال لا"):
        assert drawable(svg_of(text)) == svg_of(text)


async def test_hostile_attributes_are_not_taken_for_text(renderer: FigureRenderer) -> None:
    """The description of a picture stands in an attribute; a `>` in it must not let text be changed there."""
    words = ["a>b👋fi", "<c>", "👋 > 世界"]
    assert (await renderer.draw(specification(single_figure(make_map(words, words))), "png")).startswith(b"\x89PNG")


SENTENCES = {
    "fr": ("I lost my dog .", "J'ai perdu mon chien ."),
    "de": ("I lost my dog .", "Ich habe meinen Hund verloren ."),
    "ar": ("I lost my dog .", "فقدت كلبي مساء أمس ."),
    "zh": ("I lost my dog .", "我 丢了 我的 狗 。"),
    "long": ("Donaudampfschifffahrtsgesellschaft", "anticonstitutionnellement and a label of forty characters"),
}


@pytest.mark.parametrize("view", ["heatmap", "lines"])
@pytest.mark.parametrize("language", SENTENCES)
async def test_labels_are_whole_and_inside_the_picture(renderer: FigureRenderer, language: str, view: Any) -> None:
    source, target = SENTENCES[language]
    found = make_map(source.split(), target.split())
    spec = specification(single_figure(found, view))
    root = ElementTree.fromstring(await renderer.draw(spec, "svg"))
    shown = ["".join(item.itertext()) for item in root.iter(f"{SVG}text")]
    assert {*labels(found.source_tokens), *labels(found.target_tokens)} <= set(shown)
    png = Image.open(io.BytesIO(await renderer.draw(spec, "png"))).convert("L")
    grey = np.asarray(png).astype(int)
    background = grey[0, 0]
    edges = np.concatenate([grey[:2].ravel(), grey[-2:].ravel(), grey[:, :2].ravel(), grey[:, -2:].ravel()])
    assert (edges == background).all(), "something is cut at an edge"


def test_emoji_are_coloured() -> None:
    skip_without_font("👋")
    png = vl_convert.svg_to_png(drawable(svg_of("office 👋")))
    assert np.asarray(Image.open(io.BytesIO(png)).convert("RGB").convert("HSV"))[..., 1].max() > 100


def test_arabic_is_written_from_right_to_left_and_joined() -> None:
    """The first letter of the word stands at its right, in its joined form."""
    word, reordered = rasterised(svg_of("بيت")), rasterised(svg_of("\u202dبيت\u202c"))
    assert word.tobytes() != reordered.tobytes()
    separate = rasterised(svg_of("ب ي ت"))
    widths = [np.flatnonzero((line < 128).any(axis=0)) for line in (word, separate)]
    assert np.ptp(widths[0]) < np.ptp(widths[1]) * 0.9


@pytest.mark.parametrize("letters", ["aéß", "лиж", "αλπ", "我喜欢", "بثع", "שעל"], ids=ascii)
def test_letters_of_each_script_are_drawn_and_differ(letters: str) -> None:
    """A missing glyph is the same box for every letter."""
    skip_without_font(letters[0])
    drawn = [rasterised(svg_of(letter)) for letter in letters]
    assert all(ink(picture) > 0 for picture in drawn)
    assert all(first.tobytes() != second.tobytes() for first, second in combinations(drawn, 2))
