"""GET /pooling: values by their formulas, in every form."""

import csv
import io
import math
from typing import Any

import numpy as np
import pytest

from tests.support.api_client import Client


async def pooled(client: Client, **fields: object) -> dict[str, Any]:
    response = await client.get("/pooling", params={name: str(value) for name, value in fields.items()})
    assert response.status_code == 200, response.text
    content: dict[str, Any] = response.json()
    return content


def closeness(kernel: str, u: float) -> float:
    """Return a kernel by its formula, up to a factor."""
    return {
        "average": lambda: 1.0,
        "gaussian": lambda: math.exp(-(u**2) / 2),
        "boxcar": lambda: float(abs(u) <= 1),
        "epanechnikov": lambda: max(0.0, 1 - u**2),
        "triangular": lambda: max(0.0, 1 - abs(u)),
    }[kernel]()


@pytest.mark.parametrize("kernel", ["average", "gaussian", "boxcar", "epanechnikov", "triangular"])
async def test_weights_and_fit_equal_the_closed_form(client: Client, kernel: str) -> None:
    found = await pooled(client, kernel=kernel, width=0.6, x="0.3,1.7,4.9")
    for row, x in enumerate([0.3, 1.7, 4.9]):
        terms = [closeness(kernel, (x - key) / 0.6) for key in found["keys"]]
        expected = [term / sum(terms) for term in terms]
        np.testing.assert_allclose(found["weights"][row], expected, atol=1e-6)
        fit = sum(weight * value for weight, value in zip(expected, found["values"], strict=True))
        assert found["fit"][row] == pytest.approx(fit, abs=1e-6)
        assert found["truth"][row] == pytest.approx(2 * math.sin(x) + x**0.8, abs=1e-6)


async def test_the_learned_width_is_the_default_and_is_named(client: Client) -> None:
    found = await pooled(client)
    assert found["learned"] is True
    assert len(found["queries"]) == len(found["keys"]) == 50
    again = await pooled(client, width=found["width"])
    assert again["learned"] is False
    assert again["weights"] == found["weights"]


async def test_a_query_without_a_key_in_its_window_is_unknown(client: Client) -> None:
    found = await pooled(client, kernel="boxcar", width=0.1, x="-100,2")
    assert found["fit"][0] is None
    assert set(found["weights"][0]) == {None}
    assert found["fit"][1] is not None
    picture = await client.get("/pooling", params={"kernel": "boxcar", "width": 0.1, "x": "-100,2", "format": "vega"})
    assert "dashed" in picture.text


async def test_files_hold_the_same_numbers(client: Client) -> None:
    found = await pooled(client, width=0.5, x="1,2")
    rows = list(csv.DictReader(io.StringIO((await client.get("/pooling?width=0.5&x=1,2&format=csv")).text)))
    assert [float(row["weight"]) for row in rows[:50]] == pytest.approx(found["weights"][0], abs=1e-6)
    arrays = np.load(io.BytesIO((await client.get("/pooling?width=0.5&x=1,2&format=npz")).content))
    np.testing.assert_allclose(arrays["weights"], found["weights"], atol=1e-8)
    np.testing.assert_allclose(arrays["weights"] @ arrays["values"], arrays["fit"], atol=1e-12)


@pytest.mark.parametrize("view", ["heatmap", "fit"])
async def test_pictures_are_drawn(client: Client, view: str) -> None:
    asked = {"view": view, "x": "0,1,2,3", "format": "svg"}
    response = await client.get("/pooling", params=asked)
    assert response.headers["content-type"] == "image/svg+xml"
    assert "gaussian" in response.text
    known = {"If-None-Match": response.headers["etag"]}
    again = await client.get("/pooling", params=asked, headers=known)
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"kernel": "cosine"}, "kernel"),
        ({"width": "0"}, "width"),
        ({"width": "wide"}, "learned"),
        ({"x": "1;2"}, "commas"),
        ({"x": ",".join("1" * 201)}, "200"),
        ({"format": "pharaoh"}, "format"),
    ],
)
async def test_bad_input_is_answered_with_what_is_accepted(client: Client, fields: dict[str, str], hint: str) -> None:
    response = await client.get("/pooling", params=fields)
    assert response.status_code == 400
    assert hint in response.json()["error"]
