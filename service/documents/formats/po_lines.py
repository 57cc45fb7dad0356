"""A catalogue of gettext by its lines: translations and header fields change in place, all else keeps its bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polib

FUZZY = "fuzzy"
MESSAGE = re.compile(r"msgid\b")
FLAGS, PREVIOUS = "#,", "#|"


class PoLines:
    """The lines of a catalogue, and what stands in the places of some of them."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._plain = [line.strip() for line in self._lines]
        first = self._lines[0] if self._lines else ""
        self._end = first[len(first.rstrip("\r\n")) :] or "\n"
        self._new: dict[int, str] = {}
        self._header = ""  # of a catalogue without one
        starts = [number for number, line in enumerate(self._plain) if MESSAGE.match(line)]
        has_header = (
            bool(starts) and self._plain[starts[0] : starts[0] + 1] == ['msgid ""'] and self._is_header(starts[0])
        )
        self._header_at = starts[0] + 1 if has_header else None
        self.messages: Sequence[int] = starts[has_header:]  # the line of each message, those that are obsolete left out

    def _is_header(self, number: int) -> bool:
        return any(line.startswith("msgstr") for line in self._plain[number + 1 : number + 2])

    def text(self) -> str:
        """Return the catalogue with its changes."""
        header = f'msgid ""{self._end}msgstr ""{self._end}{self._header}{self._end}' if self._header else ""
        return header + "".join(self._new.get(number, line) for number, line in enumerate(self._lines))

    def fill(self, message: int, entry: polib.POEntry) -> None:
        """Write the translation of an entry, the message with this number, and mark it as one to check."""
        number = self.messages[message]
        first = number
        while first and self._plain[first - 1] and not self._plain[first - 1].startswith(("msgid", "msgstr", "#~")):
            first -= 1
        self._mark(first, entry)
        while not self._plain[number].startswith("msgstr"):
            number += 1
        written = str(polib.POEntry(msgid="x", msgstr=entry.msgstr, **_plural(entry)))
        written = written[written.index("msgstr") :].rstrip("\n")
        self._new[number] = "".join(f"{line}{self._end}" for line in written.split("\n"))
        for following in range(number + 1, self._end_of(number)):
            self._new[following] = ""

    def _mark(self, first: int, entry: polib.POEntry) -> None:
        flags = first
        while self._plain[flags].startswith("#") and not self._plain[flags].startswith((PREVIOUS, FLAGS)):
            flags += 1
        line = self._lines[flags]
        if not line.startswith(FLAGS):
            self._new[flags] = f"{FLAGS} {FUZZY}{self._end}{line}"
        elif FUZZY not in entry.flags:
            stripped = line.rstrip()
            self._new[flags] = f"{stripped}, {FUZZY}{line[len(stripped) :]}"

    def set_header(self, name: str, value: str) -> None:
        """Write a field of the header, in its place if it is there."""
        field = f'"{name}: {polib.escape(value)}\\n"{self._end}'
        if self._header_at is None:
            self._header += field
            return
        last = self._end_of(self._header_at) - 1
        begin = f'"{name}:'.casefold()
        for number in range(self._header_at, last + 1):
            line = self._plain[number].casefold()
            if line.startswith(begin) and line.endswith('\\n"'):
                self._new[number] = field
                return
        self._new[last] = self._new.get(last, self._lines[last]) + field

    def _end_of(self, number: int) -> int:
        """Return the line after a translation that begins in a line."""
        number += 1
        while number < len(self._plain) and self._plain[number].startswith(('"', "msgstr")):
            number += 1
        return number


def _plural(entry: polib.POEntry) -> dict[str, object]:
    return {"msgid_plural": "x", "msgstr_plural": entry.msgstr_plural} if entry.msgid_plural else {}
