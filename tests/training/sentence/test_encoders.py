"""Structured self-attention (1703.03130): its matrix of weights, and the penalty on overlapping hops."""

import pytest
import torch

from training.sentence.encoders import WIDTH, Structured, overlap


def test_the_rows_of_structured_attention_sum_to_one_over_the_words_of_each_sentence() -> None:
    torch.manual_seed(1)
    encoder, words, lengths = Structured().eval(), torch.randn(3, 7, WIDTH), torch.tensor([5, 2, 7])
    weights = encoder.hops_over(encoder.states(words, lengths), lengths)
    assert weights.shape == (3, encoder.hops, 7)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, encoder.hops))
    assert not weights[1, :, 2:].any()


def test_the_penalty_is_zero_for_hops_that_look_at_different_tokens() -> None:
    different, same = torch.eye(3)[None], torch.eye(3)[:1].expand(3, 3)[None]
    assert overlap(different).tolist() == [0]
    assert overlap(same).tolist() == [6]  # the six products of two different hops are 1
    even = torch.full((1, 2, 4), 0.25)
    assert overlap(even).item() == pytest.approx(2 * 0.75**2 + 2 * 0.25**2)


def test_a_factor_of_zero_adds_no_penalty_to_the_loss() -> None:
    words, lengths = torch.randn(2, 4, WIDTH), torch.tensor([4, 3])
    with torch.inference_mode():
        assert float(Structured(factor=0.0)(words, lengths).penalty) == 0
        assert float(Structured()(words, lengths).penalty) > 0
