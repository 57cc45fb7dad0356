"""`translucent mcp`: the models as tools of the Model Context Protocol, for assistants and editors.

The tools use models of this machine, or those of a running server. Texts are never logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service import __version__
from service.engine import EngineError
from translucent_mt.backend import ConnectOptions, Pair
from translucent_mt.client import server_pairs
from translucent_mt.local import local_pairs
from translucent_mt.translator import AsyncTranslator

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = (
    "Translates with small models that run locally, and shows which source words each translated word comes from. "
    "Call list_languages first. A quality below 0.5 means that a reader would probably not call the sentence usable."
)


@dataclass
class AlignedWord:
    """One translated word, and the source words that it is aligned with."""

    target: str
    source: list[str]


@dataclass
class ToolTranslation:
    """A translation."""

    text: str
    model: str
    quality: float | None
    """From 0 to 1, the share of such sentences that a reader would call usable; None if the model gives none."""


@dataclass
class AlignedSentence:
    """A sentence, its translation, and which words belong together."""

    source: str
    target: str
    words: list[AlignedWord]
    score: float
    """Log-probability of the translation after the length penalty: 0 is certain, below -1 is improbable."""


@dataclass
class LanguagePair:
    """Two language tags that a model translates between, such as en and fr."""

    source: str
    target: str


@dataclass(slots=True)
class Models:
    """The translators of one place, each loaded or connected at its first use."""

    url: str | None
    models_dir: Path | None
    api_key: str | None
    _open: dict[Pair, AsyncTranslator] = field(default_factory=dict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def pairs(self) -> list[LanguagePair]:
        """Return the pairs that can be translated; raise EngineError."""
        if self.url is not None:
            found: Sequence[Pair] = await server_pairs(self.url, self._key())
        else:
            found = await asyncio.to_thread(local_pairs, self.models_dir)
        return [LanguagePair(pair.source, pair.target) for pair in found]

    async def translator(self, source: str, target: str) -> AsyncTranslator:
        """Return the default translator of a pair; raise EngineError."""
        async with self._opening:
            pair = Pair(source, target)
            if pair not in self._open:
                self._open[pair] = await self._opened(pair)
            return self._open[pair]

    async def _opened(self, pair: Pair) -> AsyncTranslator:
        if self.url is None:
            folder = {} if self.models_dir is None else {"models_dir": str(self.models_dir)}
            return await AsyncTranslator.load(source=pair.source, target=pair.target, **folder)  # type: ignore[arg-type]
        options: ConnectOptions = {**self._key(), "source": pair.source, "target": pair.target}
        return await AsyncTranslator.connect(self.url, **options)

    def _key(self) -> ConnectOptions:
        return {} if self.api_key is None else {"api_key": self.api_key}

    async def close(self) -> None:
        """Free every model."""
        for translator in self._open.values():
            await translator.close()
        self._open.clear()


def words_of(source: Sequence[str], target: Sequence[str], links: Iterable[tuple[int, int]]) -> list[AlignedWord]:
    """Return the words of a translation with those that they are aligned with."""
    return [
        AlignedWord(word, [source[i] for i, j in sorted(links) if j == number]) for number, word in enumerate(target)
    ]


def server_of(models: Models) -> MCPServer[Any]:
    """Return an MCP server with the three tools."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    @asynccontextmanager
    async def lifespan(_server: MCPServer[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await models.close()

    # The SDK may log what is wrong with a call, and with it the arguments, which are texts of users.
    server = MCPServer(
        "translucent", instructions=INSTRUCTIONS, version=__version__, log_level="CRITICAL", lifespan=lifespan
    )

    @asynccontextmanager
    async def reported() -> AsyncIterator[None]:
        try:
            yield
        except EngineError as error:
            raise ToolError(error.message) from None

    @server.tool()
    async def list_languages() -> list[LanguagePair]:
        """List the language pairs that can be translated."""
        async with reported():
            return await models.pairs()

    @server.tool()
    async def translate(text: str, source: str, target: str, glossary: dict[str, str] | None = None) -> ToolTranslation:
        """Translate a text of one or more sentences. Languages are tags such as en; a glossary maps terms to terms."""
        async with reported():
            translator = await models.translator(source, target)
            terms: Any = {} if glossary is None else {"glossary": glossary}
            found = await translator(text, **terms)
            return ToolTranslation(found.text, translator.model.name, found.quality)

    @server.tool()
    async def explain_alignment(
        text: str, source: str, target: str, translation: str | None = None
    ) -> list[AlignedSentence]:
        """Show which source words each translated word comes from, by the model's own attention.

        Without `translation` the text is translated first. With one, which must be of a single sentence, that one is
        aligned and scored.
        """
        async with reported():
            translator = await models.translator(source, target)
            if translation is not None:
                given = await translator.attention(text, translation, tokens="word", specials="drop")
                source_words, target_words = ([word.text for word in side] for side in (given.columns, given.rows))
                words = words_of(source_words, target_words, given.alignment)
                return [AlignedSentence(given.source, given.target, words, given.score)]
            return [
                AlignedSentence(
                    each.source, each.text, words_of(each.source_words, each.words, each.word_alignment), each.score
                )
                for each in (await translator(text)).sentences
            ]

    return server
