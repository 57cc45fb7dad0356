"""Learns the joint byte-pair vocabulary; ``tokenizer.json`` contains all processing of text."""

import json
from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from service.bundle.vocabulary import APOSTROPHES, BYTE_TOKENS, INVISIBLE, SPACE_PIECE, SPACES, SPECIAL_TOKENS
from training.recipe import VocabularyConfig

UNREACHABLE = " "
"""Stands in front of the name of an entry that no text is cut into, in the tokenizers of imported models."""
FIRST_PIECE = len(SPECIAL_TOKENS) + len(BYTE_TOKENS)


def train_tokenizer(texts: Iterable[str], config: VocabularyConfig) -> Tokenizer:
    """Learn a BPE vocabulary without unknown tokens: bytes spell text that has no subword.

    The trainer of `tokenizers` adds no byte tokens, so they are among its special tokens while it trains. Afterwards
    the model is rebuilt with them as ordinary entries, because special tokens could match users' text.
    """
    draft = Tokenizer(models.BPE())
    draft.normalizer = _normaliser(config)
    draft.pre_tokenizer = _pre_tokeniser(config)
    trainer = trainers.BpeTrainer(
        vocab_size=config.size,
        min_frequency=config.min_frequency,
        special_tokens=[AddedToken(token, special=True) for token in (*SPECIAL_TOKENS, *BYTE_TOKENS)],
        limit_alphabet=400,
        show_progress=False,
    )
    draft.train_from_iterator(texts, trainer)
    return _with_byte_fallback(draft, config)


def _with_byte_fallback(draft: Tokenizer, config: VocabularyConfig) -> Tokenizer:
    learnt = json.loads(draft.to_str())["model"]
    merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in learnt["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=learnt["vocab"], merges=merges, byte_fallback=True, fuse_unk=False))
    tokenizer.normalizer = _normaliser(config)
    tokenizer.pre_tokenizer = _pre_tokeniser(config)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE_PIECE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    tokenizer.encode_special_tokens = True
    return tokenizer


def _normaliser(config: VocabularyConfig) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = [
        normalizers.NFC(),
        normalizers.Replace(Regex(f"[{APOSTROPHES}]"), "'"),
        normalizers.Replace(Regex(f"[{INVISIBLE}]"), ""),
        normalizers.Replace(Regex(f"[{SPACES}]+"), " "),
        normalizers.Strip(),
    ]
    if config.lowercase:
        steps.append(normalizers.Lowercase())
    return normalizers.Sequence(steps)


def _pre_tokeniser(config: VocabularyConfig) -> pre_tokenizers.PreTokenizer:
    metaspace = pre_tokenizers.Metaspace(replacement=SPACE_PIECE, prepend_scheme="always", split=True)
    if config.pretokenised:
        return metaspace
    # A punctuation mark or digit is separate but keeps the space before it: "▁!" is one subword, as French needs it.
    marks = pre_tokenizers.Split(Regex(r"▁?(?:[\p{P}\p{N}]|[\p{S}&&[^▁]])"), "isolated")
    return pre_tokenizers.Sequence([metaspace, marks])
