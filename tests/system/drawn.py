"""Checks for the picture of any sentence: its numbers, its words, its bytes."""

import re
import struct
from typing import Any
from xml.etree import ElementTree

import httpx
import numpy as np
import numpy.typing as npt

SVG = "{http://www.w3.org/2000/svg}"
Element = ElementTree.Element


def check_picture(client: httpx.Client, fields: dict[str, str]) -> None:
    """Compare the specification and the SVG of a sentence with its JSON; the same request gives the same bytes."""
    found = client.get("/attention", params=fields).raise_for_status().json()
    weights = np.asarray(found["weights"], float)  # null becomes NaN
    spec = client.get("/attention", params={**fields, "format": "vega"}).raise_for_status().json()
    np.testing.assert_array_equal(_data(spec, weights.shape), weights)

    first, second = (client.get("/attention", params={**fields, "format": "svg"}).raise_for_status() for _ in range(2))
    assert first.content == second.content
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get("/attention", params={**fields, "format": "svg"}, headers=known).status_code == 304
    picture = ElementTree.fromstring(first.content)
    drawn = {"".join(item.itertext()) for item in picture.iter(f"{SVG}text")}
    texts = {re.sub(r" \d+/\d+$", "", text) for text in drawn}  # bytes of one character are numbered
    tokens = [*found["source"]["tokens"], *found["target"]["tokens"]]
    assert {token.get("special") or token["text"].strip() or token["piece"] for token in tokens} <= texts
    _check_colours(picture, weights)


def check_scale(client: httpx.Client, fields: dict[str, str]) -> None:
    """Check that the sides of a PNG are those of the SVG, times its scale."""
    svg = ElementTree.fromstring(client.get("/attention", params={**fields, "format": "svg"}).content)
    for scale in (0.5, 1.0, 2.0):
        png = client.get("/attention", params={**fields, "format": "png", "scale": str(scale)}).raise_for_status()
        for side, name in zip(struct.unpack(">II", png.content[16:24]), ("width", "height"), strict=True):
            assert abs(side - scale * float(svg.attrib[name])) <= 1


def _data(spec: dict[str, Any], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    drawn = np.full(shape, np.nan)
    for record in spec["layer"][0]["data"]["values"]:
        drawn[record["t"], record["s"]] = record["w"]
    return drawn


def _check_colours(picture: Element, weights: npt.NDArray[np.float64]) -> None:
    """Every weight is a cell, and of two weights the larger one is never lighter."""
    cells = next(item for item in picture.iter(f"{SVG}g") if item.get("class", "").startswith("mark-rect"))
    colours = [cell.attrib["fill"].removeprefix("rgb(").rstrip(")").split(",") for cell in cells.iter(f"{SVG}path")]
    lightness = np.asarray(colours, float) @ [0.2126, 0.7152, 0.0722]
    known = weights[~np.isnan(weights)]
    assert lightness.size == known.size
    assert np.all(np.diff(lightness[np.argsort(known, kind="stable")]) <= 1.0)
