"""Times of day: whether figures are one, and how the target language writes it.

"14:30" may be a time, but "John 3:16" is a verse, "1:45" of a video a length, and "10:15" the score of a match. So
figures with nothing but a colon are a time only if the words beside them say so; otherwise they stay as they are, which
is right in every language. With "pm", "Uhr" or "h" they are always a time.
"""

import functools
import re
from collections.abc import Sequence

from service.engine.values.locales import language_of, on_24_hours, time_in

_WINDOW = 64  # characters on each side that are read, so that a long text takes time in proportion
_DAYS = {
    "en": r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tomorrow|yesterday|daily",
    "fr": r"(?:lun|mar|mercre|jeu|vendre|same)dis?|dimanches?|aujourd['’]hui|demain|hier",
    "de": r"(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|heute|morgen|gestern|täglich",
}
_BEFORE = {
    "en": r"at|by|until|till|from|before|after|since|around|between|past|o['’]clock|(?:it|time)(?:['’]s| is| was)"
    r"|(?:start|begin|open|close|end|depart|leave|arrive|wake)s?(?: up)?|opens? daily|hours|departures?|arrivals?",
    "fr": r"à|vers|dès|depuis|avant|après|entre|jusqu['’]à|de|il (?:est|était|sera)|ouvert|fermé"
    r"|horaires?|départ|arrivée",
    "de": r"um|ab|bis|gegen|vor|nach|seit|zwischen|von|es (?:ist|war)|uhrzeit|geöffnet|geschlossen|abfahrt|ankunft",
    "es": r"a las?|hasta las?|desde las?|sobre las?|de las?|son las|es la",
    "it": r"alle|dalle|fino alle|verso le|sono le|ore",
    "nl": r"om|tot|vanaf|rond|na|voor|tussen|het is",
    "pt": r"às|até às|desde as|das|são",
}
_AFTER = {
    "en": r"o['’]clock|sharp|hours local|in the (?:early )?(?:morning|afternoon|evening)|at night"
    r"|GMT|UTC|CES?T|BST|[ECMP][SD]T|(?:train|bus|flight|ferry|plane|show|meeting|appointment|service|news)\b",
    "fr": r"heures?\b|du matin|de l['’]après-midi|du soir|précises?|GMT|UTC|CES?T",
    "de": r"Uhr\b|morgens|vormittags|mittags|nachmittags|abends|nachts|GMT|UTC|MES?Z",
}
_NOT_AFTER = re.compile(
    r"\s?(?:minutes?|mins?|hours?|hrs?|seconds?|secs?|heures? de|minuten|stunden|sekunden)\b|\s?[-–]\s?\d+(?![:.]?\d)"
    r"|\s(?:in|into|of|to|on) (?:the|this|that|my|your|his|her|our|their) "
    r"(?:\w+ )?(?:video|film|movie|song|clip|track|recording|episode|game|match|half|map|ratio)\b"
    r"|\s(?:ratio|scale|odds|win|victory|lead|defeat|loss|aspect)\b",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(
    r"\b(?:won|wins?|lost|loses?|beat|beats|defeated|scored?|scores|ratio|odds|scale|leads?|led|verses?|versets?|chapters?"
    r"|gagn\w+|perd\w*|battu\w*|score|échelle|rapport|gewann\w*|gewonnen|verlor\w*|schlug\w*|besiegt\w*|verhältnis|maßstab"
    r"|spielstand|endstand|vers(?:e|en)?|kapitel)\b[^.!?;]{0,24}$",
    re.IGNORECASE,
)
_HALF_NAMED = re.compile(
    r"\s(?:morgens|früh|vormittags|mittags|nachmittags|abends|nachts|am (?:Morgen|Vormittag|Mittag|Nachmittag|Abend)"
    r"|in der (?:Früh|Nacht)|du (?:matin|soir)|de (?:l['’]après-midi|la nuit))\b",
    re.IGNORECASE,
)
LENGTH = re.compile(r"\sd(?:e\s|['’])")  # à 3 h de route
_SINCE = re.compile(r"\b(?:de|depuis)\s$", re.IGNORECASE)
_FROM_TO = re.compile(r"\s?(?:à|-|–)\s?\d")
_FROM = re.compile(r"\d\s?h?\s?(?:à|-|–)\s?$")
_LIST = r"(?:\d{1,2}:[0-5]\d(?:\s?[ap]\.?m\.?)?\s?(?:,|-|–|/|&|\w{1,5})\s?){0,4}"  # times before this one: from 9:30 to
_SMALL = re.compile(r"(?:^|[^\w\s]\s?|\s)(?:[^\W\d_A-ZÀ-ÖØ-Þ]\w*|[A-ZÀ-ÖØ-Þ]\w{0,3})\s$")  # no name: the, The, an early
_HALF_OF_RANGE = re.compile(
    r"\s?(?:-|–|to|and|or|until|till)\s?(?P<hour>\d{1,2})(?:[:.][0-5]\d)?\s?(?P<half>[AaPp])\.?[Mm]\b"
)
_HOURS: Sequence[str] = ("hour", "hour2", "hour3", "hour4", "hour5", "hour6")
_MINUTES: Sequence[str] = ("minute", "minute2", "minute3", "minute5")


def is_time_of_day(match: re.Match[str], language: str) -> bool:
    """Return whether a match of the pattern of times is one, by its own letters or the words beside it."""
    before = match.string[max(0, match.start() - _WINDOW) : match.start()]
    after = match.string[match.end() : match.end() + _WINDOW]
    if match["hour6"]:
        return _is_french_hour(before, after, language)
    if not match["minute2"] or match["uhr"]:
        return True
    if int(match["hour2"]) > 24 or _NOT_BEFORE.search(before) or _NOT_AFTER.match(after):
        return False
    if _half_of_range(match):
        return True
    _, following = _context(language_of(language))
    if follows_time_words(before, language):
        return True
    return following is not None and following.match(after) is not None and (not before or bool(_SMALL.search(before)))


def _is_french_hour(before: str, after: str, language: str) -> bool:
    """Return whether "10 h" is a time of day: "à 10 h" is one, "10 h" and "un trajet de 10 h" are lengths of time."""
    if language_of(language) != "fr" or (LENGTH.match(after) and not _HALF_NAMED.match(after)):
        return False
    if _SINCE.search(before):
        return _FROM_TO.match(after) is not None
    return follows_time_words(before, language) or _FROM.search(before) is not None


def hours_in(match: re.Match[str], source: str, target: str) -> str | None:
    """Return "10 h" as a length of time in the target language; None if it is not certain to be one."""
    words = {"en": ("hour", "hours"), "de": ("Stunde", "Stunden")}.get(language_of(target))
    if words is None or language_of(source) != "fr":
        return None
    return f"{match['hour6']} {words[int(match['hour6']) != 1]}"


def follows_time_words(before: str, language: str) -> bool:
    """Return whether a text ends with words that stand before a time of day."""
    leading, _ = _context(language_of(language))
    return leading is not None and leading.search(before[-_WINDOW:]) is not None


def written_time(match: re.Match[str], target: str) -> str:
    """Return a time of day as the target language writes it; as it is if that is not certain."""
    parts = match.groupdict()
    hour = next(int(parts[name]) for name in _HOURS if parts[name])
    minutes = next((int(parts[name]) for name in _MINUTES if parts[name]), None)
    if parts["second"] or parts["second2"]:
        return match[0]
    half = parts["half"][0].lower() if parts["half"] else _half_of_range(match)
    if half:
        if not 1 <= hour <= 12 or language_of(target) == "en":
            return match[0]
        hour = on_24_hours(hour, half == "p")
    elif minutes is None and language_of(target) == "en" and 1 <= hour <= 12:
        # A model that writes "am" or "pm" guesses; where the text says it, only the figure is kept: 8 Uhr abends.
        return match[0] if _HALF_NAMED.match(match.string, match.end()) else f"{hour} o'clock"
    return time_in(hour, minutes, target) or match[0]


def _half_of_range(match: re.Match[str]) -> str:
    """Return "a" or "p" for a time whose half of the day stands after the other end: 3:30 to 4:30 pm."""
    if not match["minute2"] or not 1 <= int(match["hour2"]) <= 12:
        return ""
    end = _HALF_OF_RANGE.match(match.string, match.end())
    if end is None or not 1 <= int(end["hour"]) <= 12:
        return ""
    half = end["half"].lower()
    return half if int(match["hour2"]) % 12 <= int(end["hour"]) % 12 else "ap"[half == "a"]


@functools.cache
def _context(language: str) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Return what stands before a time of day and after it."""
    words = "|".join(part for part in (_BEFORE.get(language), _DAYS.get(language)) if part)
    following = _AFTER.get(language)
    leading = rf"(?:^|[^\w])(?:{words})[,:(]?\s?\(?{_LIST}$"
    trailing = rf"(?:\s?(?:,|-|–|&|\w{{1,5}})\s?\d{{1,2}}:[0-5]\d){{0,3}}\s?(?:{following})"
    return re.compile(leading, re.IGNORECASE) if words else None, re.compile(trailing) if following else None
