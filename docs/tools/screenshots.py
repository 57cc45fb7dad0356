"""Make the pictures of docs/images from a running server: `python docs/tools/screenshots.py URL [--only NAME…]`."""

import argparse
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

TIMEOUT = 300_000  # milliseconds; also for a machine that does something else meanwhile
TEXT = "My sister never told me why she left the house so early."
SHORT = "He does not like red wine."
WORDS = "I lost my dog yesterday."
POLITE = "Can you help me find my keys?"
DOUBT = (
    "My sister lives in a small house near the river. The whip's filibuster flummoxed the quorum's hapless "
    "backbenchers. We visit her every summer, and the children swim until it is dark."
)
SPANISH = "Mañana por la tarde me gustaría ir al cine con mi hermana pequeña."
LONG = (
    "When I was a child, we lived in a small house near the river, and my brother and I used to swim in it "
    "every summer until it was dark."
)
LONG_TARGET = (
    "Quand j'étais enfant, nous vivions dans une petite maison près de la rivière, et mon frère et moi y nagions "
    "chaque été jusqu'à la nuit."
)
MODEL = "transformer-en-fr"
PAIR = {"source": "en", "target": "fr", "model": MODEL}
GRAMMAR = "The dog sees the cow."  # the models of the gallery know nothing else
KINDS = "gallery-rnn,gallery-rnn-guided-alignment,gallery-transformer-small,gallery-transformer-small-positions-none"
NOTE = b"Dear all,\n\nThe meeting is on Monday at 9.\n\nPlease bring the signed letter.\n"
FIGURES: dict[str, dict[str, str]] = {
    "heatmap": {"text": TEXT},
    "lines": {"text": TEXT, "view": "lines", "tokens": "word", "theme": "dark"},
    "heads": {"text": WORDS, "layer": "all", "head": "all"},
    "encoder": {"text": SHORT, "kind": "encoder", "layer": "5", "head": "all"},
    "compare": {"text": SHORT, "view": "compare", "tokens": "word"},
    "contrast": {"text": WORDS, "view": "contrast", "target_text": "J'ai perdu mon chat hier."},
    "long": {"text": LONG, "target_text": LONG_TARGET},
    "scripts": {
        "text": "He said <b>hello</b> 👋, then مرحبا and 你好.",
        "target_text": "Il a dit שלום, 世界 & 👋.",
        "tokens": "word",
    },
}

# The picture of a tab: the fields of its address, what it must show first, and the parts that are in the picture.
TABS: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "steps": ({"text": SHORT, "model": MODEL}, "#step-tree g", ("#step-target", "#step-parts", "#step-scroll")),
    "heads": ({"text": SHORT, "model": MODEL}, "#head-to button", ("#heads",)),
    "models": ({"text": GRAMMAR, "models": KINDS}, "#figure svg", ("#gallery", "#figure")),
}


def small(png: bytes, colours: int = 256) -> bytes:
    """Return the same picture in fewer bytes."""
    file = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    picture.save(file, "PNG", optimize=True)
    return file.getvalue()


def translated(page: Page) -> None:
    """Wait for the translation, and point at a word of it."""
    expect(page.locator("#status")).to_contain_text("Translated by")
    page.locator("#translation .word").nth(2).hover()


def doubted(page: Page) -> None:
    """Move to the number of the doubtful sentence."""
    page.locator("#doubts button").first.focus()


def opened(page: Page) -> None:
    """Open the alternatives at a word."""
    page.locator("#translation .word").first.click()
    expect(page.locator("#alternatives-list button").first).to_be_focused()


def filed(page: Page) -> None:
    """Translate a file."""
    page.locator("#file").set_input_files({"name": "meeting.txt", "mimeType": "text/plain", "buffer": NOTE})
    expect(page.locator("#files-list a")).to_be_visible()


def drawn(page: Page) -> None:
    """Wait for a figure, and point at a word of the translation."""
    expect(page.locator("#figure svg")).to_be_visible()
    expect(page.locator("#figure")).not_to_have_class("figure busy")
    page.locator("#translation .word").nth(2).hover()


def typed(page: Page) -> None:
    """Type a text, and leave the cursor in its last word."""
    expect(page.locator("#source option").nth(1)).to_be_attached()
    page.locator("#text").click()
    page.locator("#text").press_sequentially(SHORT)
    expect(page.locator("#translation .word").nth(4)).to_be_visible()
    page.locator("#text").press("ArrowLeft")


# The end of a picture's name, and its window.
SIZES: dict[str, dict[str, Any]] = {
    "": {"viewport": {"width": 1440, "height": 900}},
    "-1024": {"viewport": {"width": 1024, "height": 768}},
    "-390": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}
LIGHT: dict[str, Any] = {}
DARK: dict[str, Any] = {"color_scheme": "dark", "locale": "fr-FR"}
# A state of the page: the browser, the fields of its address, and what is done before the picture is taken.
STATES: dict[str, tuple[dict[str, Any], dict[str, str], Callable[[Page], None]]] = {
    "page": (LIGHT, {"text": TEXT, "view": "heatmap"}, drawn),
    "page-empty": (LIGHT, {}, lambda page: page.locator("#examples-list button").first.wait_for()),
    "page-words": (LIGHT, {"text": WORDS}, translated),
    "page-doubt": (LIGHT, {"text": DOUBT}, doubted),
    "page-alternatives": (LIGHT, {"text": POLITE}, opened),
    "page-file": (LIGHT, {}, filed),
    "page-error": (LIGHT, {"text": SPANISH, "source": "auto"}, lambda page: page.locator("#error").wait_for()),
    "page-typed": (LIGHT, {}, typed),
    "page-dark": (DARK, {"text": SHORT, "view": "compare", "tokens": "word"}, drawn),
}


def figure(url: str, name: str) -> bytes:
    """Return a figure that the server draws."""
    params = {**PAIR, "format": "png", "scale": "1.25", **FIGURES[name]}
    return httpx.get(f"{url}/attention", params=params, timeout=TIMEOUT / 1000).raise_for_status().content


def shot(browser: Browser, url: str, name: str, size: str) -> bytes:
    """Return a picture of a window with a state of the page."""
    context, fields, reach = STATES[name]
    if "source" not in fields and "text" in fields:  # the time on the page shall not be that of opening a model
        warm = {"q": fields["text"], "source": "en", "target": "fr"}
        httpx.post(f"{url}/translate", json=warm, timeout=TIMEOUT / 1000).raise_for_status()
    page = browser.new_context(device_scale_factor=1, **SIZES[size], **context).new_page()
    page.set_default_timeout(TIMEOUT)
    page.goto(f"{url}/#{urlencode(fields)}")
    reach(page)
    picture = page.screenshot()
    page.context.close()
    return picture


def tab(browser: Browser, url: str, view: str) -> bytes:
    """Return a picture of the parts of one tab."""
    fields, ready, parts = TABS[view]
    page = browser.new_context(viewport={"width": 1000, "height": 900}).new_page()
    page.set_default_timeout(TIMEOUT)
    page.goto(f"{url}/#{urlencode({'source': 'en', 'target': 'fr', 'view': view, **fields})}")
    expect(page.locator(ready).first).to_be_visible()
    if view == "steps":
        for _ in range(3):
            page.get_by_role("slider", name="Step").press("ArrowRight")
    elif view == "heads":
        page.locator("#head-from button").nth(3).click()  # it stays followed while the page scrolls
    page.evaluate("scrollTo(0, 0)")  # boxes are measured from the window, the clip from the page
    boxes = [box for part in parts if (box := page.locator(part).bounding_box())]
    left, top = min(box["x"] for box in boxes), min(box["y"] for box in boxes)
    right, bottom = max(box["x"] + box["width"] for box in boxes), max(box["y"] + box["height"] for box in boxes)
    picture = page.screenshot(full_page=True, clip={"x": left, "y": top, "width": right - left, "height": bottom - top})
    return small(picture, 64)


def main(url: str, folder: Path, only: list[str]) -> None:
    """Make all pictures, or some. The server must offer the gallery (TRANSLUCENT_GALLERY=true)."""
    expect.set_options(timeout=TIMEOUT)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        makers: dict[str, Callable[[], bytes]] = {
            **{f"figure-{name}": partial(figure, url, name) for name in FIGURES},
            **{f"{name}{size}": partial(shot, browser, url, name, size) for name in STATES for size in SIZES},
            **{f"page-{view}": partial(tab, browser, url, view) for view in TABS},
        }
        for name in only or makers:
            (folder / f"{name}.png").write_bytes(small(makers[name]()))
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="address of the server, such as http://127.0.0.1:8000")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/images"))
    parser.add_argument("--only", nargs="+", default=[], help="names of pictures, such as page-dark")
    options = parser.parse_args()
    main(options.url.rstrip("/"), options.folder, options.only)
