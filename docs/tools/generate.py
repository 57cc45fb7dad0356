"""Writes the table of settings into docs/settings.md: `make docs`, or `python docs/tools/generate.py`.

It stands between two marker lines. A test fails if it is out of date.
"""

import re
from pathlib import Path

from service.settings import settings_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
BETWEEN = re.compile(r"(<!-- generated: settings -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return the page with the table as it is now."""
    return BETWEEN.sub(lambda found: f"{found[1]}{settings_table()}{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
