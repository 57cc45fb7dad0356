"""Attention as pictures and files, over HTTP."""

import csv
import io
import struct
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

from service.api.app import create_app
from service.api.state import Service
from service.figures.renderer import FigureRenderer
from tests.support.api_client import Client, calling
from tests.support.fake_engine import DummyRegistry

TEXT = {"text": "I lost my dog", "source": "en", "target": "fr"}
DIGEST = "sha256:" + "ab" * 32


@pytest.fixture(scope="module")
def renderer() -> Iterator[FigureRenderer]:
    renderer = FigureRenderer(seconds=60)
    yield renderer
    renderer.close()


@pytest.fixture
async def client(service: Service, renderer: FigureRenderer, registry: DummyRegistry) -> AsyncIterator[Client]:
    for translator in registry.dummies:
        object.__setattr__(translator.info, "digest", DIGEST)
    app = create_app(service)
    app.state.renderer = renderer
    async with calling(app) as client:
        yield client


@pytest.mark.parametrize(
    ("form", "media_type", "begins"),
    [
        ("svg", "image/svg+xml", b"<svg"),
        ("png", "image/png", b"\x89PNG"),
        ("csv", "text/csv; charset=utf-8", b"map,layer"),
        ("npz", "application/x-npz", b"PK"),
        ("vega", "application/vnd.vegalite.v6+json", b'{"$schema"'),
        ("pharaoh", "text/plain; charset=utf-8", b"0-0\n"),
    ],
)
async def test_every_format_has_its_type_stays_the_same_and_need_not_be_sent_twice(
    client: Client, form: str, media_type: str, begins: bytes
) -> None:
    first = await client.get("/attention", params={**TEXT, "format": form})
    assert first.status_code == 200
    assert first.headers["content-type"] == media_type
    assert first.headers["x-content-type-options"] == "nosniff"
    policy = first.headers["content-security-policy"]
    assert "script-src" not in policy
    assert {"default-src 'none'", "sandbox", "frame-ancestors 'self'"} <= set(policy.split("; "))
    assert first.content.startswith(begins)
    again = await client.get("/attention", params={**TEXT, "format": form})
    assert (again.content, again.headers["etag"]) == (first.content, first.headers["etag"])
    known = {"If-None-Match": first.headers["etag"]}
    assert (await client.get("/attention", params={**TEXT, "format": form}, headers=known)).status_code == 304
    posted = await client.post("/attention", json={**TEXT, "format": form})
    assert posted.content == first.content


async def test_an_address_with_a_digest_may_be_kept_for_ever_and_serves_that_model_only(client: Client) -> None:
    named = await client.get("/attention", params={**TEXT, "format": "csv", "digest": DIGEST[:19]})
    assert "immutable" in named.headers["cache-control"]
    plain = await client.get("/attention", params={**TEXT, "format": "csv"})
    assert "must-revalidate" in plain.headers["cache-control"]
    assert named.content == plain.content
    gone = await client.get("/attention", params={**TEXT, "digest": "sha256:" + "cd" * 8})
    assert (gone.status_code, gone.json()["code"]) == (409, "model_changed")


async def test_the_size_of_a_png_follows_scale(client: Client) -> None:
    sizes = []
    for scale in ("1", "3"):
        png = (await client.get("/attention", params={**TEXT, "format": "png", "scale": scale})).content
        sizes.append(struct.unpack(">II", png[16:24]))
    for small, large in zip(*sizes, strict=True):
        assert abs(large - 3 * small) <= 3


async def test_two_models_are_compared_on_the_first_ones_translation(client: Client) -> None:
    body = (await client.get("/attention", params={**TEXT, "view": "compare"})).json()
    assert [found["model"] for found in body["maps"]] == ["transformer-en-fr", "bahdanau-en-fr"]
    assert body["maps"][1]["target"]["text"] == body["maps"][0]["target"]["text"]
    first, second = (np.asarray(found["weights"]) for found in body["maps"])
    np.testing.assert_allclose(body["difference"], first - second, atol=1e-6)
    table = await client.get("/attention", params={**TEXT, "view": "compare", "format": "csv"})
    assert {row["map"] for row in csv.DictReader(io.StringIO(table.text))} == {"transformer-en-fr", "bahdanau-en-fr"}
    svg = await client.get("/attention", params={**TEXT, "view": "compare", "format": "svg"})
    assert "difference" in svg.text
    alone = await client.get("/attention", params={**TEXT, "target": "de", "view": "compare"})
    assert (alone.status_code, "second model" in alone.json()["error"]) == (400, True)


async def test_any_models_are_drawn_on_the_first_ones_translation(client: Client) -> None:
    asked = {**TEXT, "view": "models", "models": "bahdanau-en-fr, transformer-en-fr,bahdanau-en-fr"}
    body = (await client.get("/attention", params=asked)).json()
    names = ["bahdanau-en-fr", "transformer-en-fr", "bahdanau-en-fr"]
    assert [found["model"] for found in body["maps"]] == names
    assert len({found["target"]["text"] for found in body["maps"]}) == 1
    given = (await client.get("/attention", params={**asked, "target_text": "J'ai perdu"})).json()
    assert {found["target"]["text"] for found in given["maps"]} == {"J'ai perdu"}
    charts = (await client.get("/attention", params={**asked, "format": "vega"})).json()["concat"]
    assert [chart["title"]["text"].split()[0] for chart in charts] == names
    one = (await client.get("/attention", params={**asked, "models": "bahdanau-en-fr"})).json()
    assert [found["model"] for found in one["maps"]] == ["bahdanau-en-fr"]
    unknown = await client.get("/attention", params={**asked, "models": "bahdanau-en-fr,toy"})
    assert unknown.status_code == 404


async def test_two_translations_are_contrasted(client: Client) -> None:
    asked = {**TEXT, "view": "contrast", "target_text": "J'ai perdu mon chien"}
    body = (await client.get("/attention", params=asked)).json()
    assert [found["target"]["text"] for found in body["maps"]] == ["I LOST MY DOG", "J'ai perdu mon chien"]
    svg = (await client.get("/attention", params={**asked, "format": "svg"})).text
    assert "the model’s own" in svg
    assert "yours" in svg
    body = (await client.get("/attention", params={**asked, "other_text": "Mon chien"})).json()
    assert [found["target"]["text"] for found in body["maps"]] == ["J'ai perdu mon chien", "Mon chien"]


async def test_the_page_and_its_files_are_sent_from_here(client: Client) -> None:
    page = await client.get("/")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "http" not in page.text.replace("http-equiv", "")
    again = await client.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert again.status_code == 304
    for name in ("main.js", "style.css", "icon.svg"):
        assert (await client.get(f"/web/{name}")).status_code == 200
    assert (await client.get("/web/icon.svg")).text.startswith("<svg")
    for name in ("nothing.js", "..%2fsettings.py", "%2e%2e/api/app.py"):
        assert (await client.get(f"/web/{name}")).status_code == 404
