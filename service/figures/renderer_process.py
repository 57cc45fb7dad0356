"""The renderer process: reads jobs from standard input until its end, and writes pictures to standard output.

It is a separate process because the drawing library may abort, and because it takes some 200 MB and a second to start.
A message is a length in four bytes, big-endian, and as many bytes. A job is JSON. An answer is two messages: `ok`,
`boxes` (the first picture with a letter that no font has) or `error`, then the result or a sentence.
"""

from __future__ import annotations

import functools
import json
import os
import re
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from service.figures.rasteriser import Glyphs, Rasteriser, open_rasteriser

VEGA_LITE = "6.4"
IDLE, LOW = "idle", "low"  # priorities: only idle time, or a small share of a busy machine
_TAG = re.compile(r"<[^<>]*>")
_NUMBERED = re.compile(r'(?<==")(url\(#)?(gradient_|clip)(\d+)(\))?(?=")')


def read(stream: BinaryIO) -> bytes | None:
    """Return the next message, or None at the end, also if it comes in the middle of a message."""
    header = stream.read(4)
    if len(header) < 4:
        return None
    length = struct.unpack(">I", header)[0]
    message = stream.read(length)
    return message if len(message) == length else None  # the writer was killed: half a picture is none


def write(stream: BinaryIO, *messages: bytes) -> None:
    """Send messages."""
    for message in messages:
        stream.write(struct.pack(">I", len(message)))
        stream.write(message)
    stream.flush()


def renumber_definitions(svg: str) -> str:
    """Return the same picture with definitions numbered from 0, because the library's counter continues."""
    known: dict[str, int] = {}

    def renumbered(found: re.Match[str]) -> str:
        opening, kind, number, closing = found.groups()
        number = str(known.setdefault(kind + number, len(known)))
        return f"{opening or ''}{kind}{number}{closing or ''}"

    return _TAG.sub(lambda tag: _NUMBERED.sub(renumbered, tag.group()), svg)


def without_tooltips(spec: Any) -> Any:
    """Return the specification without tooltips, which are an eighth of the work."""
    if isinstance(spec, list):
        return [without_tooltips(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    kept = {key: value for key, value in spec.items() if key != "tooltip"}
    if all("calculate" in step for step in kept.get("transform", ())):
        kept.pop("transform", None)  # in our specifications only the texts of tooltips are calculated
    return {key: value if key in ("values", "value") else without_tooltips(value) for key, value in kept.items()}


class VegaRenderer:
    """The loaded library, with the fonts of the machine."""

    def __init__(self) -> None:
        """Load the library, which takes most of a second."""
        import vl_convert

        self._library: Any = vl_convert
        self._glyphs: Glyphs | None = Glyphs(vl_convert)  # None: it is known that a letter is missing
        self.found_boxes = False  # whether the last picture was the first with a letter that no font has
        self.kinds: dict[str, Callable[[dict[str, Any]], bytes]] = {
            "svg": self.svg, "png": self.png, "script": self.script
        }  # fmt: skip

    @functools.cached_property
    def _rasterise(self) -> Rasteriser:
        return open_rasteriser(self._library)

    def svg(self, job: dict[str, Any]) -> bytes:
        """Return a specification as SVG."""
        return self._drawn(job["spec"]).encode("utf-8")

    def png(self, job: dict[str, Any]) -> bytes:
        """Return a specification as PNG, `scale` pixels for each of the SVG's."""
        svg = self._drawn(job["spec"])
        self.found_boxes = self._glyphs is not None and self._glyphs.lack_one_of(svg)
        if self.found_boxes:
            self._glyphs = None
        return self._rasterise(svg, job["scale"])

    def script(self, _job: dict[str, Any]) -> bytes:
        """Return Vega, Vega-Lite and Vega-Embed as one script."""
        return str(self._library.javascript_bundle(vl_version=VEGA_LITE)).encode("utf-8")

    def _drawn(self, spec: dict[str, Any]) -> str:
        return renumber_definitions(self._library.vegalite_to_svg(without_tooltips(spec), vl_version=VEGA_LITE))


def lower_priority(idle: bool) -> None:
    """Give translation priority: use only idle time, or a small share if there is no idle time."""
    if idle and hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(10)


def main() -> None:
    """Serve jobs until the input ends."""
    # Only answers may go to standard output, whatever a library prints.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    renderer = VegaRenderer()
    lower_priority(idle=sys.argv[1] == IDLE)

    while (message := read(sys.stdin.buffer)) is not None:
        job = json.loads(message)
        renderer.found_boxes = False
        try:
            result = renderer.kinds[job["kind"]](job)
        except Exception as error:
            # The message may quote the specification, which contains the user's text: only the kind of failure is sent.
            write(answers, b"error", type(error).__name__.encode("ascii"))
        else:
            write(answers, b"boxes" if renderer.found_boxes else b"ok", result)


if __name__ == "__main__":
    main()
