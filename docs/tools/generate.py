"""Writes the parts of docs/ that are made from the code: `make docs`, or `python docs/tools/generate.py`.

Two parts: the table of settings, and the layers that import-linter enforces (pyproject.toml). Each stands between the
marker lines `<!-- generated: NAME -->` and `<!-- end -->`. A test fails if a part is out of date.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.settings import settings_table

ROOT = Path(__file__).resolve().parents[2]
# The page of each part.
PAGES = {"settings": "docs/settings.md", "layers": "docs/architecture.md"}


def parts() -> dict[str, str]:
    """Return the Markdown of each part."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return {"settings": settings_table(), "layers": layers_diagram(contracts)}


def layers_diagram(contracts: list[Mapping[str, Any]]) -> str:
    """Return one block of text with the layers of every container, from top to bottom."""
    blocks = [
        "\n".join([container, *(f"    {layer_text(layer)}" for layer in contract["layers"])])
        for contract in contracts
        if contract["type"] == "layers"
        for container in contract.get("containers", ["top level"])
    ]
    return "```text\n" + "\n\n".join(blocks) + "\n```\n"


def layer_text(layer: str) -> str:
    """Return one layer as the docs show it, without the parentheses that mark an optional module."""
    return layer.translate({ord(bracket): None for bracket in "()"})


def filled(page: str, name: str, content: str) -> str:
    """Return a page with the content of one part replaced; raises ValueError if the page has no such part."""
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"The page has no part {name!r}.")
    return pattern.sub(lambda found: f"{found[1]}{content}{found[2]}", page)


def main() -> None:
    """Write every part into its page."""
    for name, content in parts().items():
        path = ROOT / PAGES[name]
        path.write_text(filled(path.read_text("utf-8"), name, content), "utf-8")


if __name__ == "__main__":
    main()
