"""Pictures in this process: the server's figures, drawn when a notebook or a file asks for them."""

import functools
import json
from pathlib import Path
from typing import Any

from service.engine import InvalidOption
from service.figures.html import as_html
from service.figures.panels import Figure
from service.figures.renderer_process import VegaRenderer, read_cached, write_cached
from service.figures.theme import ThemeName
from service.figures.vega_lite import specification

PNG_SCALE = 2.0


@functools.lru_cache(1)
def _renderer() -> VegaRenderer:
    """Return the drawing library, which takes most of a second to load."""
    return VegaRenderer()


class Picture:
    """A drawn figure: it shows itself in a notebook, and `save` writes it to a file."""

    def __init__(self, figure: Figure, theme: ThemeName = "light") -> None:
        self._figure, self._theme = figure, theme

    @functools.cached_property
    def spec(self) -> dict[str, Any]:
        """Return the Vega-Lite specification, for `altair.Chart.from_dict` and other programs."""
        return specification(self._figure, self._theme)

    @functools.cached_property
    def svg(self) -> str:
        """Return the picture as SVG."""
        return _renderer().svg({"spec": self.spec}).decode("utf-8")

    def png(self, scale: float = PNG_SCALE) -> bytes:
        """Return the picture as PNG, `scale` pixels for each of the SVG's."""
        return _renderer().png({"spec": self.spec, "scale": scale})

    def html(self) -> str:
        """Return one HTML file that needs nothing else: the picture with tooltips, and its numbers as a table."""
        library = read_cached()
        if library is None:
            library = _renderer().script({})
            write_cached(library)
        return as_html(self._figure, self.spec, library, self._theme).decode("utf-8")

    def save(self, path: str | Path) -> Path:
        """Write the picture as .svg, .png, .html or .json (Vega-Lite); raise InvalidOption for another extension."""
        path = Path(path)
        match path.suffix.lower():
            case ".svg":
                path.write_text(self.svg, encoding="utf-8")
            case ".png":
                path.write_bytes(self.png())
            case ".html":
                path.write_text(self.html(), encoding="utf-8")
            case ".json":
                path.write_text(json.dumps(self.spec, ensure_ascii=False), encoding="utf-8")
            case other:
                raise InvalidOption(f"A picture cannot be saved as {other or 'a file without extension'}; use .svg, "
                                    ".png, .html or .json.")  # fmt: skip
        return path

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture {' '.join(self._figure.title)!r}>"
