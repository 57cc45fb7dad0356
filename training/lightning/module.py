"""One update and one look at the development data, for either network."""

from __future__ import annotations

from typing import NamedTuple

import lightning
import sacrebleu
import torch
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from tokenizers import Tokenizer
from torch import Tensor

from training.config import Recipe
from training.data.batching import Batch
from training.decode import translate_greedy
from training.lightning.loss import guided_cross_entropy, sample_pieces, smoothed_cross_entropy
from training.lightning.schedule import rate_factor, sampled_pieces
from training.networks.attention import valid_positions
from training.networks.build import build_network


class Losses(NamedTuple):
    """What one batch costs."""

    smoothed: Tensor
    """Sum over the target tokens, in nats: what is minimised."""
    likelihood: Tensor
    """Summed negative log-likelihood, in nats."""
    tokens: Tensor
    """How many target tokens."""
    guided: Tensor | None
    """What guided alignment adds to the mean loss, where there is any."""


class TranslationModule(lightning.LightningModule):
    """A network with its loss, its optimiser and its development scores."""

    def __init__(self, recipe: Recipe, tokenizer: Tokenizer, development: list[tuple[str, str, str]]) -> None:
        super().__init__()
        torch.manual_seed(recipe.seed)
        self.recipe, self.tokenizer = recipe, tokenizer
        self.network = build_network(recipe.network, tokenizer.get_vocab_size())
        self.development = development
        self._totals = [0.0, 0.0]

    def losses(self, batch: Batch, sampled: int = 0) -> Losses:
        """The losses of a batch; ``sampled`` pieces stand for those that no target is (0: the whole softmax)."""
        decoded = self.network.decode(batch.target_in, self.network.encode(batch.source, batch.source_lengths))
        valid = valid_positions(batch.target_lengths, batch.target_out.shape[1])
        targets, pieces, counts = batch.target_out[valid], None, None
        if sampled:
            pieces, counts = sample_pieces(targets, self.tokenizer.get_vocab_size(), sampled)
            targets = torch.searchsorted(pieces, targets)
        logits = self.network.logits(decoded.hidden[valid], pieces)  # [tokens, C]: no product for padding
        smoothing = self.recipe.optimisation.label_smoothing
        smoothed, likelihood = smoothed_cross_entropy(logits, targets, smoothing, counts)
        return Losses(smoothed, likelihood, valid.sum(), self._guided(decoded.cross_attention, batch))

    def _guided(self, attention: Tensor, batch: Batch) -> Tensor | None:
        """What guided heads add to the loss; attention [B, L, H, T, S]."""
        guided = self.recipe.optimisation.guided_alignment
        if guided is None or batch.links is None:
            return None
        losses = []
        for head in guided.heads:
            weights = attention[:, head.layer, head.head]  # [B, T, S]
            if head.step == "produce":
                losses.append(guided_cross_entropy(weights, batch.links))
            else:
                losses.append(guided_cross_entropy(weights[:, 1:], batch.links[:, :-1]))
        return guided.weight * torch.stack(losses).sum()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Make the random state a function of the position, so that a resumed run draws the same numbers."""
        torch.manual_seed((self.recipe.seed * 1_000_003 + batch_idx) * 1009 + self.global_rank)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The mean smoothed loss of a batch's tokens, in nats."""
        losses = self.losses(batch, sampled_pieces(self.global_step, self.recipe.optimisation))
        self.log("train_loss", (losses.likelihood / losses.tokens).detach(), prog_bar=True)
        if losses.guided is None:
            return losses.smoothed / losses.tokens
        self.log("guided_loss", losses.guided.detach(), prog_bar=True)
        return losses.smoothed / losses.tokens + losses.guided

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add up the development loss."""
        losses = self.losses(batch)
        self._totals[0] += float(losses.likelihood)
        self._totals[1] += float(losses.tokens)

    def on_validation_epoch_end(self) -> None:
        """Log development loss (nats a token) and greedy BLEU."""
        self.log("dev_loss", self._totals[0] / max(1.0, self._totals[1]), prog_bar=True)
        self._totals = [0.0, 0.0]
        self.log("dev_bleu", self._bleu(), prog_bar=True)

    def _bleu(self) -> float:
        count = self.recipe.validation.sentences
        step = max(1, len(self.development) // count)
        chosen = self.development[::step][:count]  # from every corpus: they stand one after the other
        sources = [self.tokenizer.encode(source).ids for _, source, _ in chosen]
        translated = translate_greedy(self.network, sources, max_length=self.recipe.max_tokens)
        texts = [self.tokenizer.decode(ids) for ids in translated]
        return sacrebleu.corpus_bleu(texts, [[target for _, _, target in chosen]], lowercase=False).score

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the norm of all gradients together.

        Lightning's own clipping refuses fused optimisers under mixed precision, because a gradient scaler may still
        have scaled the gradients. bf16 has no scaler; with fp16 the optimiser is not fused.
        """
        if gradient_clip_val is None:
            return
        if self.recipe.optimisation.precision == "fp16":
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)
        else:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), gradient_clip_val)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Adam with the paper's schedule (1706.03762, section 5.3); AdamW if there is weight decay."""
        config = self.recipe.optimisation
        kind = torch.optim.AdamW if config.weight_decay else torch.optim.Adam
        optimiser = kind(
            self.network.parameters(),
            lr=config.peak_rate,
            betas=(0.9, config.beta2),
            eps=1e-9,
            weight_decay=config.weight_decay,
            fused=config.precision != "fp16",
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda update: rate_factor(update, config))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
