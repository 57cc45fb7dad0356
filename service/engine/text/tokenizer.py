"""Converts text to token ids and back, with the range of every token in the text.

Encoding: a token's span is its exact range of the caller's own text, without the space before it. The byte tokens of
one character share that character's span; a decomposed character is one character. A piece that is only a space has an
empty span before the next token.

Decoding: pieces are joined, any white space becomes one plain space, and none is kept at either end. A model may
produce bytes that form no character. They are left out: their tokens have empty spans, and the text never gets a
replacement character that the model did not produce.
"""

from __future__ import annotations

import copy
import functools
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers

from service.bundle.load import Bundle
from service.bundle.manifest import Manifest, SpecialIds
from service.bundle.vocabulary import BYTE_TOKENS, SPACE_PIECE, as_plain_text, read_tokenizer, visible_range
from service.bundle.wrapping import Span
from service.engine.errors import BundleCorrupt, BundleIncompatible
from service.engine.text.nfc import nfc_edits, normalize_nfc
from service.engine.text.token_text import WrittenText, check_text, closed_up, parts_words
from service.engine.text.word_ids import cuts_at_spaces, word_ids
from service.engine.types import Token
from service.engine.values.constraints import TokenClasses

_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")
MOST_CHARACTERS = 20_000  # whose knowledge is remembered
_WITHIN_WORDS = frozenset(("Lu", "Ll", "Lt", "Lm", "No", "Nl", "So"))  # not Lo: a Chinese character is a piece alone
_VISIBLE = frozenset("LNPS")  # first letters of the categories of Unicode
KNOWN_WORDS, LONGEST_KNOWN = 4096, 40  # words whose ids are kept, and their characters: at most 2 MB
_OPENERS = tuple("([{<«„“‚‘\"'’-–—−/~=+*_#@¿¡:$€£")  # a value may follow these without a space


@dataclass(frozen=True, slots=True)
class DecodedText:
    """The text of a sequence of ids, and one token for each id, located in that text."""

    text: str
    tokens: tuple[Token, ...]
    values: tuple[Span, ...] = ()  # where `text` holds values that are no words


class Tokenizer:
    """Converts the texts of one side to ids; it is thread-safe and releases the GIL while it encodes."""

    def __init__(
        self, library: tokenizers.Tokenizer, special_ids: SpecialIds, end: bool = True, languages: Collection[int] = ()
    ) -> None:
        """Wrap a tokenizer of the library; `end`: whether a text is closed by </s>; `languages`: ids that name them."""
        self._library = as_plain_text(library)
        self._bos, self.eos, self._unk = special_ids.bos, special_ids.eos, special_ids.unk
        self.prefix: tuple[int, ...] = ()  # the ids before every text
        self._views: dict[tuple[int, ...], Tokenizer] = {(): self}
        self._end = (special_ids.eos,) if end else ()
        vocabulary = library.get_vocab(with_added_tokens=True)
        # Entries that no text is cut into have names with a leading space (training.imports.subwords).
        self._pieces = [""] * (max(vocabulary.values(), default=-1) + 1)
        for piece, number in vocabulary.items():
            self._pieces[number] = piece.removeprefix(" ")
        self._by_name = {} if self._unk is None else {piece: number for number, piece in enumerate(self._pieces)}
        specials = special_ids.pad, special_ids.bos, special_ids.eos, *languages
        self._specials = {number: self._pieces[number] for number in specials}
        self._words = word_ids(self._library) if self._unk is None and cuts_at_spaces(self._library) else None
        self._longest_piece = max(map(len, vocabulary))
        self._parts_words = parts_words(library)
        self._known_word = functools.lru_cache(KNOWN_WORDS)(self._word)
        self._known_character = functools.lru_cache(MOST_CHARACTERS)(self._knows)
        self._bytes = {
            number: int(match[1], 16) for piece, number in vocabulary.items() if (match := _BYTE_PIECE.fullmatch(piece))
        }

    def with_prefix(self, prefix: tuple[int, ...]) -> Tokenizer:
        """Return the same tokenizer with ids before every text that name a language."""
        if prefix not in self._views:
            view = copy.copy(self)
            view.prefix = prefix
            self._views[prefix] = view
        return self._views[prefix]

    @property
    def classes(self) -> TokenClasses:
        """Return the classes of tokens that values need, which are the same whatever the prefix is."""
        return self._views[()]._classes

    @functools.cached_property
    def _classes(self) -> TokenClasses:
        size = len(self._pieces)
        digits, openers, continuing = (np.zeros(size, bool) for _ in range(3))
        for number, piece in enumerate(self._pieces):
            byte = self._bytes.get(number)
            text = piece if byte is None else chr(byte)
            digits[number] = any(map(str.isdecimal, text)) if number not in self._specials else False
            openers[number] = number in self._specials or text == SPACE_PIECE or text.endswith(_OPENERS)
            continuing[number] = number not in self._specials and text[:1].isalnum() and (byte is None or byte < 128)
        packed = (np.packbits(flags).tobytes() for flags in (digits, openers, continuing))
        return TokenClasses(size, *packed)

    def word(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text at the start of a word, without those that surround every text."""
        return self._known_word(text) if len(text) <= LONGEST_KNOWN else self._word(text)

    def _word(self, text: str) -> tuple[int, ...]:
        return tuple(self._library.encode(normalize_nfc(text), add_special_tokens=False).ids)

    def writes_plainly(self, ids: Sequence[int]) -> bool:
        """Return whether tokens are pieces of the vocabulary, none of bytes or unknown, and the first is visible."""
        plain = all(number not in self._bytes and number != self._unk for number in ids)
        return plain and bool(ids) and self._pieces[ids[0]] != SPACE_PIECE

    def knows_letters(self, ids: Sequence[int]) -> bool:
        """Return whether a token is a piece with a letter: letters in bytes, or unknown, mean nothing to a model."""
        none = (self._bytes, self._specials, (self._unk,))
        return any(
            not any(number in each for each in none) and any(map(str.isalpha, self.piece(number))) for number in ids
        )

    def knows(self, character: str) -> bool:
        """Return whether the vocabulary has a character in a piece; if text has it within words, with other letters.

        A letter that no piece joins to another one was hardly seen in training: ø in a model of English and German.
        """
        return self._known_character(character)

    def _knows(self, character: str) -> bool:
        if any(number in self._bytes or number == self._unk for number in self.word(character)):
            return False
        return unicodedata.category(character) not in _WITHIN_WORDS or character in self._joined

    @functools.cached_property
    def _joined(self) -> frozenset[str]:
        """Return the characters that pieces join with others, or that begin words: À, but not ø in English text."""
        return frozenset("".join(piece for piece in self._pieces if len(piece) > 1))

    def writes_something(self, ids: Sequence[int]) -> bool:
        """Return whether anything of what tokens write is visible: bytes may form no character."""
        return any(unicodedata.category(character)[0] in _VISIBLE for character in self.decode(ids))

    def holds_text(self, ids: Sequence[int]) -> bool:
        """Return whether ids from `encode` hold more than the ids that surround every text."""
        return len(ids) > len(self.prefix) + len(self._end)

    def exceeds(self, limit: int, text: str) -> bool:
        """Return whether a text is so long that it must have more tokens, without tokenisation.

        White space may be removed, and up to four characters may be composed into one.
        """
        return len(text) > limit and len("".join(text.split())) > 4 * self._longest_piece * limit

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text, ending with </s> if texts are closed; raise InvalidText for lone surrogates."""
        if self._words is not None and text.isascii():
            return (*self.prefix, *self._words(text), *self._end)
        check_text(text)
        composed = normalize_nfc(text)
        encoding = self._library.encode(composed, add_special_tokens=False)
        ids = encoding.ids
        if self._unk is not None and self._unk in ids:
            ids = [self._known(*each, composed) for each in zip(ids, encoding.offsets, strict=True)]
        return (*self.prefix, *ids, *self._end)

    def _known(self, number: int, span: tuple[int, int], text: str) -> int:
        """Return the id of a token; a text without a piece on this side may be a piece of the other side."""
        if number != self._unk:
            return number
        surface = text[slice(*span)]
        normalizer = self._library.normalizer
        return self._by_name.get(normalizer.normalize_str(surface).strip() if normalizer else surface, number)

    def tokens(self, text: str, shift: int = 0) -> tuple[Token, ...]:
        """Return the located tokens of a text, </s> last if texts are closed; `shift` is added to every span."""
        check_text(text)
        edits = nfc_edits(text)
        composed = edits.edited(text)
        encoding = self._library.encode(composed, add_special_tokens=False)
        tokens = [self._special(number, shift) for number in self.prefix]
        before = 0
        for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            start = before if start < before < end else start  # a space that is not in the text has the sign's place
            number = self._known(number, (start, end), composed)
            start, end = visible_range(composed, start, end)
            piece = self._pieces[number]
            if piece == SPACE_PIECE and composed[start:end] != SPACE_PIECE:
                end = start
            before = end
            if start < end:
                start, end = edits.to_old(start, end)
            else:
                start = end = edits.to_old(start, start + 1)[0] if start < len(composed) else len(text)
            tokens.append(Token(number, piece, text[start:end], start + shift, end + shift))
        tokens += [self._special(number, len(text) + shift) for number in self._end]
        return tuple(tokens)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the range of each token of a text, without special ones."""
        return [(token.start, token.end) for token in self.tokens(text) if token.special is None]

    def begin_token(self) -> Token:
        """Return <s>, which precedes the first target token."""
        return self._special(self._bos, 0)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a sequence of ids: that of `locate`, in a sixth of the time if no token is a byte."""
        if not self._bytes.keys().isdisjoint(ids):
            return self.locate(ids).text
        pieces, specials, size = self._pieces, self._specials, len(self._pieces)
        joined = "".join([pieces[number] for number in ids if number not in specials and number < size])
        text = " ".join(joined.replace(SPACE_PIECE, " ").split())
        return closed_up(text) if self._parts_words else text

    def locate(self, ids: Sequence[int], shift: int = 0) -> DecodedText:
        """Return the text of a sequence of ids and the range of each in it; `shift` is added to every span."""
        writer = WrittenText(self._parts_words)
        run: list[int] = []
        for number in ids:
            if number in self._bytes:
                run.append(self._bytes[number])
                continue
            writer.write_bytes(run)
            run = []
            writer.write("" if number in self._specials else self.piece(number).replace(SPACE_PIECE, " "))
        writer.write_bytes(run)
        text = writer.text.rstrip(" ")
        tokens = []
        for number, (start, end) in zip(ids, writer.spans, strict=True):
            start, end = min(start, len(text)), min(end, len(text))
            special = self._specials.get(number)
            tokens.append(Token(number, self.piece(number), text[start:end], start + shift, end + shift, special))
        return DecodedText(text, tuple(tokens))

    def closed(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        """Return the ids of a translation with </s> at their end."""
        return ids if ids[-1:] == (self.eos,) else (*ids, self.eos)

    def piece(self, number: int) -> str:
        """Return a piece; it is empty for ids without one, as in a vocabulary that is padded to a round size."""
        return self._pieces[number] if number < len(self._pieces) else ""

    def _special(self, number: int, position: int) -> Token:
        name = self._specials[number]
        return Token(number, name, "", position, position, name)


@dataclass(frozen=True, slots=True)
class Tokenizers:
    """A bundle's tokenizers, usually one for both sides."""

    source: Tokenizer
    target: Tokenizer


def for_pair(tokenizers: Tokenizers, manifest: Manifest, source: str, target: str) -> Tokenizers:
    """Return the tokenizers for one of a model's language pairs."""
    asked = next(language for language in manifest.targets if language.language == target)
    prefix = *manifest.source_prefixes.get(source, ()), *asked.prefix
    return Tokenizers(tokenizers.source.with_prefix(prefix), tokenizers.target.with_prefix(asked.begin))


def load_tokenizers(bundle: Bundle) -> Tokenizers:
    """Load a bundle's tokenizers; raise BundleCorrupt or BundleIncompatible if they do not fit the manifest."""
    manifest = bundle.manifest
    library = _load(bundle.tokenizer_path, manifest)
    source = Tokenizer(library, manifest.special_ids, manifest.source_end, manifest.language_ids)
    if manifest.target_tokenizer is None and manifest.source_end:
        return Tokenizers(source, source)
    target = library if manifest.target_tokenizer is None else _load(bundle.path(manifest.target_tokenizer), manifest)
    return Tokenizers(source, Tokenizer(target, manifest.special_ids, languages=manifest.language_ids))


def _load(path: Path, manifest: Manifest) -> tokenizers.Tokenizer:
    try:
        library = read_tokenizer(path)
    except Exception as error:  # the library raises plain Exception
        raise BundleCorrupt(f"{path}: cannot be read as a tokenizer ({error}).") from error
    vocabulary = library.get_vocab(with_added_tokens=True)
    if not vocabulary or max(vocabulary.values()) >= manifest.vocabulary_size:
        raise BundleIncompatible(
            f"{path}: it has ids up to {max(vocabulary.values(), default=0)}, but the manifest's vocabulary_size is "
            f"{manifest.vocabulary_size}."
        )
    special = manifest.special_ids
    missing = [name for name in BYTE_TOKENS if name not in vocabulary]
    if missing and special.unk is None:
        raise BundleIncompatible(f"{path}: {len(missing)} of the 256 byte tokens are missing, {missing[0]} first.")
    unknown = [] if special.unk is None else [special.unk]
    for number in (special.pad, special.bos, special.eos, *unknown, *manifest.language_ids):
        if library.id_to_token(number) is None:
            raise BundleIncompatible(f"{path}: the special id {number} of the manifest is not in the vocabulary.")
    return library
