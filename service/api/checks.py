"""Checks that routes share: sizes, languages, pairs. Each raises ApiError (400) in LibreTranslate's words."""

from collections.abc import Iterable, Sequence

from service.api.errors import ApiError, invalid
from service.api.languages import language_name
from service.engine import Languages, Pair
from service.settings import Settings

AUTO = "auto"
BATCH_LIMIT = 128  # texts in one list; all of them together must also fit the largest body
SHOWN_CHARACTERS = 40  # of what a caller sent, in an error


def check_texts(texts: Sequence[str], settings: Settings) -> None:
    """Raise ApiError if a list has too many texts, or one of them too many characters."""
    if len(texts) > BATCH_LIMIT:
        raise invalid(f"request ({len(texts)}) exceeds text limit ({BATCH_LIMIT})", "batch_limit")
    check_characters(texts, settings)


def check_characters(texts: Iterable[str], settings: Settings) -> None:
    """Raise ApiError if one of the texts has too many characters, by LibreTranslate's count."""
    longest = max(map(len, texts), default=0)
    if longest > settings.character_limit:
        raise invalid(f"request ({longest}) exceeds text limit ({settings.character_limit})", "character_limit")


def check_languages(known: Languages, **tags: str) -> None:
    """Raise ApiError for the first tag that means no served language; tags are named by their fields."""
    for name, tag in tags.items():
        if known.match(tag) is None:
            raise ApiError(f"{shortened(tag.lower())} is not supported", code="unsupported_language", param=name)


def served_pair(source: str, target: str, known: Languages, model: str | None = None) -> Pair:
    """Return the served languages that two known tags mean.

    Raise ApiError if the pair is not served, or if a model is named and the pair is translated by two.
    """
    found = known.pair(source, target, direct=bool(model))
    if found is None:
        pivoted = known.pair(source, target)
        if pivoted is not None:
            raise ApiError(
                f"No single model translates from {language_name(pivoted[0])} ({pivoted[0]}) to "
                f"{language_name(pivoted[1])} ({pivoted[1]}). Leave out model to translate through "
                f"{language_name(known.pivot or '')} ({known.pivot}), or name a model for each leg in a request of its "
                "own.",
                code="unsupported_pair",
                param="model",
            )
        own, wanted = known.match(source) or source, known.match(target) or target
        raise ApiError(
            f"{language_name(wanted)} ({wanted}) is not available as a target language from "
            f"{language_name(own)} ({own}); available: {', '.join(known.targets.get(own, ()))}",
            code="unsupported_pair",
        )
    return found


def named_pair(source: str, target: str, known: Languages, model: str | None = None) -> Pair:
    """Return the same for a route without language detection; raise ApiError for `auto`, too."""
    if source.lower() == AUTO:
        raise invalid(
            f"source=auto is only supported by /translate; use one of {', '.join(known.targets)}",
            "unsupported_language",
            "source",
        )
    check_languages(known, source=source, target=target)
    return served_pair(source, target, known, model)


def shortened(value: str) -> str:
    """Return a caller's value, short enough for an error message."""
    return value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}…"
