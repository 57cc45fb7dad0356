"""A small tokenizer, learned in a moment on a few sentences as training learns those of bundles."""

import functools

import tokenizers

from service.bundle.manifest import SpecialIds
from service.bundle.vocabulary import BOS, EOS, PAD
from service.engine.text.tokenizer import Tokenizer, Tokenizers
from training.data.subwords import train_tokenizer
from training.recipe import VocabularyConfig

LINES = (
    "I lost. He's calm. I'm home, and she isn't! Is it 12 or 3.50? Go, go, go. The cat; the dog: été, naïve.",
    "J'ai perdu. Il est calme. Je suis chez moi, à la maison ! Où est-il ? C'était l'été. Le chat, le chien.",
)


@functools.cache
def tokenizer_json(size: int = 400) -> str:
    """Return the content of a tokenizer.json."""
    return train_tokenizer(LINES * 4, VocabularyConfig(size=size)).to_str()


def small_tokenizer() -> Tokenizer:
    """Load the small tokenizer as the engine does."""
    return Tokenizer(tokenizers.Tokenizer.from_str(tokenizer_json()), SpecialIds(pad=PAD, bos=BOS, eos=EOS))


def small_tokenizers() -> Tokenizers:
    """Return the small tokenizer for both sides."""
    tokenizer = small_tokenizer()
    return Tokenizers(tokenizer, tokenizer)
