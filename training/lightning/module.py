"""One update and one look at the development data, for either network."""

from __future__ import annotations

import lightning
import sacrebleu
import torch
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from tokenizers import Tokenizer
from torch import Tensor

from training.config import Recipe
from training.data.batching import Batch
from training.decode import translate_greedy
from training.lightning.loss import smoothed_cross_entropy
from training.lightning.schedule import rate_factor
from training.networks.attention import valid_positions
from training.networks.build import build_network


class TranslationModule(lightning.LightningModule):
    """A network with its loss, its optimiser and its development scores."""

    def __init__(self, recipe: Recipe, tokenizer: Tokenizer, development: list[tuple[str, str, str]]) -> None:
        super().__init__()
        torch.manual_seed(recipe.seed)
        self.recipe, self.tokenizer = recipe, tokenizer
        self.network = build_network(recipe.network, tokenizer.get_vocab_size())
        self.development = development
        self._totals = [0.0, 0.0]

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Summed smoothed loss, summed negative log-likelihood and the number of target tokens."""
        decoded = self.network.decode(batch.target_in, self.network.encode(batch.source, batch.source_lengths))
        valid = valid_positions(batch.target_lengths, batch.target_out.shape[1])
        logits = self.network.logits(decoded.hidden[valid])  # [tokens, V]: no product for padding
        smoothing = self.recipe.optimisation.label_smoothing
        return *smoothed_cross_entropy(logits, batch.target_out[valid], smoothing), valid.sum()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Make the random state a function of the position, so that a resumed run draws the same numbers."""
        torch.manual_seed((self.recipe.seed * 1_000_003 + batch_idx) * 1009 + self.global_rank)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The mean smoothed loss of a batch's tokens, in nats."""
        smoothed, likelihood, tokens = self.losses(batch)
        self.log("train_loss", (likelihood / tokens).detach(), prog_bar=True)
        return smoothed / tokens

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add up the development loss."""
        _, likelihood, tokens = self.losses(batch)
        self._totals[0] += float(likelihood)
        self._totals[1] += float(tokens)

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
            fused=True,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda update: rate_factor(update, config))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
