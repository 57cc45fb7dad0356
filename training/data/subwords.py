"""Learns the joint byte-pair vocabulary; ``tokenizer.json`` contains all processing of text."""

import json
from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from service.bundle.vocabulary import (
    APOSTROPHES,
    BYTE_TOKENS,
    INVISIBLE,
    OPENED,
    SPACE_PIECE,
    SPACES,
    SPECIAL_TOKENS,
    WORDS_APART,
)
from training.recipe import VocabularyConfig

UNREACHABLE = " "
"""Stands in front of the name of an entry that no text is cut into, in the tokenizers of imported models."""
UNKNOWN = "▁UNK"
"""Any word outside the shortlist of a vocabulary of words. BLEU counts it as one wrong word."""


def train_tokenizer(texts: Iterable[str], config: VocabularyConfig) -> Tokenizer:
    """Learn a BPE vocabulary without unknown tokens: bytes spell text that has no subword.

    The trainer of `tokenizers` adds no byte tokens, so they are among its special tokens while it trains. Afterwards
    the model is rebuilt with them as ordinary entries, because special tokens could match users' text.
    """
    if config.words:
        return _word_tokenizer(texts, config)
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
    return _tokenizer(models.BPE(vocab=learnt["vocab"], merges=merges, byte_fallback=True, fuse_unk=False), config)


def _word_tokenizer(texts: Iterable[str], config: VocabularyConfig) -> Tokenizer:
    """Return the shortlist of the most frequent words (1409.0473, section 4.1); any other word is UNKNOWN."""
    draft = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    draft.normalizer, draft.pre_tokenizer = _normaliser(config), _pre_tokeniser(config)
    special = [AddedToken(token, special=True) for token in (*SPECIAL_TOKENS, UNKNOWN)]
    draft.train_from_iterator(
        texts,
        trainers.WordLevelTrainer(
            vocab_size=config.size, min_frequency=config.min_frequency, special_tokens=special, show_progress=False
        ),
    )
    # Rebuilt, because decoding leaves special tokens out, and UNKNOWN has to count as a wrong word.
    return _tokenizer(models.WordLevel(vocab=draft.get_vocab(), unk_token=UNKNOWN), config)


def _tokenizer(model: models.Model, config: VocabularyConfig) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = _normaliser(config)
    tokenizer.pre_tokenizer = _pre_tokeniser(config)
    joined = [decoders.Replace(SPACE_PIECE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    closed_up = [] if config.pretokenised else [decoders.Replace(Regex(f"{place} "), "") for place in OPENED]
    tokenizer.decoder = decoders.Sequence([*joined, *closed_up])
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
    if not config.pretokenised:
        steps += [normalizers.Replace(Regex(step["pattern"]["Regex"]), step["content"]) for step in WORDS_APART]
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
