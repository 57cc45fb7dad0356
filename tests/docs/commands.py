"""Finds the commands and the Python code of a page."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.paths import ROOT

_BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.M | re.S)
_PROMPT = re.compile(r"^[$#] ")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page, and what the page says it prints."""

    page: str
    text: str
    output: str

    @property
    def printed(self) -> re.Pattern[str]:
        """Return what must be printed; `…` and the number 4f6c… of a job stand for anything."""
        return re.compile(".*".join(map(re.escape, re.split("(?:4f6c)?…", self.output))), re.S)


def blocks(page: str, language: str) -> list[str]:
    return [content for name, content in _BLOCK.findall((ROOT / page).read_text("utf-8")) if name == language]


def commands(page: str) -> Iterator[Command]:
    """Yield the commands of a page in order; a prompt is `$ `, or `# ` for root."""
    for block in blocks(page, "console"):
        parts: list[list[str]] = []
        for line in block.splitlines():
            if _PROMPT.match(line):
                parts.append([line[2:]])
            elif parts:
                parts[-1].append(line)
        for lines in parts:
            sizes = range(1, len(lines))
            size = next((size for size in sizes if _complete("\n".join(lines[:size]))), len(lines))
            yield Command(page, "\n".join(lines[:size]), "\n".join(lines[size:]))


def _complete(text: str) -> bool:
    """Return whether bash has read a whole command at the end of a text."""
    return not text.endswith("\\") and not subprocess.run(["bash", "-n", "-c", text], capture_output=True).returncode
