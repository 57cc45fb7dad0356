"""Training evaluates what the service returns: both cut texts alike and find the same translations and scores."""

import numpy as np
import pytest
import tokenizers
import torch

from service.bundle.alignment import white_space_words
from service.bundle.manifest import DecodingDefaults, EarlyStopping, SpecialIds
from service.bundle.vocabulary import BOS, EOS, PAD
from service.engine.attention.words import group
from service.engine.jobs import Hypothesis
from service.engine.model.interface import HostCandidates
from service.engine.search.beam_search import Beam
from service.engine.search.beam_state import candidates_for
from service.engine.search.options import complete, search_options
from service.engine.text.reader import Reader
from service.engine.text.segmentation import segment_text
from service.engine.text.tokenizer import Tokenizer, Tokenizers
from service.engine.types import TranslationOptions
from tests.support.tiny_networks import bahdanau, network, transformer
from training.data.subwords import train_tokenizer
from training.decoding.batches import pad_sources
from training.decoding.beam_search import SearchOptions, beam_search
from training.decoding.translate import segments_of
from training.evaluation.scored_pairs import tokens_of_words
from training.networks.bahdanau import Bahdanau
from training.networks.transformer import Transformer
from training.recipe import BahdanauConfig, TransformerConfig, VocabularyConfig

LIMIT = 24
"""Long enough for untrained networks to repeat themselves until they are stopped."""


def search_as_served(
    net: Transformer | Bahdanau, source: list[int], beam_size: int, ending: EarlyStopping | None
) -> Hypothesis:
    """Return the result of the service's search over one sentence with the PyTorch network."""
    beam = Beam(beam_size, eos=EOS, bos=BOS)
    options = complete(TranslationOptions(beam_size=beam_size), DecodingDefaults(early_stopping=ending))
    beam.add(search_options(options, len(source) + 1, LIMIT), [*source, EOS])
    memory = net.encode(*pad_sources([source], torch.device("cpu"))).select(torch.zeros(beam_size, dtype=torch.int64))
    state = net.start(memory)
    while True:
        logits, state, _ = net.step(torch.from_numpy(beam.tokens.flatten()), state, memory)
        logprobs = logits.log_softmax(-1)
        logprobs[:, [PAD, BOS]] = -1e9
        values, ids = logprobs.topk(candidates_for(beam_size))
        advance = beam.advance(HostCandidates(ids[None].numpy(), values[None].numpy()))
        if advance.done:
            return beam.hypotheses(0, 1)[0]
        if advance.parents is not None:
            rows = torch.from_numpy(np.asarray(advance.parents, np.int64))
            state = tuple(array[rows] for array in state)


@torch.no_grad()
@pytest.mark.parametrize(
    ("beam_size", "ending"), [(1, None), (2, None), (5, None), (5, False), (2, True), (5, "never")]
)
@pytest.mark.parametrize("eagerness", [0.0, 2.0, 4.0], ids=["cut", "long", "short"])
@pytest.mark.parametrize("config", [transformer(), bahdanau()], ids=["transformer", "rnn"])
def test_both_searches_find_the_same(
    config: TransformerConfig | BahdanauConfig, eagerness: float, beam_size: int, ending: EarlyStopping | None
) -> None:
    net = network(config)
    (net.output_bias if isinstance(net, Transformer) else net.output.bias)[EOS] += eagerness
    sources = [[5, 6, 7], [8, 9], [10, 11, 12, 13, 14], [30, 31, 5, 9], [20], [], [7] * 6, [8, 9] * 5]
    options = SearchOptions(beam_size, 1.0, LIMIT, early_stopping=ending)
    found = beam_search(net, *pad_sources(sources, torch.device("cpu")), options)
    for source, hypotheses in zip(sources, found, strict=True):
        expected = search_as_served(net, source, beam_size, ending)
        ours = hypotheses[0]
        assert ours.ids == [token for token in expected.ids if token != EOS]
        assert ours.score == pytest.approx(expected.score, abs=1e-5)
        assert ours.finished == (expected.finish_reason == "eos")


CLAUSES = "the small cat, which had come home late, saw a house; and then (nobody knows why) it slept again"
SENTENCES = [
    *("a", "short.", "12 - 34 ...", "I can't see the 12 houses .", "Je ne  vois pas l’ami\u00a0! "),
    *(" 👩‍👩‍👧 naïve café 日本語 x", "« Bonjour », dit-il ( 3,5 % ).", "word -- and … more ▁ marks"),
    *("zero\u200b width \u200bspace", CLAUSES, " ".join([CLAUSES] * 4), f"  {CLAUSES} : {CLAUSES}!  "),
    *("one two three " * 20, "l'été, naïve café e\u0301te\u0301, " * 8, "antidisestablishmentarianism " * 3),
    "猫が家に帰ってきて、とても眠かった。" * 3,
]


@pytest.fixture(scope="module")
def library() -> tokenizers.Tokenizer:
    """Return a vocabulary so small that most words are several pieces or bytes."""
    made = train_tokenizer([CLAUSES, *SENTENCES[3:5]] * 3, VocabularyConfig(size=330))
    made.encode_special_tokens = True
    return made


@pytest.mark.parametrize("text", SENTENCES)
def test_both_find_the_same_tokens_in_each_word(library: tokenizers.Tokenizer, text: str) -> None:
    tokens = Tokenizer(library, SpecialIds(0, 1, 2)).tokens(text)
    assert tokens_of_words(text, library.encode(text).offsets) == group(tokens, white_space_words(text))


@pytest.mark.parametrize("wrap", [8, 24, 128])
@pytest.mark.parametrize("text", SENTENCES)
def test_both_cut_at_the_same_places(library: tokenizers.Tokenizer, text: str, wrap: int) -> None:
    tokenizer = Tokenizer(library, SpecialIds(0, 1, 2))
    expected = segment_text(text, Reader(Tokenizers(tokenizer, tokenizer), "en", wrap, 256, split=False))
    found = segments_of(text, library, SearchOptions(max_length=256, wrap_tokens=wrap))
    assert [(each.start, each.end, each.ids) for each in found] == [
        (each.start, each.end, each.ids) for each in expected
    ]
    assert wrap > 8 or text not in SENTENCES[9:12] or len(found) > 2
