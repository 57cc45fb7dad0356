"""Writes the tables that pages have from the code and the models: `make docs`, or `python docs/tools/generate.py`.

Each stands between two marker lines. A test fails if one is out of date.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # so that the checkout is found before anything installed

from docs.tools import credits as credited  # noqa: E402
from docs.tools import scores  # noqa: E402
from service.settings import settings_table  # noqa: E402

PAGES = [ROOT / page for page in ("README.md", "models/README.md", "docs/settings.md", "docs/credits.md")]
TABLES = {
    "settings": settings_table,
    "corpora": credited.corpora,
    "made": credited.made,
    "books": credited.books,
    "scores": scores.scores,
    "models": scores.models,
}
BETWEEN = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return the page with its tables as they are now."""
    return BETWEEN.sub(lambda part: f"{part[1]}{TABLES[part[2]]()}{part[3]}", page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text("utf-8")), "utf-8")
