"""What each language knows: its numbers, times, short forms, capitals and registers, as data in a folder each.

The rules stand in the engine and take a `Language`; a folder has no code. A language without a folder works without
these comforts (ADR 28).
"""

from service.languages.folders import known_languages as known_languages
from service.languages.folders import language_of as language_of
from service.languages.language import Language as Language
