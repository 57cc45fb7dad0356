"""The network of arXiv 1703.03130: attention, hidden layers, losses."""

import pytest
import torch

from training.sentence.loss import matching, overlap
from training.sentence.network import SentenceNetwork, SplitHidden
from training.sentence.recipe import PrunedHidden, SentenceNetworkConfig, SentenceOptimisation

SIZES = {"embedding": 6, "hidden": 5, "attention_size": 4, "hops": 3, "width": 7}
LENGTHS = torch.tensor([5, 2, 7])


def network(**sizes: object) -> SentenceNetwork:
    torch.manual_seed(1)
    return SentenceNetwork(SentenceNetworkConfig.model_validate({**SIZES, **sizes}), 20, 3, 4).eval()


def sentences() -> torch.Tensor:
    torch.manual_seed(2)
    return torch.randint(1, 20, (3, 7))


@pytest.mark.parametrize("head", [16, PrunedHidden(rows=2, columns=1), PrunedHidden(rows=0, columns=2)])
@pytest.mark.parametrize("embedding_states", [True, False])
def test_rows_of_attention_sum_to_one_over_the_tokens_of_each_sentence(head: object, embedding_states: bool) -> None:
    output = network(head=head, embedding_states=embedding_states)(sentences(), LENGTHS)
    assert output.attention.shape == (3, 3, 7)
    torch.testing.assert_close(output.attention.sum(dim=-1), torch.ones(3, 3))
    assert output.attention[1, :, 2:].abs().max() == 0
    torch.testing.assert_close(output.embedding.norm(dim=-1), torch.ones(3))
    torch.testing.assert_close(output.domains.exp().sum(dim=-1), torch.ones(3))


def test_a_sentence_means_the_same_alone_and_beside_longer_ones() -> None:
    own = network(head=8)
    together = own(sentences(), LENGTHS)
    alone = own(sentences()[1:2, :2], LENGTHS[1:2])
    torch.testing.assert_close(alone.embedding[0], together.embedding[1])
    torch.testing.assert_close(alone.attention[0], together.attention[1, :, :2])


def test_units_of_the_pruned_layer_read_one_row_or_one_column() -> None:
    layer = SplitHidden(3, 10, PrunedHidden(rows=2, columns=1))
    matrix = torch.zeros(1, 3, 10)
    before = layer(matrix)
    matrix[0, 1, 4] = 1
    changed = (layer(matrix) != before)[0].nonzero()[:, 0].tolist()
    assert changed == [2, 3, 6 + 4]  # the two units of row 1, the unit of column 4


def test_the_penalty_is_zero_for_hops_that_look_at_different_tokens() -> None:
    different, same = torch.eye(3)[None], torch.eye(3)[:1].expand(3, 3)[None]
    assert overlap(different).tolist() == [0]
    assert overlap(same).tolist() == [6]  # the six products of two different hops are 1
    even = torch.full((1, 2, 4), 0.25)
    assert overlap(even).item() == pytest.approx(2 * 0.75**2 + 2 * 0.25**2)


def test_the_matching_loss_is_the_additive_margin_softmax() -> None:
    config = SentenceOptimisation(scale=2.0, margin=0.5)
    vectors = torch.nn.functional.normalize(torch.tensor([[1.0, 0], [0, 1], [1, 1], [0, 1]]), dim=-1)
    keys = torch.tensor([1, 2, 3, 4])
    cosines = vectors[:2] @ vectors[2:].T
    scores = 2 * (cosines - 0.5 * torch.eye(2))
    wanted = -(scores.log_softmax(1).diagonal().mean() + scores.log_softmax(0).diagonal().mean()) / 2
    torch.testing.assert_close(matching(vectors, keys, config), wanted)


def test_equal_sentences_are_not_each_others_negatives() -> None:
    config = SentenceOptimisation()
    vectors = torch.nn.functional.normalize(torch.randn(6, 4), dim=-1)
    apart = matching(vectors, torch.tensor([1, 2, 3, 4, 5, 6]), config)
    repeated = matching(vectors, torch.tensor([1, 1, 3, 4, 5, 6]), config)  # two translations of one sentence
    assert repeated < apart
