"""Make the pictures of docs/images from a running server: `python docs/tools/screenshots.py URL [FOLDER]`."""

import argparse
import io
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

TEXT = "My sister never told me why she left the house so early."
SHORT = "He does not like red wine."
BOTH = "I would have called you if I had known."  # which two models translate differently
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
GERMAN = "Ich habe gestern meine Schlüssel verloren."
FIGURES: dict[str, dict[str, str]] = {
    "heatmap": {"text": TEXT},
    "lines": {"text": TEXT, "view": "lines", "tokens": "word", "theme": "dark"},
    "heads": {"text": "I lost my dog yesterday.", "layer": "all", "head": "all"},
    "encoder": {"text": SHORT, "kind": "encoder", "layer": "5", "head": "all"},
    "compare": {"text": SHORT, "view": "compare", "tokens": "word"},
    "contrast": {"text": "I lost my dog yesterday.", "view": "contrast", "target_text": "J'ai perdu mon chat hier."},
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


def figures(url: str) -> dict[str, bytes]:
    """Return the figures that the server draws."""
    found = {}
    for name, fields in FIGURES.items():
        answer = httpx.get(f"{url}/attention", params={**PAIR, "format": "png", "scale": "1.25", **fields}, timeout=120)
        answer.raise_for_status()
        found[f"figure-{name}"] = answer.content
    return found


def shot(browser: Browser, url: str, fields: dict[str, str], **context: Any) -> bytes:
    """Return a screenshot of the page with a view, and the pointer on a word."""
    page = browser.new_context(device_scale_factor=1, **context).new_page()
    page.goto(f"{url}/#{urlencode(fields)}")
    expect(page.locator("#figure svg")).to_be_visible(timeout=60_000)
    page.locator("#target-words .word").nth(2).hover()
    return page.screenshot(full_page=True)


def tab(browser: Browser, url: str, view: str) -> bytes:
    """Return a picture of the parts of one tab."""
    fields, ready, parts = TABS[view]
    page = browser.new_context(viewport={"width": 1000, "height": 900}).new_page()
    page.goto(f"{url}/#{urlencode({'source': 'en', 'target': 'fr', 'view': view, **fields})}")
    expect(page.locator(ready).first).to_be_visible(timeout=60_000)
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


def main(url: str, folder: Path) -> None:
    """Make all pictures. The server must offer the gallery (TRANSLUCENT_GALLERY=true)."""
    pictures = figures(url)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        pictures["page"] = shot(browser, url, {"text": BOTH, "both": "1"}, viewport={"width": 1180, "height": 900})
        dark = {"color_scheme": "dark", "viewport": {"width": 1180, "height": 900}, "locale": "fr-FR"}
        pictures["page-dark"] = shot(browser, url, {"text": SHORT, "view": "compare", "tokens": "word"}, **dark)
        phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
        german = {"text": GERMAN, "source": "auto", "target": "en", "view": "lines"}
        pictures["page-phone"] = shot(browser, url, german, **phone, locale="de-DE")
        pictures |= {f"page-{view}": tab(browser, url, view) for view in TABS}
        browser.close()
    folder.mkdir(parents=True, exist_ok=True)
    for name, png in pictures.items():
        (folder / f"{name}.png").write_bytes(small(png))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="address of the server, such as http://127.0.0.1:8000")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/images"))
    options = parser.parse_args()
    main(options.url.rstrip("/"), options.folder)
