"""Makes matplotlib's SVG smaller without a change of the picture: short names, short paths, no empty groups."""

from __future__ import annotations

import re

_ID = re.compile(r'(?<= id=")[^"]+')
_PATH = re.compile(r'(?<= d=")[^"]+')
_GROUP = re.compile(r"<g\b[^>]*>|</g>")


def smaller(svg: str, name: str) -> str:
    """Return the same picture in fewer bytes; its ids begin with ``name``, so that they are unique on a page."""
    ids = {old: f"{name}i{number}" for number, old in enumerate(dict.fromkeys(_ID.findall(svg)))}
    svg = re.sub(r'( id="|xlink:href="#|url\(#)([^")]+)', lambda found: _renamed(found, ids), svg)
    svg = svg.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace("xlink:href", "href")
    svg = re.sub(r'(?<=[ "])(-?\d+)\.0(?=[ "\n])', r"\1", svg)
    svg = _PATH.sub(lambda found: _short_path(found.group()), svg)
    return _without_bare_groups(svg)


def _renamed(found: re.Match[str], ids: dict[str, str]) -> str:
    return found.group(1) + ids.get(found.group(2), found.group(2))


def _short_path(path: str) -> str:
    return re.sub(r" ?([MLCQZz]) ?", r"\1", " ".join(path.split()))


def _without_bare_groups(svg: str) -> str:
    """Return the picture without groups that have no attributes, but with what is in them."""
    kept: list[bool] = []

    def group(found: re.Match[str]) -> str:
        tag = found.group()
        if tag == "</g>":
            return tag if kept.pop() else ""
        if not tag.endswith("/>"):
            kept.append(tag != "<g>")
        return "" if tag in ("<g>", "<g/>") else tag

    return _GROUP.sub(group, svg)
