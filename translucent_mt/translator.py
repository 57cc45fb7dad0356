"""The translators: one that waits for its results, and one that is awaited."""

import asyncio
import weakref
from collections.abc import Coroutine, Iterable, Sequence
from itertools import repeat
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from service.engine import InvalidOption
from translucent_mt import event_loop
from translucent_mt.attention import Attention
from translucent_mt.backend import AttentionOptions, ConnectOptions, LoadOptions, Model, TranslationOptions
from translucent_mt.checks import check_options, listed, with_options
from translucent_mt.client import HttpBackend
from translucent_mt.local import LocalBackend
from translucent_mt.results import Attend, Score, Sentence, Translation, Translations

Result = TypeVar("Result")
AT_ONCE = 4  # attention requests in flight for one call; the model runs them together

Text = str | Sentence | Translation
Backend = LocalBackend | HttpBackend  # where the model runs


def _pairs(source: str | Sequence[str], target: str | Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of two texts or of two lists of one length; raise InvalidOption."""
    if isinstance(source, str) and isinstance(target, str):
        return [(source, target)]
    if isinstance(source, str) or isinstance(target, str) or len(source) != len(target):
        raise InvalidOption("score takes two texts, or two lists of the same length.")
    return list(zip(source, target, strict=True))


class AsyncTranslator:
    """The calls of a Translator as coroutines, for a program with an event loop of its own."""

    def __init__(self, backend: Backend) -> None:
        """Use a backend of the running event loop; `load` and `connect` make it."""
        self.backend = backend

    @classmethod
    @with_options
    async def load(cls, model: str | None = None, **options: Unpack[LoadOptions]) -> Self:
        """Load a model into this process; see Translator.load."""
        check_options(options, LoadOptions)
        return cls(await LocalBackend.load(model, options))

    @classmethod
    @with_options
    async def connect(cls, url: str, **options: Unpack[ConnectOptions]) -> Self:
        """Use a model of a server; see Translator.connect."""
        check_options(options, ConnectOptions)
        return cls(await HttpBackend.connect(url, options))

    @property
    def model(self) -> Model:
        """Return the description of the model."""
        return self.backend.model

    @overload
    async def __call__(self, text: str, **options: Unpack[TranslationOptions]) -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    async def __call__(self, text: Iterable[str], **options: Unpack[TranslationOptions]) -> Translations: ...

    @with_options
    async def __call__(
        self, text: str | Iterable[str], **options: Unpack[TranslationOptions]
    ) -> Translation | Translations:
        """Translate a text, or a list of texts; see Translator. If the task is cancelled, so is the work."""
        return await self._translate(text, options, None)

    async def _translate(
        self, text: str | Iterable[str], options: TranslationOptions, attend: Attend
    ) -> Translation | Translations:
        check_options(options, TranslationOptions)
        texts = [text] if isinstance(text, str) else listed(text)
        given = [each for each in texts if each is not None]
        found = map(
            Translation.of, given, await self.backend.translate(given, options), repeat(attend), repeat(options)
        )
        every = Translations(None if each is None else next(found) for each in texts)
        return every[0] if isinstance(text, str) else every

    @with_options
    async def attention(self, text: Text, target: str | None = None, **options: Unpack[AttentionOptions]) -> Attention:
        """Return the attention of a sentence, of a given translation, or of a result; see Translator."""
        check_options(options, AttentionOptions)
        pair = None
        if isinstance(text, Sentence | Translation):
            if target is not None:
                raise InvalidOption("A translation already has its target; give the source as a text.")
            one = text if isinstance(text, Sentence) else text._only("attention")
            text, target, pair = one.source, one.text, one.pair
            options = {**one.path, **options}
        return Attention(await self.backend.attention(text, target, options, pair), self.backend.model)

    @overload
    async def score(self, source: str, target: str) -> Score: ...  # type: ignore[overload-overlap]

    @overload
    async def score(self, source: Sequence[str], target: Sequence[str]) -> list[Score]: ...

    async def score(self, source: str | Sequence[str], target: str | Sequence[str]) -> Score | list[Score]:
        """Return how probable the model finds a given translation; see Translator."""
        room = asyncio.Semaphore(AT_ONCE)

        async def one(source: str, target: str) -> Score:
            async with room:
                return Score(await self.attention(source, target))

        found = list(await asyncio.gather(*(one(*pair) for pair in _pairs(source, target))))
        return found[0] if isinstance(source, str) else found

    async def close(self) -> None:
        """Free the model, or close the connections."""
        await self.backend.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncTranslator {self.model.name}: {self.model.source} → {self.model.target}>"


class Translator:
    """A model that translates: of this process (`load`) or of a server (`connect`).

    It may be called from several threads, and from a notebook. `close` frees the model; `with` does it at the end.
    """

    def __init__(self, backend: Backend | str) -> None:
        """Use a backend on the event loop of `translucent_mt.event_loop`; `load` and `connect` make it."""
        if isinstance(backend, str):
            raise InvalidOption(
                f"Write Translator.load({backend!r}) for a model, or Translator.connect(url) for a server."
            )
        self._calls = AsyncTranslator(backend)
        self._closed = weakref.finalize(self, _close, backend)

    @classmethod
    @with_options
    def load(cls, model: str | None = None, **options: Unpack[LoadOptions]) -> Self:
        """Load a model into this process: a bundle's folder, a name, or none if `source` and `target` say enough.

        Raise EngineError, for example BundleMissing. It needs the extra `cpu` or `gpu`.
        """
        return cls(event_loop.run(AsyncTranslator.load(model, **options)).backend)

    @classmethod
    @with_options
    def connect(cls, url: str, **options: Unpack[ConnectOptions]) -> Self:
        """Use a model of a server, such as http://localhost:8000; raise EngineError. It needs the extra `client`."""
        return cls(event_loop.run(AsyncTranslator.connect(url, **options)).backend)

    @property
    def model(self) -> Model:
        """Return the description of the model."""
        return self._calls.model

    @overload
    def __call__(self, text: str, **options: Unpack[TranslationOptions]) -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, text: Iterable[str], **options: Unpack[TranslationOptions]) -> Translations: ...

    @with_options
    def __call__(self, text: str | Iterable[str], **options: Unpack[TranslationOptions]) -> Translation | Translations:
        """Translate a text, or a list of texts, each cut into sentences; raise EngineError."""
        return self._run(self._calls._translate(text, options, self.attention))

    @with_options
    def attention(self, text: Text, target: str | None = None, **options: Unpack[AttentionOptions]) -> Attention:
        """Return the attention of a text and the model's translation, of a given translation, or of a result.

        With a given translation, a text is one sentence, which is never cut. Raise EngineError.
        """
        return self._run(self._calls.attention(text, target, **options))

    @overload
    def score(self, source: str, target: str) -> Score: ...  # type: ignore[overload-overlap]

    @overload
    def score(self, source: Sequence[str], target: Sequence[str]) -> list[Score]: ...

    def score(self, source: str | Sequence[str], target: str | Sequence[str]) -> Score | list[Score]:
        """Return how probable the model finds a given translation (forced decoding); raise EngineError."""
        return self._run(self._calls.score(source, target))

    def close(self) -> None:
        """Free the model, or close the connections; the translator cannot be used after that."""
        self._closed()

    def _run(self, call: Coroutine[Any, Any, Result]) -> Result:
        if not self._closed.alive:
            call.close()
            raise InvalidOption("This translator is closed; load or connect a new one.")
        return event_loop.run(call)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Translator {self.model.name}: {self.model.source} → {self.model.target}>"


def _close(backend: Backend) -> None:
    event_loop.run(backend.close())
