"""A small tokenizer of the kind that bundles hold, trained in a moment on a few sentences."""

import functools
import json

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from service.bundle.manifest import SpecialIds
from service.bundle.vocabulary import APOSTROPHES, BOS, BYTE_TOKENS, EOS, INVISIBLE, PAD, SPACES, SPECIAL_TOKENS
from service.engine.text.tokenizer import Tokenizer, Tokenizers

SPECIAL_IDS = SpecialIds(pad=PAD, bos=BOS, eos=EOS)
LINES = (
    "I lost. He's calm. I'm home, and she isn't! Is it 12 or 3.50? Go, go, go. The cat; the dog: été, naïve.",
    "J'ai perdu. Il est calme. Je suis chez moi, à la maison ! Où est-il ? C'était l'été. Le chat, le chien.",
)


@functools.cache
def tokenizer_json(size: int = 400) -> str:
    """Give the tokenizer.json: BPE over NFC text with byte tokens at ids 3 to 258."""
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[*SPECIAL_TOKENS, *BYTE_TOKENS],
        show_progress=False,
    )
    draft = _pipeline(models.BPE())
    draft.train_from_iterator(LINES * 4, trainer)
    learnt = json.loads(draft.to_str())["model"]
    merges = [tuple(merge) for merge in learnt["merges"]]
    final = _pipeline(models.BPE(vocab=learnt["vocab"], merges=merges, byte_fallback=True))
    final.add_special_tokens(list(SPECIAL_TOKENS))
    return final.to_str()


def small_tokenizer() -> Tokenizer:
    """Load the small tokenizer as the engine does."""
    return Tokenizer(tokenizers.Tokenizer.from_str(tokenizer_json()), SPECIAL_IDS)


def small_tokenizers() -> Tokenizers:
    """Return the small tokenizer for both sides."""
    tokenizer = small_tokenizer()
    return Tokenizers(tokenizer, tokenizer)


def _pipeline(model: models.BPE) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(model)
    library.normalizer = normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(Regex(f"[{APOSTROPHES}]"), "'"),
            normalizers.Replace(Regex(f"[{INVISIBLE}]"), ""),
            normalizers.Replace(Regex(f"[{SPACES}]+"), " "),
            normalizers.Strip(),
        ]
    )
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True),
            pre_tokenizers.Split(Regex(r"▁?(?:[\p{P}\p{N}]|[\p{S}&&[^▁]])"), "isolated"),
        ]
    )
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return library
