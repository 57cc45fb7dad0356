"""The shapes that only LibreTranslate's own pages use."""

from pydantic import Field

from service.api.schemas.common import Schema


class LanguageChoice(Schema):
    """A language for display on a page."""

    code: str
    name: str


class TranslatedFile(Schema):
    """The answer to a translated document."""

    translatedFileUrl: str = Field(description="Address of the translated document, for a limited time")


class FrontendLanguages(Schema):
    """The default languages of a page."""

    source: LanguageChoice
    target: LanguageChoice


class FrontendSettings(Schema):
    """Settings for a LibreTranslate page."""

    charLimit: int = Field(description="Most characters of a text")
    batchLimit: int = Field(description="Most texts in a list; an addition to LibreTranslate's fields")
    frontendTimeout: int
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: FrontendLanguages
