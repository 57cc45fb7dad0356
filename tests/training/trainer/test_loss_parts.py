"""Sampled softmax against the whole one, and guided attention."""

import torch

from training.trainer.loss import guided_cross_entropy, sample_pieces, smoothed_cross_entropy


def test_sampling_every_piece_is_the_whole_softmax() -> None:
    torch.manual_seed(1)
    logits, targets = torch.randn(7, 50), torch.randint(50, (7,))

    pieces, counts = sample_pieces(targets, vocabulary=50, sampled=50)
    sampled = smoothed_cross_entropy(logits[:, pieces], torch.searchsorted(pieces, targets), 0.1, counts)

    torch.testing.assert_close(sampled, smoothed_cross_entropy(logits, targets, 0.1))


def test_sampled_gradients_are_close_to_those_of_the_whole_softmax_on_average() -> None:
    torch.manual_seed(1)
    hidden, weight, targets = torch.randn(6, 8), torch.randn(400, 8) / 2, torch.randint(400, (6,))

    def gradient(pieces: torch.Tensor, counts: torch.Tensor | None) -> torch.Tensor:
        inputs = hidden.clone().requires_grad_()
        loss, _ = smoothed_cross_entropy(inputs @ weight[pieces].T, torch.searchsorted(pieces, targets), 0.1, counts)
        loss.backward()
        assert inputs.grad is not None
        return inputs.grad

    whole = gradient(torch.arange(400), None)
    drawn = torch.stack([gradient(*sample_pieces(targets, 400, 100)) for _ in range(400)]).mean(0)

    assert (drawn - whole).norm() < 0.05 * whole.norm()


def test_a_sample_holds_every_target_and_stands_for_the_vocabulary() -> None:
    targets = torch.tensor([5, 5, 9])

    pieces, counts = sample_pieces(targets, vocabulary=100, sampled=14)

    assert {5, 9} <= set(pieces.tolist())
    assert len(pieces) == 16
    assert float(counts.sum()) == 100


def test_guided_loss_is_least_where_attention_looks_at_the_link() -> None:
    wanted = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])  # the second target token has no link

    right = guided_cross_entropy(torch.tensor([[[0.9, 0.1], [0.5, 0.5]]]), wanted)
    wrong = guided_cross_entropy(torch.tensor([[[0.1, 0.9], [0.5, 0.5]]]), wanted)

    torch.testing.assert_close(right, torch.tensor(0.9).log().neg())
    assert wrong > right
