"""The vocabulary of a bundle: special tokens, byte tokens, and the characters that the normaliser unifies."""

import functools
import unicodedata
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

PAD, BOS, EOS = 0, 1, 2
"""The ids that training gives its special tokens. A reader takes them from the manifest instead."""
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>")
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
SPACE_PIECE = "▁"

APOSTROPHES = "’‘ʼ＇"
"""Written as ' by the normaliser: corpora disagree about them."""

_BREAKS = "\t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u2028\u2029"

SPACES = "".join(chr(c) for c in range(0x3001) if unicodedata.category(chr(c)) == "Zs" or chr(c) in _BREAKS)
"""Every space separator and line break. French puts U+00A0 or U+202F before ! ? : ;."""

UNSEEN = "\u061c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069"
"""Marks of direction and word joiners, as in a pattern: nobody sees them, and models have not learnt them."""
INVISIBLE = "\u00ad\u200b\ufeff"
"""Soft hyphen, zero-width space, byte-order mark: they carry no meaning in running text."""


OPENED = (r"(?<=[(\[{\u201e\u00bf\u00a1])", r"(?<=[\s(\[][\"'\u201c])", r"(?<=^[\"'\u201c])", r"(?<=[^\W\d_][/|])")
"""Places behind brackets and opening quotation marks, and behind a bar between words.

A word there is read and written as if a space stood before it. Otherwise it has other subwords than elsewhere
(``▁house``, but ``▁" h ouse``), which a model seldom sees: *(England)* became *(Edland)*.
"""
WORDS_APART: list[dict[str, Any]] = [
    {"type": "Replace", "pattern": {"Regex": f"{place}(?=[^\\W\\d_])"}, "content": " "}
    for place in (*OPENED, "(?<=\u00ab)")
]
"""The steps of a normaliser that put these spaces there. French has its own behind «, which is written, too."""


def read_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer of a file, which reads special tokens in a text as text.

    It neither cuts nor pads. Raise whatever the library raises, which is a plain Exception.
    """
    return as_plain_text(Tokenizer.from_file(str(path)))


def as_plain_text(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer, set so that no text becomes a special token, and no text is cut or padded."""
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def visible_range(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range of a text without the white space and the invisible characters at its ends."""
    while start < end and _is_blank(text[start]):
        start += 1
    while end > start and _is_blank(text[end - 1]):
        end -= 1
    return start, end


@functools.lru_cache(maxsize=4096)
def _is_blank(character: str) -> bool:
    return character.isspace() or character in INVISIBLE
