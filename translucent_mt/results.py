"""What a translator returns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from service.engine import InvalidOption, SentenceDetail, Token, TokenOrWord
from translucent_mt import display
from translucent_mt.attention import Attention
from translucent_mt.backend import AttentionOptions, Pair, TranslatedText, TranslationOptions
from translucent_mt.tables import data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN = 80  # characters of a text in a repr

# Returns the attention of a sentence; None for an AsyncTranslator, which is awaited.
Attend = Callable[["Sentence"], Attention] | None


class Sentence:
    """One translated sentence: tokens, scores and alignment. Places are in the whole text and translation."""

    def __init__(
        self, detail: SentenceDetail, pair: Pair, attend: Attend, options: TranslationOptions | None = None
    ) -> None:
        """Set the details of a translation with these options."""
        self.pair = pair  #: the languages of its source and its text
        self._detail, self._attend, self._options = detail, attend, options or {}
        self.language = pair.source  #: of the source
        self.source, self.text = detail.source_text, detail.target_text  #: the sentence and its translation
        self.source_tokens, self.tokens = detail.source_tokens, detail.target_tokens  #: what the model read and wrote
        self.token_logprobs = detail.token_logprobs  #: natural logarithms, of each written token
        self.alignment = detail.alignment  #: pairs of aligned (source token, written token)
        self.source_words, self.words = detail.source_words, detail.target_words  #: by the rule of docs/attention.md
        self.word_alignment = detail.word_alignment  #: pairs of aligned (source word, written word)
        self.score = detail.score  #: log-probability after the length penalty
        self.quality = detail.quality  #: probability that a reader would call it usable; None if the model gives none

    @cached_property
    def attention(self) -> Attention:
        """Return the attention of this translation, on the path of its tokens; raise EngineError.

        It is computed at the first use.
        """
        if self._attend is None:
            raise InvalidOption(
                "This result has no translator at hand: use translator.attention(sentence), or with an AsyncTranslator "
                "`await translator.attention(sentence)`."
            )
        return self._attend(self)

    @property
    def path(self) -> AttentionOptions:
        """Return the options with which `attention` shows exactly this path; after a glossary, that of its text."""
        options: AttentionOptions = {"values": self._options["values"]} if "values" in self._options else {}
        if "glossary" not in self._options:  # what is read of a term is not known without it
            options["source_ids"] = [token.id for token in self.source_tokens]
            options["target_ids"] = [token.id for token in self.tokens]
        return options

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: a translator stays in its process."""
        return {**self.__dict__, "_attend": None, "attention": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        del state["attention"]
        self.__dict__.update(state)

    def to_dict(self) -> dict[str, Any]:
        """Return the texts, tokens and scores as values that JSON has."""
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "quality": self.quality,
            "tokens": self.rows(),
            "word_alignment": [list(link) for link in self.word_alignment],
        }

    def to_pandas(self) -> DataFrame:
        """Return one row for each written token, with its probability and the source tokens aligned with it."""
        return data_frame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `to_pandas`."""
        links: dict[int, list[str]] = {}
        for source, target in self.alignment:
            links.setdefault(target, []).append(_shown(self.source_tokens[source]))
        return [
            {
                "token": _shown(token),
                "start": token.start,
                "end": token.end,
                "logprob": logprob,
                "probability": math.exp(logprob),
                "aligned": " ".join(links.get(number, [])),
            }
            for number, (token, logprob) in enumerate(zip(self.tokens, self.token_logprobs, strict=True))
        ]

    def _repr_html_(self) -> str:
        return display.card(self.source, self.text, self._detail.target_start, [self._detail], self.quality)

    def __repr__(self) -> str:
        return f"<Sentence {_short(self.source)} → {_short(self.text)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Translation(str):
    """The translation of one text: a string, whose `sentences` have the details."""

    source: str
    text: str
    sentences: tuple[Sentence, ...]
    alternatives: tuple[str, ...]
    quality: float | None  # 0 to 1: the share that is expected to be usable; None if the model gives none
    language: str  # of the source
    pivot: Translation | None = None  # the first leg, if the text was translated through another language
    warnings: tuple[str, ...] = ()  # what a reader should know

    def __new__(cls, source: str, text: str, *_: object, **__: object) -> Self:
        """Return the string; the other fields are those of the data class."""
        return super().__new__(cls, text)

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return self.source, self.text

    @classmethod
    def of(
        cls, source: str, found: TranslatedText, attend: Attend, options: TranslationOptions | None = None
    ) -> Translation:
        """Return what a backend found with these options."""
        pair, pivot = found.pair, None
        if found.pivot is not None:
            first = TranslatedText(found.pivot.text, Pair(pair.source, found.pivot.language), (), found.pivot.sentences)
            pivot, pair = cls.of(source, first, attend, options), Pair(found.pivot.language, pair.target)
        sentences = tuple(Sentence(each, pair, attend, options) for each in found.sentences)
        return cls(
            source, found.text, sentences, found.alternatives, found.quality, found.pair.source, pivot, found.warnings
        )

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Return the tokens of all sentences."""
        return tuple(token for each in self.sentences for token in each.tokens)

    @property
    def token_logprobs(self) -> tuple[float, ...]:
        """Return the log-probabilities of these tokens."""
        return tuple(value for each in self.sentences for value in each.token_logprobs)

    @property
    def score(self) -> float:
        """Return the score of the only sentence; of several, the mean weighted by their tokens; NaN without one."""
        weights = [len(each.tokens) for each in self.sentences]
        total = sum(weight * each.score for weight, each in zip(weights, self.sentences, strict=True))
        return total / sum(weights) if sum(weights) else math.nan

    @property
    def attention(self) -> Attention:
        """Return the attention of the only sentence, computed at the first use; raise InvalidOption for several."""
        return self._only("attention").attention

    def to_dict(self) -> dict[str, Any]:
        """Return the translation with its sentences as values that JSON has."""
        return {
            "source": self.source,
            "text": self.text,
            "language": self.language,
            "alternatives": list(self.alternatives),
            "quality": self.quality,
            "warnings": list(self.warnings),
            "pivot": self.pivot and self.pivot.to_dict(),
            "sentences": [each.to_dict() for each in self.sentences],
        }

    def to_pandas(self) -> DataFrame:
        """Return one row for each written token, and the number of its sentence."""
        rows = [row | {"sentence": number} for number, each in enumerate(self.sentences) for row in each.rows()]
        return data_frame(rows)

    def _only(self, what: str) -> Sentence:
        if len(self.sentences) == 1:
            return self.sentences[0]
        if not self.sentences:
            raise InvalidOption(f"There is no {what}: nothing was translated, or details=False was given.")
        raise InvalidOption(
            f"This text has {len(self.sentences)} sentences, and each has its own {what}: use .sentences[0].{what}."
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Translation {_short(self.source)} → {_short(self.text)}>"

    def _repr_html_(self) -> str:
        return display.card(self.source, self.text, 0, [each._detail for each in self.sentences], self.quality)


class Translations(list[Any]):
    """The translations of a list of texts, in their order; None where a text was missing."""

    def to_pandas(self) -> DataFrame:
        """Return one row for each text: source, text, score, quality."""
        rows = [{name: getattr(each, name, None) for name in ("source", "text", "score", "quality")} for each in self]
        return data_frame(rows)

    def _repr_html_(self) -> str:
        return display.table((each.source, each.text, each.quality) for each in self if each is not None)


class Score:
    """The model's opinion of a given translation; the attention was computed with it."""

    def __init__(self, attention: Attention) -> None:
        self.attention = attention
        self.score = attention.score  #: log-probability after the length penalty; `float` gives the same
        self.tokens = attention.rows  #: of the given translation
        self.token_logprobs = attention.token_logprobs  #: natural logarithms, of each token
        self.token_ranks = attention.token_ranks  #: 1 is the model's first choice

    def to_pandas(self) -> DataFrame:
        """Return one row for each token of the given translation."""
        rows: list[dict[str, Any]] = [
            {"token": _shown(token), "logprob": logprob, "probability": math.exp(logprob), "rank": rank}
            for token, logprob, rank in zip(self.tokens, self.token_logprobs, self.token_ranks, strict=True)
        ]
        return data_frame(rows)

    def __float__(self) -> float:
        return self.score

    def __repr__(self) -> str:
        return f"<Score {self.score:.3f}: {self.attention.source!r} → {self.attention.target!r}>"


def _short(text: str) -> str:
    """Return a text as it stands in a list of results, which stays readable."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def _shown(token: TokenOrWord) -> str:
    return token.special or token.text or token.piece
