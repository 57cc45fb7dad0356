"""Makes matplotlib's SVG smaller without a change of the picture: short names, short paths, no empty groups.

`python docs/tools/small_svg.py docs/images/grid-*.svg` writes the files anew.
"""

import re
import sys
from pathlib import Path

_ID = re.compile(r'(?<= id=")[^"]+')
_PATH = re.compile(r'(?<= d=")[^"]+')
_NUMBERED = re.compile(r'<g id="(?:patch|line2d|text|matplotlib\.axis|[xy]tick|axes|figure|legend)_\d+">')
_UNSEEN = re.compile(
    r'<metadata>.*?</metadata>|<!--.*?-->| transform="rotate\(-0 [^"]*"| clip-path="[^"]*"|<clipPath.*?</clipPath>'
    r"|; stroke-linejoin: miter|stroke-linejoin: round; ",
    re.S,
)
_GROUP = re.compile(r"<g\b[^>]*>|</g>")


def smaller(svg: str, name: str) -> str:
    """Return the same picture in fewer bytes; its ids begin with ``name``, so that they are unique on a page."""
    svg = _UNSEEN.sub("", svg[svg.index("<svg") :])
    # Coordinates with one decimal, but texts as they are.
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d+\.\d)\d+", r"\1", tag.group()), svg)
    svg = re.sub(r'(<use [^>]*?) style="stroke: #000000[^"]*"', r"\1", _NUMBERED.sub("<g>", svg))  # a tick has one
    svg = re.sub(r">\s+<", "><", svg)
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


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(smaller(path.read_text("utf-8"), "p").rstrip() + "\n", "utf-8")
