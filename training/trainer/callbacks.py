"""Reports of a run: speed, a log file, pictures of attention."""

import time
from collections.abc import Sequence
from typing import Any

import lightning
import matplotlib
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import TensorBoardLogger
from matplotlib.figure import Figure
from tokenizers import Tokenizer

from service.bundle.vocabulary import EOS
from training.data.batching import Batch, collate
from training.decoding.greedy import translate_greedy
from training.networks.interface import Network
from training.runs.folder import RunFolder
from training.trainer.log import open_log
from training.trainer.module import TranslationModule

matplotlib.use("Agg")


class Speed(Callback):
    """Shows target tokens per second on the progress bar and in TensorBoard."""

    def __init__(self, every: int = 20) -> None:
        self._every, self._since = every, time.perf_counter()
        self._tokens: torch.Tensor | int = 0

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Count the batch on its own device, and log the sum only now and then, as reading it blocks a GPU."""
        self._tokens = self._tokens + batch.target_lengths.sum()
        if (index + 1) % self._every == 0:
            tokens = int(self._tokens)
            now = time.perf_counter()
            module.log("tokens_per_second", tokens / (now - self._since), prog_bar=True)
            self._tokens, self._since = 0, now


class RunLog(Callback):
    """Writes a line to the run folder's log every hundred updates and after each validation."""

    def __init__(self, folder: RunFolder, every: int = 100) -> None:
        self._every, self._written = every, 0
        self._log = open_log(folder)

    def _write(self, trainer: lightning.Trainer, names: Sequence[str]) -> None:
        values = trainer.callback_metrics
        shown = " ".join(f"{name}={float(values[name]):.4g}" for name in names if name in values)
        self._log.info("update=%d %s", trainer.global_step, shown)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Write the training loss now and then, once for an update of several batches."""
        update = trainer.global_step
        if update % self._every == 0 and update > self._written and trainer.is_global_zero:
            self._written = update
            self._write(trainer, ("train_loss", "guided_loss", "tokens_per_second"))

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Write the development scores, those of each corpus last."""
        if trainer.is_global_zero and not trainer.sanity_checking:
            each = sorted(name for name in trainer.callback_metrics if name.startswith("dev_bleu/"))
            self._write(trainer, ("dev_loss", "dev_bleu", *each))


class AttentionPictures(Callback):
    """Shows the cross attention of a few fixed development sentences in TensorBoard."""

    def __init__(self, sentences: int = 3) -> None:
        self._sentences = sentences

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        """Draw them with the current network."""
        if not isinstance(trainer.logger, TensorBoardLogger) or not isinstance(module, TranslationModule):
            return
        for i, (_, source, _) in enumerate(module.development[: self._sentences]):
            figure = draw_attention(module.network, module.tokenizer, source, module.device)
            trainer.logger.experiment.add_figure(f"attention/{i}", figure, trainer.global_step)


@torch.no_grad()
def draw_attention(network: Network, tokenizer: Tokenizer, source: str, device: torch.device | None = None) -> Figure:
    """Return a heatmap with target tokens as rows and source tokens as columns, the mean over layers and heads."""
    ids = tokenizer.encode(source).ids
    translated = translate_greedy(network, [ids], max_length=64)[0]
    pair = [np.array([*tokens, EOS], np.uint16) for tokens in (ids, translated)]
    batch = collate(pair[:1], pair[1:]).to(device or torch.device("cpu"))
    rows, columns = ([tokenizer.id_to_token(int(i)) or "" for i in tokens] for tokens in reversed(pair))
    memory = network.encode(batch.source, batch.source_lengths)
    weights = network.decode(batch.target_in, memory).cross_attention[0].mean((0, 1))  # [T, S]
    figure = Figure(figsize=(0.4 * len(ids) + 2, 0.3 * len(translated) + 1.5))
    axes = figure.add_subplot()
    axes.imshow(weights.cpu().float().numpy(), vmin=0, vmax=1, cmap="cividis")
    axes.set_xticks(range(len(ids) + 1), columns, rotation=90)
    axes.set_yticks(range(len(translated) + 1), rows)
    figure.tight_layout()
    return figure
