"""The regular expressions that find values; each is linear in the length of the text.

The order matters: where two begin at the same place, the first kind wins, and a value ends before the next is sought.
"""

import functools
import re

from service.engine.values.locales import numeral
from service.engine.values.spoken import spoken_pattern
from service.engine.values.value import Kind
from service.languages import Language

_FRACTIONS = "\u00bc-\u00be\u2150-\u215e"  # ½
_OTHER_DIGITS = "\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\uff10-\uff19"  # Arabic, Indic, full width
HAS_DIGIT = re.compile(rf"[0-9{_FRACTIONS}{_OTHER_DIGITS}]")
MAY_HOLD_VALUES = re.compile(
    rf"[\d{_FRACTIONS}{_OTHER_DIGITS}"
    r"@#%&<{$\\/_~`|\u20e3\ufe0f\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]|\w\.\w|\(\)|--|->|::"
    r"|\+\+|\[\[|(?:^|[\s(\[\"']):[A-Za-z_]",
    re.ASCII,
)
"""A text without any of this holds no value, which is one scan to know."""

_FILE_ENDINGS = (
    "pdf|docx?|xlsx?|pptx?|odt|ods|odp|txt|csv|tsv|md|rst|rtf|tex|epub|json|ya?ml|toml|xml|html?|css|jsx?|tsx?|py|ipynb|"
    "java|kt|rb|go|rs|cc?|cpp|hpp?|cs|php|pl|sh|bat|ps1|sql|ini|cfg|conf|log|lock|bak|tmp|png|jpe?g|gif|svg|webp|bmp|"
    "tiff?|ico|mp3|mp4|m4a|wav|ogg|flac|avi|mkv|mov|webm|zip|tar|t?gz|bz2|xz|7z|rar|iso|exe|msi|deb|rpm|apk|dmg|jar|"
    "whl|dll|so|db|sqlite|onnx|bin|dat|eml|ics|vcf|srt|vtt|po|xliff|ttf|woff2?"
)
_DOMAINS = "com|org|net|edu|gov|int|info|io|dev|app|eu|uk|de|fr|ch|at|be|ca|us|es|it|nl|example|test"
_UNITS = (
    r"s|mg|g|kg|t|lb|lbs|oz|mm|cm|dm|m|km|mi|ft|in|yd|ml|cl|dl|l|L|h|hrs?|min|sec|ms|ns|"
    r"px|pt|em|kB|KB|MB|GB|TB|PB|KiB|MiB|GiB|bit|Kbps|Mbps|Gbps|W|kW|MW|GW|kWh|V|kV|A|mA|mAh|Ah|Hz|kHz|MHz|GHz|J|kJ|cal|"
    r"kcal|Pa|hPa|bar|N|mph|kph|rpm|fps|dpi|x|k|K|M|bn|m²|m³|km²|cm²|ha|°C|°F|°"
)

MARKED = (
    r"""<(?P<tag>[A-Za-z][\w-]{0,60}+)\b[^<>\n]{0,300}?\stranslate\s?=\s?["']?no\b[^<>\n]{0,300}>[^<]*</(?P=tag)\s?>"""
    r"|<dnt>.{0,500}?</dnt>"
)
NOTRANSLATE = (
    r"""<(?P<tag2>[A-Za-z][\w-]{0,60}+)\b[^<>\n]{0,300}?\sclass\s?=\s?["'][^"'<>]{0,200}\bnotranslate\b[^<>\n]{0,300}>"""
    r"[^<]*</(?P=tag2)\s?>"
)
TAG = r"<!--.{0,500}?-->|</?[A-Za-z][\w:-]*(?:\s[^<>\n]*)?/?>"
ENTITY = r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
PLACEHOLDER = (
    r"\{\{\s?\{[^{}\n]{1,80}\}\s?\}\}|\{\{[^{}\n]{1,80}\}\}|\{%[^{}\n]{1,80}%\}|[$#%]\{[^{}\n]{1,80}\}|%\([\w.-]{1,60}\)[-+#0]?\d*(?:\.\d+)?[a-zA-Z]"
    r"|\{[\w.\[\]]{0,60}(?:![rsa])?(?::[^{}\n]{0,30})?\}|<%=?[^%\n]{1,80}%>|\[\[[\w .-]{1,60}\]\]"
    r"|(?<![\w%])%[A-Za-z_]\w{1,60}%(?![\w%])"
    r"|(?<![\w%])(?:%(?:\d+\$)?[-+#0]?\d*(?:\.\d+)?(?:hh?|ll?|[zjtL])?[sdifgxXouceEaA@])+(?![A-Za-z])"
    r"|(?<![\w$])\$(?:t\([\w.:-]{1,80}\)|[A-Za-z_]\w{0,60})|__\w{1,60}__"
    r"|\{\w[\w.]{0,60}\s?[,|][^{}\n]{1,60}\}"  # {count, number}, {name|upper}
    r"|(?<![^\s(\[\"'])::?[A-Za-z_]\w{1,60}:?(?!\w)"  # :name of Laravel, :coffee: of chats
    r"|(?<![\w%])%%(?!\w)|(?<![\w%])%\d{1,2}(?![\w%])|(?<![\w\\])\\\d(?!\w)"
)
_IN_BRACKETS = r"""\([^\s<>"»”()]{1,100}\)"""
_URL = rf"""(?:[^\s<>"»”()]|{_IN_BRACKETS})*(?:{_IN_BRACKETS}|[^\s<>".,;:!?'\[(\])}}»…”’])"""
LINK = rf"""\]\((?=[^\s()]*[/.#:@])(?:[^\s()]|{_IN_BRACKETS}){{1,500}}\)"""
"""Behind the words of a link in Markdown. Its brackets are a part of it, or a model would write others around it."""
ADDRESS = (
    rf"{LINK}|"
    rf"""(?:\b[A-Za-z][A-Za-z+.-]{{1,20}}://|\bwww\.){_URL}"""
    rf"""|\bmailto:[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}})+(?:\?{_URL})?"""
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"
    r"""|\b[A-Za-z]:\\[^\s<>"|?*]*[^\s<>"|?*.,;:!)\]]"""
    r"""|\\\\[\w.-]{1,60}\\[^\s<>"|?*]*[^\s<>"|?*.,;:!)\]]"""
    r"""|(?<![\w./~@+%-])(?:~|\.{1,2})?/(?:[\w.@+%~-]{1,80}/)*[\w@+%~-]{1,80}(?:\.[\w-]{1,20})*/?(?=[\s.,;:!?)"'\]»”]|$)"""
    rf"|(?<![\w@.-])(?:[\w-]{{1,63}}\.){{1,4}}(?:{_DOMAINS})(?![\w-])(?:/{_URL})?"
    rf"|(?<![\w@/-])(?:[\w-]{{1,60}}/)*[\w-]{{1,60}}(?:\.[\w-]{{1,60}}){{0,3}}\.(?:{_FILE_ENDINGS})(?![\w-]|\.\w)"
)
MENTION = r"(?<![\w@./])@[A-Za-z_][\w.-]{0,59}(?<![.-])|(?<![\w#&])#\w{1,60}"
PHONE = (
    r"(?<![\w.,/+-])\+\d{1,3}[ \u00a0\u202f]?(?:\(\d{1,4}\)[ \u00a0\u202f]?)?\d{1,5}"
    r"(?:[ ./\u00a0\u202f-]?\d{2,5}){1,6}(?!\w)"
    r"|(?<![\w.,/+-])\(\d{2,5}\)[ \u00a0-]?\d{2,8}(?:[ ./-]\d{2,5}){0,4}(?![\w])"
    r"|(?<![\w.,/+-])0\d{1,4}(?:[ .\u00a0\u202f-]\d{2}){3,4}(?![\w])"
    r"|(?<![\w.,/+-])0\d{2,4}[ /-]\d{3,8}(?:[ -]\d{2,5})?(?![\w])"
    r"|(?<![\w.,/+-])\d{3}[ .-]\d{3}[ .-]\d{4}(?![\w])"
    r"|(?<![\w.,/+-])\d{3}-\d{4}(?![\w-])"
    r"|(?<![\w.,/+-])1-\d{3}-\d{3}-\d{4}(?![\w-])"
)
DATE = (
    r"(?<![\w./-])\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?![\w-])"
    r"|(?<![\w./-])(?:\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}/\d{2}/\d{2})(?![\w/-]|\.\d)"
)
_SYMBOLS = r"[$€£¥₹₽₩₺₴₪฿₫]|(?:US|CA|AU|NZ|HK)\$"
_CURRENCIES = r"EUR|USD|GBP|CHF|JPY|CAD|AUD|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF"
AMOUNT = (
    r"(?P<before>(?<!\w)(?:SYMBOLS|(?:CURRENCIES)(?=[ \u00a0\u202f]?\d)))[ \u00a0\u202f]?(?P<sum>NUMERAL)(?!\w)"
    r"(?:[ \u00a0\u202f]?(?P<code>CURRENCIES)(?!\w))?"
    r"|(?<![\w.,/:-])(?P<sum2>NUMERAL)[ \u00a0\u202f]?(?P<after>SYMBOLS|(?:CURRENCIES)(?!\w))"
)
_WITHIN = r"(?=[,;:?!–-]|[ \u00a0](?:[a-z0-9(&–-]|DAYS|[A-Z]{2,4}\b))"
"""What follows a stop that ends no sentence."""
TIME = (
    r"(?:(?<![\w.,:/-])|(?<=\d:[0-5]\d-))(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?)?"
    rf"[ \u00a0\u202f]?(?P<half>[AaPp](?:\.[ \u00a0]?[Mm](?!\w)(?:\.{_WITHIN})?|[Mm](?!\w)))"
    r"|(?:(?<![\w.,:/-])|(?<=\d:[0-5]\d-))(?P<hour2>\d{1,2}):(?P<minute2>[0-5]\d)(?::(?P<second2>[0-5]\d))?"
    r"(?P<named>[ \u00a0\u202f]SIGN\b)?(?![\w:])"
    r"|(?<![\w.,:/-])(?P<hour3>\d{1,2})[.](?P<minute3>[0-5]\d)[ \u00a0\u202f]SIGN\b"
    r"|(?<![\w.,:/-])(?P<hour4>\d{1,2})[ \u00a0\u202f]SIGN\b(?![ \u00a0\u202f]\d)"
    r"|(?<![\w.,:/-])(?P<hour5>\d{1,2})[ \u00a0\u202f]?[hH][ \u00a0\u202f]?(?P<minute5>[0-5]\d)(?!\w)"
    r"|(?<![\w.,:/-])(?P<hour6>\d{1,2})[ \u00a0\u202f]?h(?!\w|[ \u00a0\u202f]\d)"
)
_MINUTES = r"[ ]?\d{1,2}(?:[.,]\d+)?['’′](?:[ ]?\d{1,2}(?:[.,]\d+)?(?:[\"”″]|''))?"
CODE = (
    r"(?<![\w^.])[A-Za-z0-9.]{1,20}(?:\^[{(]?-?[\w+-]{1,20}[)}]?)+"  # powers
    rf"|(?<![\w.,])\d{{1,3}}(?:[.,]\d+)?°(?:{_MINUTES}(?:[ ]?[NSEWO]\b)?|[ ]?[NSEWO]\b)"  # places on a map
    r"|(?<![\w.,])-?\d{1,3}\.\d{3,9}[NSEW]\b|(?<![\w.,-])-?\d{1,3}\.\d{4,9},[ ]?-?\d{1,3}\.\d{4,9}(?![\w.])"
    r"|(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}(?![\w:])"  # IPv6, network cards
    r"|(?<![\w-])O-O(?:-O)?(?![\w-])"  # castling
    r"|(?<![\w])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"
    r"|(?<![\w.])\d{4}(?:[ -]\d{4}){2,3}(?!\w)"
    r"|(?<![\w.,])v?\d+(?:\.\d+){2,}(?:-?[A-Za-z]\w*(?:\.\d+)*)?(?:\+\w+(?:\.\w+)*)?(?:[:/]\d+)?(?![\w])"
    r"|(?<![\w.,])\d{1,2}(?:,\d{1,2}){2,}(?![\w]|[.,]\d)"
    r"|(?<![\w])v\d+(?:\.\d+)+(?!\w)"
    r"|(?<![\w-])\d+(?:-\d+){2,}(?:-[\dXx])?(?![\w-])"
    r"|(?<![\w])(?:\w+(?:::|->))+\w+(?:\(\))?"
    r"|(?<![\w.])[A-Za-z_][\w.]*\(\)"
    r"|(?<![\w-])[A-Za-z0-9]*_\w+(?!\w)"
    r"|(?<![\w])(?=[\w./-]{0,60}\d)[A-Za-z][A-Za-z0-9]*(?:[-/._][A-Za-z0-9]+)*(?![\w])"
    r"(?:[+#](?=[\s.,;:!?)]|$))?"
    r"|(?<![\w.,:/-])\d+[A-Za-z][A-Za-z0-9]*(?:[-/_][A-Za-z0-9]+)*(?!\w)"
    r"|(?<![\w.,:/-])\d+(?:[-/][A-Za-z0-9]*[A-Za-z][A-Za-z0-9]*)+(?!\w)"
    r"|(?<![\w.,:/-])--?[a-z][\w-]*(?==)|(?<![\w-])--[a-z][\w-]+"
    r"|(?<![\w&])[A-Z][A-Za-z]{0,4}&[A-Z][A-Za-z]{0,4}(?![\w&;])"  # R&D
    r"|``[^\n]{1,200}?``(?!`)|(?<!`)`[^`\n]{1,200}`(?!`)"  # code, as Markdown and programmers write it
    r"|(?<![\w+#])[A-Z](?:\+\+|#)(?![\w+#])|(?<!\S)(?:\|\||&&)(?!\S)"  # C++, a || b
    r"|(?<![\w'’])\d{1,2}['’′] ?\d{1,2}(?:[\"”″]|'')"  # feet and inches
    r"|§{1,2}[ \u00a0\u202f]?\d{1,6}(?:\.\d{1,6}){0,3}[a-z]?(?!\w)"
)
EMOJI = (
    r"(?:[\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3|[\u00a9\u00ae\u203c\u2049\u2122\u2139]\ufe0f"
    r"|[\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297"
    r"\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff][\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
    r"(?:\u200d[\u2190-\u2bff\U0001f000-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]*)*)+"
)
NUMBER = (
    r"(?:(?:(?<=[\s(\[„“\"«])|^)(?P<sign>[-−+±])(?P<signed>NUMERAL)"
    r"|(?P<product>(?<![\w.,/:-])\d{1,6}(?:[.,]\d{1,6})?"  # 2 × 500: apart, French would read 2 500
    r"(?:(?:[ \u00a0\u202f]?[×✕][ \u00a0\u202f]?|[ \u00a0\u202f][x*][ \u00a0\u202f])"
    r"\d{1,6}(?:[.,]\d{1,6})?){1,3}(?!\d|[.,]\d))"
    r"|(?P<number>(?<![\w.,/:-])\d{1,4}[/:]\d{1,4}(?![\w/:]|[.,-]\d)"  # shares, ratios, days: 1/2, 16:9, 3/4
    rf"|(?:\d+[ \u2009\u202f]?)?[{_FRACTIONS}]|[{_OTHER_DIGITS}]+(?:[.,\u066b\u066c][{_OTHER_DIGITS}]+)*"
    r"|NUMERAL|(?<![\w.])\.\d+))"
)


def _in_language(pattern: str, language: Language) -> re.Pattern[str]:
    """Return a pattern with what a language writes in it."""
    days, sign = "|".join(map(re.escape, language.days)), language.clock.certain_sign
    parts = {"SYMBOLS": _SYMBOLS, "CURRENCIES": _CURRENCIES, "NUMERAL": numeral(language)}
    for name, part in {**parts, "DAYS": days or "(?!)", "SIGN": sign or "(?!)"}.items():
        pattern = pattern.replace(name, part)
    return re.compile(pattern)


@functools.cache
def unit_pattern(language: Language) -> re.Pattern[str]:
    """Return the pattern of units and of the endings of ordinals, which make no code of a number."""
    endings = "".join(f"|{ending}" for ending in language.numbers.endings)
    return re.compile(rf"(?:{_UNITS}{endings})(?![\w])")


@functools.cache
def scanner(language: Language) -> dict[Kind, re.Pattern[str]]:
    """Return one pattern for each kind, by precedence; numbers and times are those of the language."""
    patterns = {Kind.TIME: TIME, Kind.AMOUNT: AMOUNT, Kind.NUMBER: NUMBER + r"(?P<percent>[ \u00a0\u202f]?%(?!\w))?"}
    compiled = {kind: _in_language(patterns[kind], language) if kind in patterns else _SCANNER[kind] for kind in _ORDER}
    return {Kind.SPOKEN_TIME: spoken_pattern(language), **compiled}


_SCANNER: dict[Kind, re.Pattern[str]] = {
    Kind.MARKED: re.compile(f"{MARKED}|{NOTRANSLATE}", re.IGNORECASE),
    Kind.TAG: re.compile(TAG),
    Kind.PLACEHOLDER: re.compile(PLACEHOLDER),
    Kind.ENTITY: re.compile(ENTITY),
    Kind.ADDRESS: re.compile(ADDRESS),
    Kind.MENTION: re.compile(MENTION),
    Kind.DATE: re.compile(DATE),
    Kind.PHONE: re.compile(PHONE),
    Kind.CODE: re.compile(CODE),
    Kind.EMOJI: re.compile(EMOJI),
}
_ORDER = (
    Kind.MARKED,
    Kind.TAG,
    Kind.PLACEHOLDER,
    Kind.ENTITY,
    Kind.ADDRESS,
    Kind.MENTION,
    Kind.DATE,
    Kind.TIME,
    Kind.AMOUNT,
    Kind.PHONE,
    Kind.CODE,
    Kind.EMOJI,
    Kind.NUMBER,
)

TRIGGERS: dict[Kind, re.Pattern[str]] = {
    Kind.SPOKEN_TIME: re.compile(""),
    Kind.MARKED: re.compile("<"),
    Kind.TAG: re.compile("<"),
    Kind.PLACEHOLDER: re.compile(r"[%{$]|__|\[\[|:[A-Za-z_]|\\\d"),
    Kind.ENTITY: re.compile("&"),
    Kind.ADDRESS: re.compile(r"[/\\@]|\w\.\w|\]\("),
    Kind.MENTION: re.compile("[@#]"),
    Kind.EMOJI: re.compile(r"[\u20e3\ufe0f\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"),
    Kind.CODE: re.compile(r"[\d_&`|#]|--|\(\)|::|->|\+\+"),
}
"""The characters without which a kind is not searched for; the other kinds need a digit."""
