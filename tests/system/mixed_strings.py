"""Texts with emoji, flags, codes and values, and what their translations must hold."""

import random
from collections.abc import Iterator
from typing import NamedTuple

EMOJI = (
    *("👍", "❤️", "😀", "🌍", "🍕", "🎂🎉", "🏖️", "☔", "▶", "✅", "🙏", "😴😴😴", "#️⃣", "©️", "⭐", "🔥", "🇫🇷", "🇩🇪🇬🇧"),
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    *("👨‍👩‍👧", "👩🏽‍🚀", "👋🏿", "🤷🏻‍♀️", "🏳️‍🌈", "👩‍❤️‍👨", "🧑🏾‍🤝‍🧑🏼"),
)
CODES = (
    *("K2", "AB-1234", "%s", "{name}", "$HOME", "--force", "get_name()", "1.2.3", "#pizza", "@anna_b", "report_v2.pdf"),
    *("https://example.com/a?b=c", "bob@example.org", "/etc/hosts", "DE89 3704 0044 0532 0130 00"),
)
NUMBERS = ("2", "12", "47", "2024-05-01", "16:9", "365")
FRAMES = (
    *("I {} you", "Great job {}", "{} is at home.", "My sister likes {} very much.", "Please open {} and wait."),
    *("We saw {} yesterday, and then we went home.", "{} Thank you!", "Thanks! {} See you soon."),
    *("Do you use spice or {}?", "I have {} in my bag. Where is yours?", "{}", "- Send {} to me"),
    *("HELLO, {} IS NOT HERE TODAY.", "Press {}, then {} to play.", "He said: “{}” and left {} on the table."),
    "<b>Read</b> {} & more.",
)


class Mixed(NamedTuple):
    """A text, and the parts of it that its translation holds as they are."""

    text: str
    kept: tuple[str, ...]


def mixed_strings(count: int, seed: int = 7) -> Iterator[Mixed]:
    """Yield texts, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        frame = chance.choice(FRAMES)
        parts = [chance.choice(chance.choice((EMOJI, EMOJI, CODES, NUMBERS))) for _ in range(frame.count("{}"))]
        yield Mixed(frame.format(*parts), tuple(parts))
