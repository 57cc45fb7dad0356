"""The book's page on kernel regression, in Chromium: the server draws what the slider asks for."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.polling import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DRAWN = "() => [...document.images].filter((one) => one.src.includes('/pooling?') && one.naturalWidth > 100).length"


def test_a_kernel_and_a_width_are_drawn(page: Page, url: str) -> None:
    page.goto(f"{url}/web/pooling.html")
    expect(page.locator("#value")).to_have_text("0.33")
    wait_until(lambda: page.evaluate(DRAWN) == 2)
    with page.expect_response("**/pooling?kernel=gaussian&width=0.08&view=fit**") as answer:
        page.get_by_label("Width").fill("-2.5")
    assert answer.value.ok
    with page.expect_response("**/pooling?kernel=boxcar&width=0.08&view=heatmap**"):
        page.get_by_label("Kernel").select_option("boxcar")
    wait_until(lambda: page.evaluate(DRAWN) == 2)
    page.get_by_label("Kernel").select_option("average")
    expect(page.get_by_label("Width")).to_be_disabled()
    with page.expect_response("**/pooling?kernel=average**theme=dark"):
        page.get_by_role("button", name="Dark colours").click()
