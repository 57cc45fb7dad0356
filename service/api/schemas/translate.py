"""The shapes of /translate."""

from typing import Annotated, ClassVar

from pydantic import Field

from service.api.schemas.common import (
    ApiKey,
    Count,
    Decoding,
    Glossary,
    Lowered,
    Text,
    TextsOrEmpty,
)
from service.engine import MAX_BEAM_SIZE, Effort, TextFields

FORMATS = ("text", "html")


class TranslateRequest(Decoding, TextFields):
    """A translation job; unknown fields are ignored."""

    kept_if_empty: ClassVar[frozenset[str]] = frozenset({"q"})

    q: TextsOrEmpty = Field(
        description="The text, or a list of texts (in a form, q several times); an empty text has an empty translation"
    )
    source: Text = Field(description="Language of the text, such as `en`, or `auto`")
    target: Text = Field(description="Target language, such as `fr` or `pt-BR`")
    # LibreTranslate checks the format after the languages: service.api.checks refuses other words.
    format: Annotated[str, Lowered] = Field(
        "text", description="`html`: tags are kept, and follow their words", json_schema_extra={"enum": [*FORMATS]}
    )
    alternatives: Count = Field(
        0, ge=0, le=MAX_BEAM_SIZE - 1, description="Number of further translations; there may be fewer"
    )
    glossary: Glossary = None
    target_prefix: str | None = Field(
        None,
        description="How the translation begins, up to the end of a word, if `q` is one sentence; the `alternatives` "
        "then have other words at this place. It may be empty, for the first word",
    )
    effort: Effort | None = Field(
        None, description="`best`: eight hypotheses are searched, by the ensemble of the pair if it has one and no "
        "`model` is named, and the one is taken that is best in both directions; at four to seven times the processor "
        "time. Default: the setting `TRANSLUCENT_EFFORT`, `usual`"
    )  # fmt: skip
    details: bool = Field(False, description="Also return tokens, scores and word alignment")
    api_key: ApiKey = None

    @property
    def texts(self) -> list[str]:
        """Return the texts, also of a request with one."""
        return self.q if isinstance(self.q, list) else [self.q]
