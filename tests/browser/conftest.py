"""A real server, and real Chromium that must not complain and must not ask any other server for anything."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.support.page_requests import Bodies, posted
from tests.support.polling import PATIENCE
from tests.support.server import running

expect.set_options(timeout=1000 * PATIENCE)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("browser")


@pytest.fixture(scope="package")
def url() -> Iterator[str]:
    with running("-m", "tests.browser.serve_gallery") as server:
        yield server.url


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium for this folder: Playwright's event loop runs until it is left, and no other may run meanwhile."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is missing: apt-get install chromium")
        pytest.skip("Chromium is not installed (on Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """Yield a page; the test fails if the console shows a warning or an error, or if the page contacts another host."""
    complaints: list[str] = []
    strangers: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def asked(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            strangers.append(request.url)

    context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    context.set_default_timeout(1000 * PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    page = context.new_page()
    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", asked)
    yield page
    context.close()
    assert complaints == []
    assert strangers == []


@pytest.fixture
def bodies(page: Page, url: str) -> Bodies:
    """Open the page for English into French, and return what it posts from then on."""
    page.goto(f"{url}/#source=en&target=fr")
    expect(page.locator("#model")).to_contain_text("Transformer")
    return posted(page)
