"""Texts of a picture while the drawing library works: stand-ins of the right width before, texts or outlines after.

Laying a picture out takes the widths of its texts, and measuring them took the library nine tenths of its time; turning
letters into outlines takes it as long again. Both are done here with fonts that stay open.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

from service.figures import outlines, ruler
from service.figures.fonts import Fonts, Line, Rest
from service.figures.theme import FONT

Spec = dict[str, Any]
BOLD = 600

_STAND_IN = re.compile(ruler.LETTERS)
_FAMILY = f'font-family="{ruler.FAMILY}"'
_TEXT = re.compile(r"<text ([^>]*)>(.*?)</text>")
_LINE = re.compile(rf'(?:<tspan(?: x="0" dy="([-\d.]+)")?>)?({ruler.LETTERS})(?:</tspan>)?')
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}
_INHERITED = ("fill", "opacity")
_BOLD = ("600", "bold")


class Lettering:
    """The texts of one picture."""

    def __init__(self, fonts: Fonts) -> None:
        self._fonts = fonts
        self._family = FONT
        self._stand_ins: dict[tuple[str, bool], str] = {}
        self._texts: dict[str, tuple[str, bool]] = {}

    # --- before ---

    def measured(self, spec: Spec) -> Spec:
        """Return the specification with stand-ins for its texts; what is not one of ours comes back as it was."""
        config = spec.get("config", {})
        self._family = config.get("font", FONT)
        given = {"labelFont": ruler.FAMILY, "titleFont": ruler.FAMILY}
        title = {"font": ruler.FAMILY, "subtitleFont": ruler.FAMILY}
        legend = {"titleFont": ruler.FAMILY}  # its numbers are Vega's
        faces = {"axis": given, "legend": legend, "title": title, "text": {"font": ruler.FAMILY}}
        config = {**config, **{name: {**config.get(name, {}), **more} for name, more in faces.items()}}
        weight = config["title"].get("fontWeight", BOLD)
        return {**self._inside(spec, weight), "config": config}

    def _inside(self, part: Spec, weight: object) -> Spec:
        """Return a chart with the charts in it."""
        done = dict(part)
        for name, work in (("title", self._title), ("params", self._params)):
            if name in part:
                done[name] = work(part[name], weight)
        if "encoding" in part:
            done["encoding"] = self._encoding(part["encoding"])
            field = part["encoding"].get("text", {}).get("field")
            values = part.get("data", {}).get("values", ())
            if field is not None:
                done["data"] = {"values": [{**value, field: self.stand_in(value[field])} for value in values]}
        for name in ("layer", "hconcat"):
            if name in part:
                done[name] = [self._inside(inner, weight) for inner in part[name]]
        if "spec" in part:
            done["spec"] = self._inside(part["spec"], weight)
        return done

    def _title(self, title: Any, weight: object) -> Any:
        if not isinstance(title, dict) or "text" not in title:
            return title
        bold = title.get("fontWeight", weight) == BOLD
        lines = title["text"]
        text = [self.stand_in(line, bold) for line in lines] if isinstance(lines, list) else self.stand_in(lines, bold)
        notes = {"subtitle": [self.stand_in(line) for line in title["subtitle"]]} if "subtitle" in title else {}
        return {**title, "text": text, **notes}

    def _params(self, params: list[Spec], _weight: object) -> list[Spec]:
        return [{**each, "value": [self.stand_in(text) for text in each["value"]]} for each in params]

    def _encoding(self, encoding: Spec) -> Spec:
        done = dict(encoding)
        for name in "xy":
            axis = encoding.get(name, {}).get("axis")
            if axis and axis.get("title"):
                done[name] = {**encoding[name], "axis": {**axis, "title": self.stand_in(axis["title"])}}
        colour = encoding.get("color", {})
        if legend := colour.get("legend"):
            done["color"] = {**colour, "legend": {**legend, "title": self.stand_in(legend["title"])}}
        return done

    def stand_in(self, text: str, bold: bool = False) -> str:
        """Return what stands for a text: as wide, and of no other text."""
        known = self._stand_ins.get((text, bold))
        if known is not None or not text.strip():
            return known or text
        units = round(self._line(text, bold).width * ruler.UNITS)
        variant = 0
        while (found := ruler.letters(units, variant)) in self._texts:
            variant += 1
        self._stand_ins[text, bold] = found
        self._texts[found] = (text, bold)
        return found

    def _line(self, text: str, bold: bool) -> Line:
        return self._fonts.line(text, self._family, bold)

    # --- after ---

    def restored(self, svg: str) -> str:
        """Return a drawn picture with its texts."""
        family = escape(self._family, quote=False)
        return _STAND_IN.sub(self._written, svg.replace(_FAMILY, f'font-family="{family}"'))

    def outlined(self, svg: str) -> str:
        """Return a drawn picture with outlines of its letters; text remains where shaping alone does not decide."""
        return self.restored(_TEXT.sub(self._drawn, svg))

    def _written(self, found: re.Match[str]) -> str:
        text, _ = self._texts.get(found.group(), (found.group(), False))
        return escape(text)

    def _drawn(self, found: re.Match[str]) -> str:
        attributes = dict(_ATTRIBUTE.findall(found.group(1)))
        size, anchor = float(attributes["font-size"].removesuffix("px")), _ANCHORS[attributes["text-anchor"]]
        path, rests, down = list[str](), list[str](), 0.0
        for step, line in self._lines(attributes, found.group(2)):
            if line is None or line.parts is None:
                return found.group()
            down += step
            left = -anchor * line.width * size
            for part in line.parts:
                x = left + part.x * size
                if isinstance(part, Rest):
                    rests.append(self._rest(part.text, size, x, down))
                elif part.outline:
                    path.append(outlines.placed(part.outline, part.scale * size, x, down + part.y * size))
        kept = " ".join(f'{name}="{attributes[name]}"' for name in ("transform", *_INHERITED) if name in attributes)
        return f'<g {kept}><path transform="{outlines.SHRUNK}" d="{"".join(path)}"/>{"".join(rests)}</g>'

    def _lines(self, attributes: dict[str, str], content: str) -> list[tuple[float, Line | None]]:
        """Each line of a text element and how far it is below the one before; None for what is not ours to draw."""
        family = unescape(attributes.get("font-family", ""))
        if family == ruler.FAMILY:
            lines = _LINE.findall(content)
            return [(float(step or 0), self._line(*self._texts[stand_in])) for step, stand_in in lines]
        if family == self._family and "<" not in content:  # what Vega itself writes, such as numbers of a legend
            return [(0.0, self._line(unescape(content), attributes.get("font-weight") in _BOLD))]
        return [(0.0, None)]

    def _rest(self, text: str, size: float, x: float, y: float) -> str:
        family = escape(self._family, quote=False)
        return f'<text x="{x:.3f}" y="{y:.3f}" font-size="{size:g}px" font-family="{family}">{escape(text)}</text>'
