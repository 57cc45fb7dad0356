"""Translates sentences with a PyTorch network; long ones are cut and joined as in the service."""

from collections.abc import Callable, Sequence

from tokenizers import Tokenizer

from service.bundle.vocabulary import BYTE_TOKENS, EOS, SPECIAL_TOKENS, visible_range
from service.bundle.wrapping import Span, TextSegment, cut_sentence, join, whole_text
from training.decoding.batches import evaluating, length_groups, pad_sources
from training.decoding.beam_search import Hypothesis, SearchOptions, beam_search
from training.networks.build import Network


def search(
    network: Network,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    progress: Callable[[int], object] | None = None,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of every source, best first; ``progress`` gets the number of sentences of each batch."""
    results: list[list[Hypothesis]] = [[] for _ in sources]
    with evaluating(network) as device:
        for group in length_groups(sources, options.beam_size):
            padded = pad_sources([sources[i] for i in group], device)
            for index, hypotheses in zip(group, beam_search(network, *padded, options), strict=True):
                results[index] = hypotheses
            if progress is not None:
                progress(len(group))
    return results


def translate(
    network: Network,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    options: SearchOptions,
    progress: Callable[[int], object] | None = None,
) -> list[str]:
    """Return one translation for each sentence; an empty one stays empty.

    A sentence beyond the limits of ``options`` is translated in parts, as in the service.
    """
    segments = [segments_of(sentence, tokenizer, options) for sentence in sentences]
    searched = iter(search(network, [segment.ids[:-1] for parts in segments for segment in parts], options, progress))
    texts = []
    for sentence, parts in zip(sentences, segments, strict=True):
        translations = [tokenizer.decode(next(searched)[0].ids) for _ in parts]
        texts.append(join(sentence, [(segment.start, segment.end) for segment in parts], translations).text)
    return texts


class _SentenceTokenizer:
    """A run's tokenizer as `service.bundle.wrapping` needs it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, the end token last."""
        return [*self._tokenizer.encode(text).ids, EOS]

    def knows_letters(self, ids: Sequence[int]) -> bool:
        """Return whether a token is a piece with a letter, and no byte."""
        pieces = {self._tokenizer.id_to_token(number) or "" for number in ids}.difference(BYTE_TOKENS, SPECIAL_TOKENS)
        return any(map(str.isalpha, "".join(pieces)))

    def token_spans(self, text: str) -> list[Span]:
        """Return the range of each token, without the end token."""
        return [visible_range(text, *offsets) for offsets in self._tokenizer.encode(text).offsets]


def segments_of(sentence: str, tokenizer: Tokenizer, options: SearchOptions) -> list[TextSegment]:
    """Return the parts of a sentence that the service would translate; the rest of it is copied."""
    cut, limit = _SentenceTokenizer(tokenizer), min(options.wrap_tokens, options.max_length)
    return [
        segment
        for span in whole_text(sentence)
        for segment in cut_sentence(sentence, span, cut, limit, options.max_length)
    ]
