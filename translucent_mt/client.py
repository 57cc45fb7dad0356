"""A model on a server: the same calls over HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from service import engine
from service.answers.attention import AttentionResponse
from service.answers.models import LanguageSchema, ModelList, ModelSchema
from service.answers.translation import DetailsSchema, TranslateResponse
from service.engine import AttentionMap, EngineError, InvalidOption, Overloaded, mean_quality
from translucent_mt.backend import AttentionOptions, ConnectOptions, Model, Pair, TranslatedText, TranslationOptions

if TYPE_CHECKING:
    import httpx

TEXTS_IN_REQUEST = 32  # below the server's default limit of a list
TIMEOUT = 60.0  # seconds for each request
ATTEMPTS = 3  # of a request that the server refuses because it is busy
MOST_WAIT = 10.0  # seconds between two attempts
_BUSY = (429, 503)


class ServerError(EngineError):
    """The server cannot be reached, or refuses for a reason that only servers have; `status` is 0 without an answer."""

    code = "server_error"

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class HttpBackend:
    """A model of a server."""

    def __init__(self, client: httpx.AsyncClient, options: ConnectOptions, pair: Pair, model: Model) -> None:
        self._client, self._options, self._pair = client, options, pair
        self.model = model

    @classmethod
    async def connect(cls, url: str, options: ConnectOptions) -> Self:
        """Ask a server for its models, and choose one; raise EngineError."""
        client = _client(url, options)
        try:
            models = ModelList.model_validate(await _ask(client, "GET", "models")).models
            pair, chosen = _chosen(models, await _languages(client), url, options)
        except BaseException:
            await client.aclose()
            raise
        return cls(client, options, pair, Model.of(chosen, pair))

    async def translate(self, texts: Sequence[str], options: TranslationOptions) -> list[TranslatedText]:
        """Translate texts, in several requests if they are many."""
        fields = {"details": True, **options, **self._fields()}
        found: list[TranslatedText] = []
        for first in range(0, len(texts), TEXTS_IN_REQUEST):
            asked = list(texts[first : first + TEXTS_IN_REQUEST])
            answer = await _ask(self._client, "POST", "translate", {**fields, "q": asked})
            found += _translated(TranslateResponse.model_validate(answer), self._pair)
        return found

    async def attention(
        self, text: str, target_text: str | None, options: AttentionOptions, pair: Pair | None = None
    ) -> AttentionMap:
        """Return the attention of a sentence and its own translation, or of the given one."""
        fields: dict[str, Any] = {**options, **self._fields(), "text": text}
        fields |= {name: list(fields[name]) for name in ("source_ids", "target_ids") if name in fields}
        if target_text is not None:
            fields["target_text"] = target_text
        if pair is not None:
            fields |= {"source": pair.source, "target": pair.target}
        return AttentionResponse.model_validate(await _ask(self._client, "POST", "attention", fields)).value()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"source": self._pair.source, "target": self._pair.target}
        if self._options.get("model") is not None:
            fields["model"] = self._options["model"]
        return fields


def _translated(answer: TranslateResponse, asked: Pair) -> Iterator[TranslatedText]:
    """Yield the texts of the answer to a list of texts."""
    parts: Any = answer
    for number, text in enumerate(parts.translatedText):

        def part(name: str, missing: Any = None, number: int = number) -> Any:
            values = getattr(parts, name)
            return missing if values is None else values[number]

        detected, details = part("detectedLanguage"), part("details", DetailsSchema(sentences=()))
        yield TranslatedText(
            text=text,
            pair=Pair(detected.language if detected else asked.source, asked.target),
            alternatives=tuple(part("alternatives", ())),
            sentences=details.values,
            quality=mean_quality((each.quality, len(each.source.text)) for each in details.sentences),
            pivot=details.pivot and details.pivot.value(),
            warnings=tuple(each.message for each in part("warnings", ())),
        )


async def server_pairs(url: str, options: ConnectOptions) -> list[Pair]:
    """Return the language pairs that a server translates; raise EngineError."""
    async with _client(url, options) as client:
        languages = await _languages(client)
    return [Pair(each.code, target) for each in languages for target in each.targets if target != each.code]


async def _languages(client: httpx.AsyncClient) -> list[LanguageSchema]:
    return [LanguageSchema.model_validate(each) for each in await _ask(client, "GET", "languages")]


def _client(url: str, options: ConnectOptions) -> httpx.AsyncClient:
    try:
        import httpx
    except ImportError:
        raise ImportError(f"connect needs httpx: {sys.executable} -m pip install httpx") from None
    headers = {"Authorization": f"Bearer {options['api_key']}"} if options.get("api_key") else {}
    timeout = options.get("timeout", TIMEOUT)
    return httpx.AsyncClient(base_url=url.rstrip("/") + "/", timeout=timeout, headers=headers)


def _chosen(
    models: Sequence[ModelSchema], languages: Sequence[LanguageSchema], url: str, options: ConnectOptions
) -> tuple[Pair, ModelSchema]:
    """Return the wanted pair, and the model that writes its translations; raise InvalidOption for another choice."""
    source, target, model = options.get("source"), options.get("target"), options.get("model")
    named = [each for each in models if model in (None, each.name, each.architecture)]
    through = {
        Pair(each.code, other): str(pivot)
        for each in languages
        for other, pivot in (each.pivots or {}).items()
        if model is None
    }
    direct = {Pair(pair.source, pair.target) for each in named for pair in each.pairs}
    pairs = _fitting(direct, options) or _fitting(through, options)
    if source == "auto" and target is not None:
        pairs = {Pair("auto", target)} if pairs else set()
    if len(pairs) != 1:
        every = sorted({f"{pair.source} → {pair.target}" for each in models for pair in each.pairs})
        wanted = "No model" if not pairs else "More than one model"
        raise InvalidOption(
            f"{wanted} of {url} fits; choose with source=, target= and model=. It has {', '.join(every)}."
        )
    [pair] = pairs
    last = Pair(through.get(pair, pair.source), pair.target)
    suiting = [each for each in named if _translates(each, last, only_default=model is None)]
    return pair, (suiting or named)[0]


def _fitting(pairs: Iterable[Pair], options: ConnectOptions) -> set[Pair]:
    source, target = options.get("source"), options.get("target")
    return {each for each in pairs if source in (None, "auto", each.source) and target in (None, each.target)}


def _translates(model: ModelSchema, pair: Pair, *, only_default: bool) -> bool:
    return any(
        pair.source in ("auto", each.source) and pair.target == each.target and (each.default or not only_default)
        for each in model.pairs
    )


async def _ask(client: httpx.AsyncClient, method: str, path: str, fields: Mapping[str, Any] | None = None) -> Any:
    """Return the JSON of an answer; a busy server is asked again after the time that it names."""
    import httpx

    for attempt in range(1, ATTEMPTS + 1):
        try:
            response = await client.request(method, path, json=fields)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ServerError(f"{client.base_url} cannot be reached: {reason}") from None
        if response.status_code not in _BUSY or attempt == ATTEMPTS:
            break
        await asyncio.sleep(min(_seconds(response.headers.get("retry-after")), MOST_WAIT))
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict | list):
        raise ServerError(f"{client.base_url} answers {response.status_code}, and not as Translucent does.")
    if response.is_success:
        return answer
    said = answer if isinstance(answer, dict) else {}
    raise error_of(said, response.status_code, _seconds(response.headers.get("retry-after")))


def error_of(answer: Mapping[str, Any], status: int, retry_after: float) -> EngineError:
    """Return the error of the engine that has the answer's code; ServerError for the server's own codes."""
    message, code = str(answer.get("error", "")), answer.get("code")
    for kind in _every(engine.InvalidInput):
        if kind.code == code:
            return kind(message)
    if code == Overloaded.code:
        return Overloaded(message, retry_after)
    if code == engine.DeadlineExceeded.code:
        return engine.DeadlineExceeded(message)
    return engine.InvalidInput(message) if status in (400, 404) else ServerError(message, status)


def _every(kind: type[EngineError]) -> list[type[EngineError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _every(below))]


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdecimal() else 1.0
