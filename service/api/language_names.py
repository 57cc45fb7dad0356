"""English names of languages."""

from __future__ import annotations

ENGLISH_NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi",
    "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian",
    "lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
# What LibreTranslate calls them.
ENGLISH_NAMES |= {"pt-BR": "Portuguese (Brazil)", "zh-Hans": "Chinese", "zh-Hant": "Chinese (traditional)"}


def language_name(tag: str) -> str:
    """Return the English name of a language, with its script or region if it has any, or its tag."""
    if tag in ENGLISH_NAMES:
        return ENGLISH_NAMES[tag]
    base, _, rest = tag.partition("-")
    return f"{ENGLISH_NAMES[base]} ({rest})" if base in ENGLISH_NAMES else tag
