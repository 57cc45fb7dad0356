"""One update and one validation, for either network."""

from typing import Any, NamedTuple

import lightning
import sacrebleu
import torch
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from training.data.batching import Batch
from training.data.split import spread
from training.decoding.beam_search import SearchOptions
from training.decoding.translate import search
from training.networks.attention import valid_positions
from training.networks.bahdanau import Bahdanau
from training.networks.build import Network, build_network
from training.recipe import OptimisationConfig, Recipe
from training.runs.fingerprint import Fingerprint
from training.trainer.loss import (
    divergence,
    guided_cross_entropy,
    reinforce_loss,
    sample_pieces,
    smoothed_cross_entropy,
)
from training.trainer.optimiser import make_optimiser
from training.trainer.schedule import last_update, rate_factor, sampled_pieces, soft_share


class Losses(NamedTuple):
    """The losses of one batch."""

    smoothed: Tensor
    """The sum over the target tokens, in nats, which is minimised."""
    likelihood: Tensor
    """The summed negative log-likelihood, in nats."""
    tokens: Tensor
    """The number of target tokens."""
    guided: Tensor | None
    """The part of guided alignment in the mean loss, if it is used."""
    choices: Tensor | None = None
    """The summed loss of sampled choices, for networks that are trained by REINFORCE."""

    @property
    def mean(self) -> Tensor:
        """Return the loss of an update: the mean over the batch's tokens, and guided alignment."""
        summed = self.smoothed if self.choices is None else self.smoothed + self.choices
        mean = summed / self.tokens
        return mean if self.guided is None else mean + self.guided


def batch_losses(
    network: Network, batch: Batch, config: OptimisationConfig, vocabulary: int, sampled: int = 0
) -> Losses:
    """Return the losses of a batch; ``sampled`` pieces stand for those that are not targets (0: the whole softmax).

    With ``consistency``, training sees the batch twice, and the loss has the divergence of the two passes.
    """
    passes_differ = config.consistency > 0 and network.training
    batch = batch.twice() if passes_differ else batch
    decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
    valid = valid_positions(batch.target_lengths, batch.target_out.shape[1])
    targets, pieces, counts = batch.target_out[valid], None, None
    if sampled:
        pieces, counts = sample_pieces(targets, vocabulary, sampled)
        targets = torch.searchsorted(pieces, targets)
    logits = network.logits(decoded.hidden[valid], pieces)  # [tokens, C]: no product for padding
    smoothed, likelihood = smoothed_cross_entropy(logits, targets, config.label_smoothing, counts)
    if passes_differ:
        smoothed = smoothed + config.consistency / 2 * divergence(logits, counts)
    choices = None
    if decoded.choices is not None:
        rewards = torch.zeros(valid.shape, device=logits.device)
        with torch.no_grad():
            rewards[valid] = -functional.cross_entropy(logits.float(), targets, reduction="none")
        choices = reinforce_loss(decoded.choices, rewards, valid)
    return Losses(smoothed, likelihood, valid.sum(), _guided(decoded.cross_attention, batch, config), choices)


def _guided(attention: Tensor, batch: Batch, config: OptimisationConfig) -> Tensor | None:
    """Return the loss of guided heads; attention [B, L, H, T, S]."""
    guided = config.guided_alignment
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


class TranslationModule(lightning.LightningModule):
    """A network with its loss, its optimiser and its development scores."""

    def __init__(self, recipe: Recipe, tokenizer: Tokenizer, development: list[tuple[str, str, str]]) -> None:
        super().__init__()
        torch.manual_seed(recipe.seed)
        self.recipe, self.tokenizer = recipe, tokenizer
        self.last_update = last_update(recipe.optimisation)
        self.network = build_network(recipe.network, tokenizer.get_vocab_size())
        self.development = development
        self._totals = [0.0, 0.0]
        self._parts: list[dict[str, Any]] = []
        """The options of each group of parameters, to restore them after a checkpoint has replaced them."""
        self.fingerprint: Fingerprint = {}
        """The fingerprint of the training text, which checkpoints contain."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the text's fingerprint and the network's configuration, which a resumed run must match."""
        checkpoint["fingerprint"] = dict(self.fingerprint)
        checkpoint["network"] = self.recipe.network.model_dump(mode="json")

    def losses(self, batch: Batch, sampled: int = 0) -> Losses:
        """Return the losses of a batch; see batch_losses."""
        return batch_losses(self.network, batch, self.recipe.optimisation, self.tokenizer.get_vocab_size(), sampled)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Derive the random state from the position, so that a resumed run draws the same numbers."""
        torch.manual_seed((self.recipe.seed * 1_000_003 + batch_idx) * 1009 + self.global_rank)
        if isinstance(self.network, Bahdanau):
            done = self.global_step / self.last_update
            self.network.attention.soft_share = soft_share(done, self.network.config.soft_until)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the mean smoothed loss of a batch's tokens, in nats; all batches of an update have the same weight."""
        losses = self.losses(batch, sampled_pieces(self.global_step, self.recipe.optimisation, self.last_update))
        self.log("train_loss", (losses.likelihood / losses.tokens).detach())
        if losses.guided is not None:
            self.log("guided_loss", losses.guided.detach())
        return losses.mean

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add to the development loss."""
        losses = self.losses(batch)
        self._totals[0] += float(losses.likelihood)
        self._totals[1] += float(losses.tokens)

    def on_validation_epoch_end(self) -> None:
        """Log development loss (nats per token) and greedy BLEU, of the whole sample and of each corpus in it."""
        self.log("dev_loss", self._totals[0] / max(1.0, self._totals[1]))
        self._totals = [0.0, 0.0]
        scores = self._bleu()
        self.log("dev_bleu", scores.pop(""))
        self.log_dict({f"dev_bleu/{corpus}": score for corpus, score in scores.items()})

    def _bleu(self) -> dict[str, float]:
        """Return BLEU by corpus, and of all chosen sentences under an empty name."""
        corpora = [corpus for corpus, _, _ in self.development]
        chosen = [self.development[i] for i in spread(corpora, self.recipe.validation.sentences)]
        sources = [self.tokenizer.encode(source).ids for _, source, _ in chosen]
        translated = search(self.network, sources, SearchOptions(beam_size=1, max_length=self.recipe.max_tokens))
        texts = [self.tokenizer.decode(hypotheses[0].ids) for hypotheses in translated]
        by_name: dict[str, float] = {}
        for name in ("", *dict.fromkeys(corpora)):
            places = [i for i, (corpus, _, _) in enumerate(chosen) if name in ("", corpus)]
            if places:
                references = [[chosen[i][2] for i in places]]
                by_name[name] = sacrebleu.corpus_bleu([texts[i] for i in places], references, lowercase=False).score
        return by_name

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Return the recipe's optimiser with the paper's schedule (1706.03762, section 5.3)."""
        config = self.recipe.optimisation
        optimiser = make_optimiser(self.network, config, fused=self._may_fuse())
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda update: rate_factor(update, config, self.last_update)
        )
        self._parts = [
            {key: value for key, value in group.items() if key != "params"} for group in optimiser.param_groups
        ]
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _may_fuse(self) -> bool:
        """Return whether a fused kernel can do the update; with fp16, gradients could not be clipped before it."""
        return str(self.trainer.precision) != "16-mixed"

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the norm of all gradients together.

        Lightning's own clipping refuses fused optimisers under mixed precision, because gradients may still be scaled.
        bf16 has no scaler; with fp16 the optimiser is not fused, and Lightning has already unscaled the gradients.
        """
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.optimisation.clip_norm)

    def on_train_start(self) -> None:
        """Use the recipe's rate, betas and decay instead of the checkpoint's."""
        schedule: Any = self.lr_schedulers()
        for group, saved in zip(schedule.optimizer.param_groups, self._parts, strict=True):
            group.update(saved)
        schedule.base_lrs = [group["initial_lr"] for group in schedule.optimizer.param_groups]
        factor = rate_factor(schedule.last_epoch, self.recipe.optimisation, self.last_update)
        for group in schedule.optimizer.param_groups:
            group["lr"] = group["initial_lr"] * factor
        schedule._last_lr = [group["lr"] for group in schedule.optimizer.param_groups]
