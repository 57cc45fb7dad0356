"""`python -m benchmarks.page URL`: time from the last key to the translation on the page, and what the page weighs.

It drives Chromium over a running server. A sentence is translated while it is typed, or pasted; its time ends with the
last change of the translation. Start the server anew before each run: it remembers translations.
"""

import argparse
import json
import statistics
from collections.abc import Callable

from playwright.sync_api import Page, sync_playwright

from benchmarks.corpora import load_corpus

SETTLED = 1_000  # milliseconds without another change
KEY = 80  # milliseconds from key to key, as a quick writer types
WATCH = """
addEventListener("input", () => { window.keyed = performance.now(); }, true);
addEventListener("DOMContentLoaded", () => {
  new MutationObserver(() => { window.changed = performance.now(); })
    .observe(document.getElementById("translation"), { childList: true });
});
"""
WEIGHT = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .reduce((sum, { transferSize }) => sum + transferSize, 0)"""


def milliseconds(page: Page, sentence: str, write: Callable[[str], None]) -> float:
    """Return the time from the last key of a sentence to its translation."""
    page.locator("#text").fill("")
    page.wait_for_timeout(SETTLED)
    write(sentence)
    page.locator("#translation .word").first.wait_for()
    page.wait_for_timeout(SETTLED)
    return float(page.evaluate("window.changed - window.keyed"))


def summary(times: list[float]) -> dict[str, int]:
    """Return the median, the 95th percentile and the largest of some times."""
    return {
        "median": round(statistics.median(times)),
        "p95": round(statistics.quantiles(times, n=20)[-1]),
        "most": round(max(times)),
    }


def main(url: str, count: int) -> None:
    """Print the times in milliseconds, and the bytes over the network until the first translation."""
    sentences = load_corpus("tatoeba", "en-fr", 2 * count).sources
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(WATCH)
        page.goto(url)
        box = page.locator("#text")
        page.locator("#model option").nth(1).wait_for(state="attached")
        milliseconds(page, "The models are warm now.", box.fill)
        found = {
            "kilobytes": round(page.evaluate(WEIGHT) / 1000),
            "typed": summary(
                [
                    milliseconds(page, one, lambda text: box.press_sequentially(text, delay=KEY))
                    for one in sentences[:count]
                ]
            ),
            "pasted": summary([milliseconds(page, one, box.fill) for one in sentences[count:]]),
        }
        browser.close()
    print(json.dumps(found, indent=1))  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="address of a server, such as http://127.0.0.1:8000")
    parser.add_argument("--count", type=int, default=30, help="sentences that are typed, and as many that are pasted")
    options = parser.parse_args()
    main(options.url, options.count)
