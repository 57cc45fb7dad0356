"""The renderer draws the same bytes every time, bears every text, and its process is replaced when it dies."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from service.engine.errors import Overloaded
from service.engine.types import AttentionMap
from service.figures import process_watch
from service.figures.figure import contrast, single_figure
from service.figures.labels import labels
from service.figures.panels import Figure
from service.figures.renderer import DrawingFailed, FigureRenderer, RendererLost
from service.figures.vega_lite import specification
from tests.figures.maps import make_map
from tests.support.polling import PATIENCE

HOSTILE = (
    "<script>alert(1)</script>", "]]>", "&amp;", "\x00\x07", "\u202e", "\"'><img src=x onerror=alert(1)>",
    "قال", "世界", "שלום", "👩‍👩‍👧", "\ufffe", "url(#gradient_7)", 'fill="url(#gradient_7)"',
    "a" * 300, "e" + "\u0301" * 50,
)  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: bytes) -> set[str]:
    return {"".join(item.itertext()) for item in ElementTree.fromstring(svg).iter(f"{SVG}text")}


async def test_the_same_figure_has_the_same_bytes_and_every_token_as_text(renderer: FigureRenderer) -> None:
    found = make_map()
    first, other = specification(single_figure(found)), specification(single_figure(make_map(seed=1)))
    svg = await renderer.draw(first, "svg")
    await renderer.draw(other, "svg")
    assert await renderer.draw(first, "svg") == svg
    assert await renderer.draw(first, "png") == await renderer.draw(first, "png")
    assert {*labels(found.source_tokens), *labels(found.target_tokens)} <= texts(svg)


@pytest.mark.parametrize(
    "figure_of", [single_figure, lambda found: single_figure(found, "lines"), lambda found: contrast(found, found)]
)
async def test_hostile_texts_are_drawn_as_text(
    renderer: FigureRenderer, figure_of: Callable[[AttentionMap], Figure]
) -> None:
    found = make_map(HOSTILE, HOSTILE)
    svg = await renderer.draw(specification(figure_of(found)), "svg")
    elements = list(ElementTree.fromstring(svg).iter())
    tags = {item.tag.removeprefix(SVG) for item in elements}
    assert not [name for item in elements for name in item.attrib if name.lower().startswith("on")]
    assert tags <= {"svg", "g", "path", "rect", "text", "tspan", "line", "defs", "linearGradient", "stop", "clipPath"}
    assert set(labels(found.source_tokens)) <= texts(svg)
    assert b"<script" not in svg
    assert b"<img" not in svg


async def test_every_weight_is_a_cell_and_a_larger_one_is_never_lighter(renderer: FigureRenderer) -> None:
    found = make_map()
    picture = ElementTree.fromstring(await renderer.draw(specification(single_figure(found)), "svg"))
    cells = next(item for item in picture.iter(f"{SVG}g") if item.get("class", "").startswith("mark-rect"))
    colours = [cell.attrib["fill"].removeprefix("rgb(").rstrip(")").split(",") for cell in cells.iter(f"{SVG}path")]
    lightness = np.asarray(colours, float) @ [0.2126, 0.7152, 0.0722]
    assert lightness.size == found.weights.size
    assert np.all(np.diff(lightness[np.argsort(found.weights.ravel(), kind="stable")]) <= 1.0)


async def test_a_process_that_dies_is_replaced(renderer: FigureRenderer) -> None:
    spec = specification(single_figure(make_map()))
    await renderer.draw(spec, "svg")
    assert renderer.process_id is not None
    os.kill(renderer.process_id, signal.SIGKILL)
    with contextlib.suppress(RendererLost):
        await renderer.draw(spec, "svg")
    assert (await renderer.draw(spec, "svg")).startswith(b"<svg")


async def test_a_process_that_stands_still_is_replaced_at_once(renderer: FigureRenderer) -> None:
    spec = specification(single_figure(make_map()))
    await renderer.draw(spec, "svg")
    stopped = renderer.process_id
    assert stopped is not None
    os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(RendererLost):
        await asyncio.wait_for(renderer.draw(spec, "svg"), PATIENCE)
    assert renderer.process_id not in (None, stopped)
    assert (await renderer.draw(spec, "svg")).startswith(b"<svg")


LATE_ANSWER = """
import sys, time
from multiprocessing.connection import Connection
pipe, begun = Connection(int(sys.argv[2])), time.process_time()
pipe.recv_bytes()
{}
pipe.send_bytes(b"ok <svg")
"""


@pytest.mark.parametrize(
    ("work", "seconds", "answered"),
    [
        ("while time.process_time() < begun + 1: pass", 60, True),
        ("while True: pass", 1, False),
        ("time.sleep(60)", 60, False),
    ],
)
async def test_work_is_judged_by_processor_time(
    monkeypatch: pytest.MonkeyPatch, work: str, seconds: float, answered: bool
) -> None:
    monkeypatch.setattr(process_watch, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(FigureRenderer, "program", ["-c", LATE_ANSWER.format(work), ""])
    renderer = FigureRenderer(seconds)
    try:
        with contextlib.nullcontext() if answered else pytest.raises(RendererLost):
            assert await asyncio.wait_for(renderer.draw({}, "svg"), PATIENCE) == b"<svg"
    finally:
        renderer.close()


HALF_AN_ANSWER = """
import os, sys
from multiprocessing.connection import Connection
received, pipe = int(sys.argv[1]), Connection(int(sys.argv[2]))
pipe.recv_bytes()
os.write(pipe.fileno(), (1000).to_bytes(4, "big") + b"ok <svg"[:received])
"""


@pytest.mark.parametrize("received", [0, 7])
async def test_a_picture_that_breaks_off_is_an_error(monkeypatch: pytest.MonkeyPatch, received: int) -> None:
    """As if the process had been killed while it wrote its answer."""
    monkeypatch.setattr(FigureRenderer, "program", ["-c", HALF_AN_ANSWER, str(received)])
    renderer = FigureRenderer()
    try:
        with pytest.raises(RendererLost):
            await renderer.draw({}, "svg")
    finally:
        renderer.close()


async def test_a_specification_that_is_none_is_refused_and_the_next_one_drawn(renderer: FigureRenderer) -> None:
    with pytest.raises(DrawingFailed):
        await renderer.draw({"mark": {"type": "no such mark"}}, "svg")
    assert (await renderer.draw(specification(single_figure(make_map())), "svg")).startswith(b"<svg")


async def test_who_leaves_does_not_disturb_the_next(renderer: FigureRenderer) -> None:
    first, second = specification(single_figure(make_map())), specification(single_figure(make_map(["x"], ["y"])))
    task = asyncio.create_task(renderer.draw(first, "svg"))
    await asyncio.sleep(0.01)
    task.cancel()
    assert "y" in texts(await renderer.draw(second, "svg"))


async def test_translation_has_priority_over_drawing(renderer: FigureRenderer) -> None:
    await renderer.draw(specification(single_figure(make_map())), "svg")
    assert renderer.process_id is not None
    assert os.getpriority(os.PRIO_PROCESS, renderer.process_id) > os.getpriority(os.PRIO_PROCESS, 0)


async def test_what_nobody_waits_for_any_more_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, drawn = threading.Event(), list[str]()

    def exchange(_self: FigureRenderer, job: dict[str, Any]) -> bytes:
        drawn.append(job["spec"])
        go_on.wait(20)
        return b"picture"

    monkeypatch.setattr(FigureRenderer, "_exchange", exchange)
    renderer = FigureRenderer(most_waiting=3)
    first, second, third = (asyncio.create_task(renderer.draw(name, "svg")) for name in ("a", "b", "c"))  # type: ignore[arg-type]
    await asyncio.sleep(0.05)
    with pytest.raises(Overloaded):
        await renderer.draw({}, "svg")
    second.cancel()
    await asyncio.wait([second])
    fourth = asyncio.create_task(renderer.draw("d", "svg"))  # type: ignore[arg-type]
    await asyncio.sleep(0.05)
    go_on.set()
    assert [await each for each in (first, third, fourth)] == [b"picture"] * 3
    assert drawn == ["a", "c", "d"]
    renderer.close()
