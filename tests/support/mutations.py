"""Changes of a file at random places, as fuzzers make them; for a packed file, of what is packed in it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

from tests.support.documents import packed, unpacked

Kind = Literal["delete", "repeat", "swap", "insert", "replace"]
SIGNS = [
    *"\"'<>&{}[]%\\\n\r\t \0\ufeff\u2028=:-#*`|,;é0",
    *("&#9999999;", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "%(", "{n, plural, one {", "\\u", "\\ud800"),
    *("9" * 400, "-->\n", "00:00:01,000", 'msgid "', "msgstr", "<w:p>"),
]
BYTES = [*(sign.encode() for sign in SIGNS), b"\xff", b"\xc3", b"\xed\xa0\x80", b"PK\x03\x04"]


@dataclass(frozen=True, slots=True)
class Change:
    """One change: where it is (as shares of the length), and what happens there."""

    kind: Kind
    place: float
    other: float
    size: int
    times: int
    sign: bytes

    def applied(self, data: bytes) -> bytes:
        """Return a changed file."""
        start, other = int(self.place * len(data)), int(self.other * len(data))
        before, slice_, after = data[:start], data[start : start + self.size], data[start + self.size :]
        match self.kind:
            case "delete":
                return before + after
            case "repeat":
                return before + slice_ * self.times + after
            case "swap":
                return before + data[other : other + self.size] + after
            case "insert":
                return before + self.sign * self.times + slice_ + after
            case "replace":
                return before + self.sign + after


CHANGES = st.lists(
    st.builds(
        Change,
        kind=st.sampled_from(("delete", "repeat", "swap", "insert", "replace")),
        place=st.floats(0, 1),
        other=st.floats(0, 1),
        size=st.integers(0, 60),
        times=st.sampled_from((1, 2, 3, 50, 2000)),
        sign=st.sampled_from(BYTES),
    ),
    min_size=1,
    max_size=4,
)


def mutated(data: bytes, changes: Sequence[Change]) -> bytes:
    """Return a changed file; in a zip file, each change is in the one of its members that its other place names."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        for change in changes:
            data = change.applied(data)
        return data
    files = unpacked(data)
    names = [name for name in files if name.endswith((".xml", ".rels", ".opf", ".xhtml")) or "/" not in name]
    for change in changes:
        name = names[int(change.other * (len(names) - 1))]
        files[name] = change.applied(files[name])
    return packed(files)
