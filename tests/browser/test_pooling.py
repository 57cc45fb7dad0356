"""The book's page on kernel regression, in Chromium: it draws what the slider asks for."""

import math
import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect

import service
from training.pooling import KERNELS, make_examples, pooling_weights

pytestmark = pytest.mark.slow

SCRIPT = Path(service.__file__).parent / "web" / "pooling.js"
OPACITIES = "() => [...document.querySelectorAll('#heatmap rect')].map((cell) => cell.getAttribute('fill-opacity'))"


def test_the_page_has_the_examples_of_the_book() -> None:
    pairs = re.findall(r"\[(-?[0-9.]+), (-?[0-9.]+)\]", SCRIPT.read_text("utf-8"))
    written = torch.tensor([[float(number) for number in pair] for pair in pairs], dtype=torch.float64)
    torch.testing.assert_close(written, torch.stack(make_examples(), dim=1), atol=0.0051, rtol=0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_and_a_width_are_drawn_with_the_weights_of_their_formula(page: Page, url: str, kernel: str) -> None:
    requests: list[str] = []
    page.goto(f"{url}/web/pooling.html")
    expect(page.locator("#value")).to_have_text("0.33")
    page.on("request", lambda request: requests.append(request.url))
    page.get_by_label("Width").fill("0.5")
    page.get_by_label("Kernel").select_option(kernel)
    assert page.get_by_label("Width").is_disabled() == (kernel == "average")
    keys = torch.tensor([round(key, 2) for key in make_examples().keys.tolist()], dtype=torch.float64)
    weights = pooling_weights(torch.arange(50, dtype=torch.float64) / 10, keys, kernel, math.exp(0.5))
    drawn = torch.tensor([float(opacity) for opacity in page.evaluate(OPACITIES)], dtype=torch.float64)
    torch.testing.assert_close(drawn.reshape(50, 50), (2 * weights).clamp(max=1), atol=6e-4, rtol=0)
    assert not requests, "the browser computes it"


def test_a_query_without_a_key_in_its_window_has_no_prediction(page: Page, url: str) -> None:
    page.goto(f"{url}/web/pooling.html")
    page.get_by_label("Kernel").select_option("boxcar")
    page.get_by_label("Width").fill("-2.5")
    expect(page.locator("#heatmap rect")).not_to_have_count(50 * 50)
    path = page.locator("#fit .prediction").get_attribute("d")
    assert path is not None
    assert path.count("M") > 1, "the curve is interrupted"
