"""Which languages there are and which pairs: GET /languages, and the checks that translation shares with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from service.api.documents import errors_of, example
from service.api.schemas import LanguageList
from service.api.state import service_of
from service.engine.types import ModelInfo

router = APIRouter(tags=["Models"])

ENGLISH_NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi",
    "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian",
    "lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages of the loaded models; every language can be translated into itself."""

    targets: dict[str, tuple[str, ...]]  # by source, in alphabetical order, itself included

    @classmethod
    def of(cls, models: Iterable[ModelInfo]) -> Languages:
        """Collect the pairs of the models."""
        found: dict[str, set[str]] = {}
        for info in models:
            source, target = info.source_language.lower(), info.target_language.lower()
            found.setdefault(source, {source}).add(target)
            found.setdefault(target, {target})
        return cls({code: tuple(sorted(found[code])) for code in sorted(found)})

    def __contains__(self, code: str) -> bool:
        return code in self.targets


def language_name(code: str) -> str:
    """The English name of a language, or its code."""
    return ENGLISH_NAMES.get(code, code)


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
