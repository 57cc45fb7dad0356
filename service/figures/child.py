"""The drawing process: reads jobs from standard input, writes pictures to standard output, ends when its input does.

It is a process of its own because the drawing library may abort, and because it takes some 200 MB and a second to
start. A message is a length in four bytes, big-endian, and as many bytes. A job is JSON; an answer is two messages,
`ok` or `error` and then the result or a sentence.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

VEGA_LITE = "6.4"
_TAG = re.compile(r"<[^<>]*>")
_NUMBERED = re.compile(r'(?<==")(url\(#)?(gradient_|clip)(\d+)(\))?(?=")')


def read(stream: BinaryIO) -> bytes | None:
    """The next message, or None at the end."""
    header = stream.read(4)
    if len(header) < 4:
        return None
    return stream.read(struct.unpack(">I", header)[0])


def write(stream: BinaryIO, *messages: bytes) -> None:
    """Send messages."""
    for message in messages:
        stream.write(struct.pack(">I", len(message)))
        stream.write(message)
    stream.flush()


def settled(svg: str) -> str:
    """The same picture with its definitions numbered from 0: the library goes on counting from call to call."""
    known: dict[str, int] = {}

    def renumbered(found: re.Match[str]) -> str:
        opening, kind, number, closing = found.groups()
        number = str(known.setdefault(kind + number, len(known)))
        return f"{opening or ''}{kind}{number}{closing or ''}"

    return _TAG.sub(lambda tag: _NUMBERED.sub(renumbered, tag.group()), svg)


def still(spec: Any) -> Any:
    """The specification without what shows only when somebody points at it: an eighth of the work."""
    if isinstance(spec, list):
        return [still(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    kept = {key: value for key, value in spec.items() if key != "tooltip"}
    if all("calculate" in step for step in kept.get("transform", ())):
        kept.pop("transform", None)  # our specifications calculate nothing but the texts of tooltips
    return {key: value if key in ("values", "value") else still(value) for key, value in kept.items()}


def svg(library: Any, job: dict[str, Any]) -> bytes:
    """A specification as SVG."""
    return settled(library.vegalite_to_svg(still(job["spec"]), vl_version=VEGA_LITE)).encode("utf-8")


def png(library: Any, job: dict[str, Any]) -> bytes:
    """A specification as PNG, `scale` pixels for each of the SVG's."""
    return bytes(library.svg_to_png(svg(library, job).decode("utf-8"), scale=job["scale"]))


def script(library: Any, _job: dict[str, Any]) -> bytes:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return str(library.javascript_bundle(vl_version=VEGA_LITE)).encode("utf-8")


KINDS: dict[str, Callable[[Any, dict[str, Any]], bytes]] = {"svg": svg, "png": png, "script": script}


def main() -> None:
    """Serve jobs until the input ends."""
    os.nice(10)  # translating comes first
    # Only answers may go to standard output, whatever a library prints.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import vl_convert

    while (message := read(sys.stdin.buffer)) is not None:
        job = json.loads(message)
        try:
            result = KINDS[job["kind"]](vl_convert, job)
        except Exception as error:
            # Its text may quote the specification, and so the user's text: only the kind of failure leaves here.
            write(answers, b"error", type(error).__name__.encode("ascii"))
        else:
            write(answers, b"ok", result)


if __name__ == "__main__":
    main()
