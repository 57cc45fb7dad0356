"""The renderer process: reads jobs from a pipe until its end, and answers with pictures.

It is a separate process because the drawing library may abort, and because it takes some 200 MB and a second to start.
A job is JSON. An answer is `ok` or `error`, a blank, then the result or the kind of error.
"""

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from service.figures.rasteriser import drawable
from service.whole_file import write_whole

VEGA_LITE = "6.4"
_TAG = re.compile(r"<[^<>]*>")
_NUMBERED = re.compile(r'(?<==")(url\(#)?(gradient_|clip)(\d+)(\))?(?=")')


def renumber_definitions(svg: str) -> str:
    """Return the same picture with definitions numbered from 0, because the library's counter continues."""
    numbers: dict[str, int] = {}

    def renumbered(match: re.Match[str]) -> str:
        opening, kind, number, closing = match.groups()
        number = str(numbers.setdefault(kind + number, len(numbers)))
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
        self.kinds: dict[str, Callable[[dict[str, Any]], bytes]] = {
            "svg": self.svg, "png": self.png, "script": self.script
        }  # fmt: skip

    def svg(self, job: dict[str, Any]) -> bytes:
        """Return a specification as SVG."""
        return self._drawn(job["spec"]).encode("utf-8")

    def png(self, job: dict[str, Any]) -> bytes:
        """Return a specification as PNG, `scale` pixels for each of the SVG's."""
        return bytes(self._library.svg_to_png(drawable(self._drawn(job["spec"])), scale=job["scale"]))

    def script(self, _job: dict[str, Any]) -> bytes:
        """Return Vega, Vega-Lite and Vega-Embed as one script."""
        return str(self._library.javascript_bundle(vl_version=VEGA_LITE)).encode("utf-8")

    def _drawn(self, spec: dict[str, Any]) -> str:
        return renumber_definitions(self._library.vegalite_to_svg(without_tooltips(spec), vl_version=VEGA_LITE))


def read_cached() -> bytes | None:
    """Return the script of an earlier start, which takes some seconds to make."""
    with contextlib.suppress(OSError, RuntimeError):  # no such file, no home
        return _cache_file().read_bytes() or None
    return None


def write_cached(script: bytes) -> None:
    """Write the script for the next start; an unwritable folder is not an error."""
    with contextlib.suppress(OSError, RuntimeError):
        path = _cache_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, script)


def _cache_file() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(folder) / "translucent" / f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js"


def main() -> None:
    """Serve jobs until the pipe ends."""
    pipe = Connection(int(sys.argv[1]))
    with contextlib.suppress(EOFError, OSError):  # the other side has closed the pipe, or was killed
        try:
            renderer = VegaRenderer()
        except Exception as error:
            pipe.send_bytes(failure(error))
            return
        os.nice(10)  # translation has priority; but a picture comes on a machine without idle time, too
        while True:
            job = json.loads(pipe.recv_bytes())
            try:
                result = renderer.kinds[job["kind"]](job)
            except Exception as error:
                pipe.send_bytes(failure(error))
            else:
                pipe.send_bytes(b"ok " + result)


def failure(error: Exception) -> bytes:
    """Return the answer about an error: its kind, because its message may quote the user's text."""
    return b"error " + type(error).__name__.encode("ascii")


if __name__ == "__main__":
    main()
