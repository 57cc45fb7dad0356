"""The base of all answers, and what several of them have: tokens, texts, numbers."""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from service.engine import FloatArray, Token, TokenOrWord, Word

DIGITS = 6


def finite(value: float) -> float:
    """Return a number that JSON can hold: six digits, and a very small number for a probability of zero."""
    return round(value, DIGITS) if math.isfinite(value) else -1e9


def nested(weights: FloatArray) -> list[Any]:
    """Return weights as nested lists of numbers with six digits, null for unknown ones."""
    rounded = np.round(weights.astype(np.float64), DIGITS)
    unknown = ~np.isfinite(rounded)
    return (np.where(unknown, None, rounded) if unknown.any() else rounded).tolist()  # type: ignore[call-overload,no-any-return]


Real = Annotated[float, BeforeValidator(finite)]
Points = tuple[tuple[int, int], ...]  # of an alignment


class Answer(BaseModel):
    """Base of all answers: what has its default is absent; fields named model_… are ours, not pydantic's."""

    model_config = ConfigDict(protected_namespaces=())

    def json_bytes(self) -> bytes:
        """Return the answer as it is sent."""
        return self.__pydantic_serializer__.to_json(self, exclude_defaults=True)

    @classmethod
    def shared(cls, kind: Any, given: object) -> dict[str, Any]:
        """Return what the answer and a data class of the engine have under the same names."""
        return {name: getattr(given, name) for name in kind.__dataclass_fields__ if name in cls.model_fields}


class TokenSchema(Answer):
    """A token, or with `tokens=word` a word, and its range in the text."""

    id: int | None = Field(None, description="Number in the vocabulary; absent for a word")
    ids: tuple[int, ...] | None = Field(None, description="Of a word only: the numbers of its tokens in the vocabulary")
    text: str = Field(description="Exactly the text between `start` and `end`; empty for special tokens")
    piece: str = Field(description="Spelling in the vocabulary; of a word, those of its tokens, joined")
    start: int = Field(description="First code point")
    end: int = Field(description="Code point after the last")
    special: str | None = Field(None, description='`"</s>"` for the end token; absent for others')

    @classmethod
    def of(cls, token: TokenOrWord) -> Self:
        """Return a token with its id, or a word with the ids of its tokens."""
        number: dict[str, Any] = {"ids": token.ids} if isinstance(token, Word) else {"id": token.id}
        return cls(**number, **_place(token))

    def value(self) -> TokenOrWord:
        """Return the token or the word."""
        if self.ids is not None:
            return Word(self.ids, **_place(self))
        assert self.id is not None
        return Token(self.id, **_place(self))


def _place(token: Any) -> dict[str, Any]:
    return {name: getattr(token, name) for name in ("text", "piece", "start", "end", "special")}


class SideSchema(Answer):
    """One side of a sentence pair."""

    text: str
    tokens: tuple[TokenSchema, ...]

    @classmethod
    def of(cls, text: str, tokens: Iterable[TokenOrWord], **more: Sequence[str]) -> Self:
        """Return a text with its tokens."""
        return cls(text=text, tokens=tuple(map(TokenSchema.of, tokens)), **more)

    @property
    def values(self) -> tuple[Any, ...]:
        """Return its tokens or words as the engine has them."""
        return tuple(token.value() for token in self.tokens)

    @property
    def start(self) -> int:
        """Return the place of the sentence, which is that of its first token."""
        return self.tokens[0].start if self.tokens else 0
