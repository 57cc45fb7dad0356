"""Which languages there are and which pairs: GET /languages, and the checks that translation shares with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api.errors import ApiError, invalid
from service.api.fields import required_text
from service.api.openapi import errors_of, example
from service.api.schemas.translate import LanguageList
from service.api.state import service_of
from service.engine import Languages

router = APIRouter(tags=["Models"])

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
AUTO = "auto"
SHOWN_CHARACTERS = 40  # of what a caller sent, in an error


def language_name(tag: str) -> str:
    """Return the English name of a language, with its script or region if it has any, or its tag."""
    if tag in ENGLISH_NAMES:
        return ENGLISH_NAMES[tag]
    base, _, rest = tag.partition("-")
    return f"{ENGLISH_NAMES[base]} ({rest})" if base in ENGLISH_NAMES else tag


def read_pair(fields: Mapping[str, Any], known: Languages) -> tuple[str, str]:
    """The served languages that `source` and `target` mean, of a route that does not find out the language itself."""
    source, target = required_text(fields, "source"), required_text(fields, "target")
    if source.lower() == AUTO:
        raise invalid(
            f"only /translate finds out the language of a text; name it, one of {', '.join(known.targets)}",
            "unsupported_language",
            "source",
        )
    check_languages(known, source=source, target=target)
    return served_pair(source, target, known)


def check_languages(known: Languages, **tags: str) -> None:
    """Raise ApiError at the first tag that means no served language; tags by the names of their fields."""
    for name, tag in tags.items():
        if known.match(tag) is None:
            raise ApiError(f"{shortened(tag.lower())} is not supported", code="unsupported_language", param=name)


def served_pair(source: str, target: str, known: Languages) -> tuple[str, str]:
    """Return the served languages that two known tags mean; raises ApiError for two that no model joins."""
    found = known.pair(source, target)
    if found is None:
        own, wanted = known.match(source) or source, known.match(target) or target
        raise ApiError(
            f"{language_name(wanted)} ({wanted}) is not available as a target language from "
            f"{language_name(own)} ({own}); available: {', '.join(known.targets.get(own, ()))}",
            code="unsupported_pair",
        )
    return found


def shortened(value: str) -> str:
    """Return a value of the caller's as an error may quote it."""
    return value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}…"


@router.get(
    "/languages",
    summary="Languages and what each can be translated into",
    response_model=LanguageList,
    responses={
        200: example([{"code": "en", "name": "English", "targets": ["de", "en", "fr"]}]),
        **errors_of(500),
    },
)
async def languages(request: Request) -> JSONResponse:
    """List every language; `targets` of a language includes itself."""
    known = Languages.of(service_of(request).registry.models())
    return JSONResponse(
        [
            {"code": code, "name": language_name(code), "targets": list(targets)}
            for code, targets in known.targets.items()
        ]
    )
